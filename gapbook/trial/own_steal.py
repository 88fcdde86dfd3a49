"""What the hypervisor takes of the machine on account of a contestant itself.

A hypervisor writes to the disk for its guest, and counts the processor time of that as stolen too: two programs,
one that computed and one that synced without a pause, lost a tenth of the machine in this way, where two that only
computed lost nearly nothing. That is no neighbour's work, and it grows with what a durability class promises, so it
must not refuse a trial.
"""

from __future__ import annotations

import statistics
from collections.abc import Collection, Mapping
from typing import Any

from gapbook.model.plan import PlannedTrial

__all__ = ["own_steal_frac"]

_FEWEST_TRIALS, _FEWEST_BLOCKS = 3, 2
"""Before so many trials, in so many blocks, nobody knows what is usual: a retry follows the trial that a neighbour
spoilt within minutes, and may find the neighbour at work still."""
_QUARTERS = 4


def own_steal_frac(earlier: Collection[Mapping[str, Any]], planned: PlannedTrial, processors: int) -> float:
    """The share of the machine that a trial's own work will make the hypervisor take, by the ``earlier`` rows of
    its run, refused ones included: of the trials of the same contestant and treatment the one than which fewer than a
    quarter lost less, minus the least median of any, which may be a neighbour who never rests. 0 where they are few.

    Not their median: a contestant's own work is in each of its trials and a neighbour is in some, which must not
    become the allowance of the next. And of many not the calmest: one that lost unusually little would refuse the
    usual ones from then on.
    """
    taken: dict[tuple[str, float], list[float]] = {}
    blocks: set[int] = set()
    asked = (planned.contestant, planned.treatment)
    for row in earlier:
        if row.get("steal_s") is not None and row.get("window_s"):
            cell = (row["contestant"], row["treatment"])
            taken.setdefault(cell, []).append(row["steal_s"] / (row["window_s"] * processors))
            if cell == asked:
                blocks.add(row["block"])
    own = sorted(taken.get(asked, []))
    if len(own) < _FEWEST_TRIALS or len(blocks) < _FEWEST_BLOCKS:
        return 0.0
    usual = own[(len(own) - 1) // _QUARTERS]
    return max(0.0, usual - min(map(statistics.median, taken.values())))
