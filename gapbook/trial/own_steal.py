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


def own_steal_frac(earlier: Collection[Mapping[str, Any]], planned: PlannedTrial, processors: int) -> float:
    """The share of the machine that a trial's own work will make the hypervisor take, by the ``earlier`` rows of
    its run, refused ones included: the median over trials of the same contestant and treatment, less the least
    such median, which may be a neighbour who never rests. 0 before the first.

    A median, not the calmest trial: one that lost unusually little would refuse the usual ones from then on.
    """
    taken: dict[tuple[str, float], list[float]] = {}
    for row in earlier:
        if row.get("steal_s") is not None and row.get("window_s"):
            cell = (row["contestant"], row["treatment"])
            taken.setdefault(cell, []).append(row["steal_s"] / (row["window_s"] * processors))
    own = taken.get((planned.contestant, planned.treatment))
    return statistics.median(own) - min(map(statistics.median, taken.values())) if own else 0.0
