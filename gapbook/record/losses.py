"""What kills showed of a durability class, read from the rows of a record: no server is needed for it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from gapbook.model.work import EVEN_EXPONENT, EXPONENT
from gapbook.record.durability import Durability

__all__ = ["BROKEN", "KILL_LOAD", "ObservedLoss", "observed_loss", "verdict_of"]

BROKEN = "lost more than its class allows"
KILL_LOAD = f"{EXPONENT} {EVEN_EXPONENT:g}"
"""The Zipf exponent under which servers are killed, whatever the scenario has, in words."""


class ObservedLoss(NamedTuple):
    """What kills of a server, called in one way or in several, took of its acknowledged transfers.

    ``kills`` counts those with an exact answer; with none of them the losses are None. ``worst_loss_s`` is
    the acknowledged work of that many seconds (lost transfers by the rate before the kill), None where the
    rate is not known. ``refutes_declared``: a kill took more than the declared class allows. ``unresolved``
    counts the checks without an exact answer.
    """

    kills: int
    worst_loss_s: float | None
    worst_lost_transfers: int | None
    refutes_declared: bool
    unresolved: int = 0

    @property
    def kept_all(self) -> bool:
        """Whether there were kills, each has an exact answer, and none of them took anything."""
        return self.kills > 0 and not self.unresolved and not self.worst_lost_transfers


def observed_loss(rows: Iterable[Mapping[str, Any]], *contestants: str) -> ObservedLoss:
    """The losses of contestants, taken together, in ``kill_checks``, the rows of a manifest (none in a run without
    kills)."""
    checks = [row for row in rows if row["contestant"] in contestants]
    kills = [row for row in checks if row["lost"] is not None]
    seconds = [float(row["lost_s"]) for row in kills if row["lost_s"] is not None]
    return ObservedLoss(
        kills=len(kills),
        worst_loss_s=max(seconds, default=None),
        worst_lost_transfers=max((int(row["lost"]) for row in kills), default=None),
        refutes_declared=any(
            verdict_of(
                Durability.parse(row["durability"]), row["lost"], row["lost_s"], row.get("oldest_lost_s")
            )
            == BROKEN
            for row in kills
        ),
        unresolved=len(checks) - len(kills),
    )


def verdict_of(
    durability: Durability, lost: int | None, lost_s: float | None, oldest_lost_s: float | None = None
) -> str:
    """What a kill says of the declared class; ``lost`` None is a check without an exact answer.

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
