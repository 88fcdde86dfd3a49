"""What a run found of a quantity, against what the other runs that hold the same cells foretold of it.

From three machines on, runs say between what ends one more run should find a ratio or a part
(:attr:`gapbook.method.over_runs.OverRuns.next_estimate`). An estimate outside is a finding: either machines and hours move
the value by more than those runs show, or something else changed. By chance one in twenty lies outside.
"""

from __future__ import annotations

from dataclasses import dataclass

from gapbook.method.cells import Cells
from gapbook.method.interval import Interval
from gapbook.method.over_runs import OverRuns, RunEstimate, kept_over_runs, ratio_over_runs
from gapbook.method.source import Kept, Ratio, Source
from gapbook.record.metric import GOODPUT
from gapbook.record.run import Run

__all__ = ["Foretold", "foretold", "over_runs_of"]


@dataclass(frozen=True)
class Foretold:
    """``others`` are the runs that foretold ``interval``, ``found`` is what one more run made of it."""

    others: OverRuns
    interval: Interval
    found: RunEstimate

    @property
    def left(self) -> bool:
        """Whether the estimate lies outside of what was foretold."""
        return not self.interval.low <= self.found.interval.estimate <= self.interval.high


def foretold(several: OverRuns, run: Run) -> Foretold | None:
    """What one of several runs found, against what all others foretold; None where those are of too few machines, or the
    run is none of them."""
    found = next((one for one in several.each if one.run.run_id == run.run_id), None)
    others = OverRuns(several.beside(run), several.log)
    interval = others.next_estimate if found else None
    return Foretold(others, interval, found) if found and interval else None


def over_runs_of(source: Source, found: Cells) -> OverRuns | None:
    """A number in the run at hand and in every published run that holds the same cells; None for one that is no ratio and
    no part of a rate, and where the run at hand has none with an interval."""
    match source:
        case Ratio():
            return ratio_over_runs(found, source.over, source.under, source.treatment, source.metric)
        case Kept(metric=GOODPUT.name):
            return kept_over_runs(found, source.contestant, source.treatment, source.base)
    return None
