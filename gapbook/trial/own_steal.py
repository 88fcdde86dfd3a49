"""What the hypervisor takes of the machine on account of a contestant itself.

A hypervisor writes to the disk for its guest, and counts the processor time of that as stolen too: a program that
computes and syncs without a pause has lost a tenth of the machine in this way, where two programs that only compute
lost nothing. That is no neighbour's work, and it grows with what a durability class promises, so it must not refuse
a trial.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from gapbook.model.plan import PlannedTrial

__all__ = ["own_steal_frac"]


def own_steal_frac(earlier: Collection[Mapping[str, Any]], planned: PlannedTrial, processors: int) -> float:
    """The share of the machine that a trial's own work will make the hypervisor take, by the ``earlier`` rows of
    its run: what was taken in the calmest trial of the same contestant and treatment, refused ones included, less
    what was taken in the calmest trial of all, for that may be a neighbour who never rests. 0 before the first.
    """
    told = [row for row in earlier if row.get("steal_s") is not None]
    same = [
        row
        for row in told
        if (row["contestant"], row["treatment"]) == (planned.contestant, planned.treatment)
    ]
    if not same:
        return 0.0
    calmest_same, calmest_of_all = (
        min(row["steal_s"] / (row["window_s"] * processors) for row in rows) for rows in (same, told)
    )
    return float(calmest_same - calmest_of_all)
