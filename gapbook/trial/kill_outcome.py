"""What one kill showed of a server: how much of what it had acknowledged was gone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gapbook.load.report import BINS_PER_SECOND
from gapbook.record.durability import Durability
from gapbook.record.losses import KillCheck, kill_verdict

__all__ = ["KillOutcome", "killed_no_earlier_s", "oldest_age_s", "seconds_of_work"]


@dataclass
class KillOutcome:
    """What one kill showed; ``lost`` None while there is no exact answer, ``unreadable`` where there can be none."""

    acknowledged: int | None = None
    lost: int | None = None
    in_doubt_committed: int | None = None
    load_s: float | None = None
    goodput_per_s: float | None = None
    oldest_lost_s: float | None = None
    """Age of the oldest lost acknowledgement when the server was killed, from the counts by second."""
    recovered_in_s: float | None = None
    unreadable: bool = False
    note: str | None = None

    def as_check(self, contestant: str, durability: Durability, number: int) -> KillCheck:
        """As a record keeps it of that round of the contestant."""
        lost_s = seconds_of_work(self.lost, self.goodput_per_s)
        return KillCheck(
            contestant=contestant,
            durability=str(durability),
            round=number,
            resolved=self.unreadable or self.lost is not None,
            lost_s=lost_s,
            verdict=kill_verdict(
                durability, self.lost, lost_s, self.oldest_lost_s, unreadable=self.unreadable
            ),
            **vars(self),
        )


def seconds_of_work(lost: int | None, rate_per_s: float | None) -> float | None:
    """How long the load took for what is gone; 0 for nothing, None where losses or rate are not known."""
    if lost == 0:
        return 0.0
    return lost / rate_per_s if lost is not None and rate_per_s else None


def killed_no_earlier_s(per_100ms: Sequence[int], due_s: float) -> float:
    """When the server was killed: when that was due or, on a machine too busy for it, at the end of the tenth of a
    second in which its last answer came."""
    last = max((place for place, count in enumerate(per_100ms) if count), default=-1)
    return due_s if last < due_s * BINS_PER_SECOND else (last + 1) / BINS_PER_SECOND


def oldest_age_s(per_second: Sequence[int], killed_at_s: float, last: int) -> float:
    """How long before the kill the first of the ``last`` acknowledgements came, taking the rate as even
    within a second."""
    if last == 0:
        return 0.0
    edges_s = np.minimum(np.arange(len(per_second) + 1, dtype=np.float64), killed_at_s)
    counted = np.concatenate([[0], np.cumsum(per_second)])
    return killed_at_s - float(np.interp(counted[-1] - last, counted, edges_s))
