"""How far a gap and its parts travel: the same gap in every run that closes it, and taken apart on each processor that a
chapter was measured on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from gapbook.method.estimate import geometric_mean
from gapbook.method.factors import Decomposition, Factor
from gapbook.method.findings import Findings
from gapbook.method.interval import Interval
from gapbook.method.over_runs import LEAST_BLOCKS, OverRuns, estimates_over_runs, published_findings
from gapbook.method.same import Cell, Setup, cells_of

__all__ = ["OnProcessor", "gap_over_runs", "on_processors"]


@dataclass(frozen=True)
class OnProcessor:
    """A gap in the runs of one kind of processor, oldest first, each taken apart by itself."""

    processor: str
    each: tuple[Decomposition, ...]

    @property
    def gap(self) -> float:
        """The whole gap: the geometric mean over the runs, as of every part, so that the parts multiply to it."""
        return geometric_mean([parts.gap.estimate for parts in self.each])

    @property
    def shares(self) -> tuple[float, ...]:
        """Each factor's part, in their order."""
        by_factor = zip(*(parts.shares for parts in self.each), strict=True)
        return tuple(geometric_mean([share.multiplier.estimate for share in shares]) for shares in by_factor)


def gap_over_runs(found: Findings, factors: Sequence[Factor], treatment: float) -> OverRuns | None:
    """The whole gap in every published run that has the same two ends and closes it; None on a reader's own run, and where
    the run at hand does not close it."""
    start, end = found.ends_of(factors)
    if not found.run.published or start is None or end is None:
        return None
    first, last = Cell(start.name, treatment), Cell(end.name, treatment)

    def gap(other: Findings, named: Mapping[Cell, Cell]) -> Interval | None:
        ends = [one.name if one else "" for one in other.ends_of(factors)]
        if ends != [named[first].contestant, named[last].contestant]:
            return None
        parts = other.decompose(factors, named[first].treatment)
        return parts.gap if parts else None

    return estimates_over_runs(found, [first, last], gap)


def on_processors(found: Findings, factors: Sequence[Factor], treatment: float) -> list[OnProcessor]:
    """The gap of a run in every published run of its chapter that closes it under the same load, by processor, that with
    the smallest gap first; empty where the run at hand does not close it.

    Every run is taken apart over the combinations that all of them measured, and so over the same orders of the steps: a
    mean over other orders is another number, which no machine has moved.
    """
    own = cells_of(found.run)
    closing = [
        (other, measured)
        for other, known in published_findings()
        if other.scenario.chapter == found.scenario.chapter
        and _closes(other, factors, treatment, measured := _measured(other, own, known, treatment))
    ]
    if not closing:
        return []
    common = set.intersection(*(set(measured) for _, measured in closing))
    each: dict[str, list[Decomposition]] = defaultdict(list)
    for other, measured in closing:
        kept = {name for setup, name in measured.items() if setup in common}
        parts = _apart(other, factors, treatment, kept)
        if parts is None:
            return []
        each[other.run.manifest.machine.processor].append(parts)
    by_processor = [OnProcessor(processor, tuple(runs)) for processor, runs in each.items()]
    return sorted(by_processor, key=lambda one: one.gap)


def _measured(
    other: Findings, own: Mapping[Setup, Cell], known: Mapping[Setup, Cell], treatment: float
) -> dict[Setup, str]:
    """What a run calls those cells of the run at hand that it measured at a value of the treatment."""
    return {
        setup: cell.contestant
        for setup, cell in known.items()
        if setup in own
        and cell.treatment == treatment
        and len(other.values(cell.contestant, treatment)) >= LEAST_BLOCKS
    }


def _apart(
    other: Findings, factors: Sequence[Factor], treatment: float, kept: Collection[str]
) -> Decomposition | None:
    """The gap over the combinations of the contestants that are kept. Others that differ from one of these in nothing
    that a factor changes, such as those with a longer window, are no combinations of their own."""
    changed = dict.fromkeys(dimension for factor in factors for dimension in factor.changes)
    levels = {one.name: tuple(map(one.level, changed)) for one in other.scenario.contestants}
    combinations = {levels[name] for name in kept}
    return other.decompose(
        factors, treatment, without=[name for name, of_one in levels.items() if of_one not in combinations]
    )


def _closes(
    other: Findings, factors: Sequence[Factor], treatment: float, measured: Mapping[Setup, str]
) -> bool:
    parts = _apart(other, factors, treatment, set(measured.values()))
    return parts is not None and parts.gap.bounded and parts.gap.n >= LEAST_BLOCKS
