"""What kills showed of a durability class, read from the rows of a record: no server is needed for it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from gapbook.model.work import EVEN_EXPONENT, EXPONENT
from gapbook.record.durability import Durability
from gapbook.record.fields import Amount, Count, Seconds
from gapbook.record.scenario import require_durability

__all__ = [
    "BROKEN",
    "KILL_LOAD",
    "KillCheck",
    "ObservedLoss",
    "kill_verdict",
    "observed_loss",
    "ruin_verdict",
    "verdict_of",
]

BROKEN = "lost more than its class allows"
KILL_LOAD = f"{EXPONENT} {EVEN_EXPONENT:g}"
"""The Zipf exponent under which servers are killed, whatever the scenario has, in words."""


class KillCheck(msgspec.Struct):
    """One kill: a load, SIGKILL, a start on what is left, and every row of the state read back.

    ``unreadable``: the server was killed, and then did not start, or what it held could not be read. That is an answer
    without a count. False in runs from before it, where such a kill is not resolved.
    """

    contestant: str
    durability: str
    resolved: bool
    verdict: str
    acknowledged: Count | None
    lost: Count | None
    lost_s: Amount | None
    load_s: Seconds | None
    recovered_in_s: Seconds | None
    note: str | None
    oldest_lost_s: Amount | None = None
    round: Count | None = None
    goodput_per_s: Amount | None = None
    in_doubt_committed: Count | None = None
    unreadable: bool = False

    def __post_init__(self) -> None:
        if self.unreadable and (self.lost is not None or not self.resolved):
            raise ValueError("an unreadable kill check has counts, or is not resolved")
        if self.resolved and not self.unreadable and None in (self.acknowledged, self.lost):
            raise ValueError("a resolved kill check lacks its counts")
        require_durability(self.durability)


class ObservedLoss(NamedTuple):
    """What kills of a server, called in one way or in several, took of its acknowledged transfers.

    ``kills`` counts those of which it is known what they left, ``unreadable`` those among them after which the server
    did not start or could not be read; where nothing could be counted, the losses are None. ``worst_loss_s`` is
    the acknowledged work of that many seconds (lost transfers by the rate before the kill), None where the
    rate is not known. ``refutes_declared``: a kill took more than the declared class allows. ``unresolved``
    counts the checks without an answer.
    """

    kills: int
    worst_loss_s: float | None
    worst_lost_transfers: int | None
    refutes_declared: bool
    unresolved: int = 0
    unreadable: int = 0

    @property
    def kept_all(self) -> bool:
        """Whether there were kills, each has an exact answer, and none of them took anything."""
        without_count = self.unresolved + self.unreadable
        return self.kills > 0 and not without_count and not self.worst_lost_transfers


def observed_loss(checks: Iterable[KillCheck], *contestants: str) -> ObservedLoss:
    """The losses of contestants, taken together, by the kill checks of a manifest (none in a run without
    kills)."""
    theirs = [check for check in checks if check.contestant in contestants]
    kills = [check for check in theirs if check.unreadable or check.lost is not None]
    seconds = [check.lost_s for check in kills if check.lost_s is not None]
    return ObservedLoss(
        kills=len(kills),
        worst_loss_s=max(seconds, default=None),
        worst_lost_transfers=max((check.lost for check in kills if check.lost is not None), default=None),
        refutes_declared=any(
            kill_verdict(
                Durability.parse(check.durability),
                check.lost,
                check.lost_s,
                check.oldest_lost_s,
                unreadable=check.unreadable,
            )
            == BROKEN
            for check in kills
        ),
        unresolved=len(theirs) - len(kills),
        unreadable=sum(check.unreadable for check in kills),
    )


def kill_verdict(
    durability: Durability,
    lost: int | None,
    lost_s: float | None,
    oldest_lost_s: float | None,
    *,
    unreadable: bool,
) -> str:
    """What a kill says of the declared class."""
    if unreadable:
        return ruin_verdict(durability, "unreadable")
    return verdict_of(durability, lost, lost_s, oldest_lost_s)


def ruin_verdict(durability: Durability, left: str) -> str:
    """What a state says in which nothing can be counted: only the class ``none`` allows it."""
    return f"{left} (within its class)" if durability.kind == "none" else BROKEN


def verdict_of(
    durability: Durability, lost: int | None, lost_s: float | None, oldest_lost_s: float | None = None
) -> str:
    """What a loss says of the declared class; ``lost`` None is a check without an exact answer.

    Seconds are estimates: a class is refuted only where both, as far as known, exceed it. A delay without
    a bound allows any loss.
    """
    if lost is None:
        return "not resolved"
    if lost == 0:
        return "kept"
    allowed_ms = {"none": math.inf, "fsync-per-commit": 0.0}.get(durability.kind, durability.max_ms)
    ages_s = [age_s for age_s in (lost_s, oldest_lost_s) if age_s is not None]
    if allowed_ms is None or min(ages_s, default=math.inf) * 1000 <= allowed_ms:
        return f"lost {lost:,} (within its class)"
    return BROKEN
