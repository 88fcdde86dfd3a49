"""Versions of SpacetimeDB, and what each promises of its log."""

from __future__ import annotations

from dataclasses import dataclass

from gapbook.declared.reading import required
from gapbook.declared.stack import DurabilityFacts
from gapbook.deploy.module import version_numbers
from gapbook.errors import StackError
from gapbook.record.durability import Durability

__all__ = ["KnownTimer", "commit_log_timer", "confirms_reads", "require_durability"]

_CONFIRMED_READS_SINCE = (1, 4, 0)


def confirms_reads(version: str) -> bool:
    """Whether a client can ask a server of this version to answer only when the transaction is durable."""
    return version_numbers(version) >= _CONFIRMED_READS_SINCE


@dataclass(frozen=True)
class KnownTimer:
    """The fsync timer of a version: its bound, and what a record says of it. ``max_ms`` is None where there is no
    timer, which is no bound, or where nobody has read its source; ``verified``: it was seen at work."""

    max_ms: float | None
    says: str
    verified: bool


def commit_log_timer(facts: DurabilityFacts, version: str) -> KnownTimer:
    """What stack.toml knows of the fsync timer of this version; raises StackError when it knows nothing.

    ``facts`` are those of durability.
    """
    read_up_to = _read_up_to(facts)
    known = [
        entry
        for entry in facts.commit_log_timer
        if version_numbers(entry.from_version) <= version_numbers(version)
    ]
    if not known:
        raise StackError(
            f"spacetimedb: the fsync timer of version {version} is not known; "
            "name a server from 1.2.0 on, or add its timer to stacks/spacetimedb/stack.toml"
        )
    if version_numbers(version) > version_numbers(read_up_to):
        return KnownTimer(None, f"not known: sources were read up to {read_up_to}", verified=False)
    newest = max(known, key=lambda entry: version_numbers(entry.from_version))
    says = "none: one fsync follows the other" if newest.max_ms is None else f"{newest.max_ms} ms"
    return KnownTimer(newest.max_ms, f"{says}, by the source of this version", newest.verified)


def _read_up_to(facts: DurabilityFacts) -> str:
    return required(facts.read_up_to, "stacks/spacetimedb/stack.toml: durability.read_up_to")


def require_durability(facts: DurabilityFacts, version: str, durability: Durability) -> None:
    """Raise StackError when a server of this version cannot keep the class."""
    read_up_to = _read_up_to(facts)
    timer = commit_log_timer(facts, version)
    timer_ms = timer.max_ms
    known = version_numbers(version) <= version_numbers(read_up_to)
    confirms = known and confirms_reads(version)
    allowed = ["none", "delayed"]
    allowed += [] if timer_ms is None else [f"delayed({timer_ms:g} ms) or more"]
    allowed += ["fsync-per-commit"] if confirms else []
    kept = {
        "fsync-per-commit": confirms,
        "delayed": durability.max_ms is None or (timer_ms is not None and timer_ms <= durability.max_ms),
    }
    if not kept.get(durability.kind, True):
        why = f"its fsync timer is {timer.says}"
        if durability.kind == "fsync-per-commit" and known:
            why = "it answers before the fsync, as all before 1.4.0 do"
        raise StackError(
            f"spacetimedb: {version} cannot keep {durability}: {why}; allowed: {', '.join(allowed)}"
        )
