"""One quantity over all published runs that hold it: how far apart they are, and what the next would find.

An interval of one run speaks for one machine and one hour. What runs before it held of the same cells says how far the
value moves between machines and hours, so the newest run never decides in silence.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple

from gapbook.method.cells import Cells
from gapbook.method.findings import Findings
from gapbook.method.interval import Interval, format_count, format_factor
from gapbook.method.random_effects import LEAST_TO_PREDICT, Pooled, expected_next, pooled
from gapbook.method.same import Cell, Setup, cells_of
from gapbook.method.student import quantile_of_t
from gapbook.record.metric import GOODPUT
from gapbook.record.published import given_runs, machine_of, measurement_of, published_runs
from gapbook.record.run import Run

__all__ = [
    "LEAST_BLOCKS",
    "Between",
    "OverRuns",
    "RunEstimate",
    "estimates_over_runs",
    "kept_beside",
    "kept_over_runs",
    "published_findings",
    "ratio_beside",
    "ratio_over_runs",
]

LEAST_BLOCKS = 3
"""A run in which fewer blocks tell a value says too little of it to stand beside others."""


@dataclass(frozen=True)
class RunEstimate:
    """What one run holds of a quantity."""

    run: Run
    interval: Interval

    @property
    def began_unix_s(self) -> float:
        return self.run.manifest.started_unix_s


class Between(NamedTuple):
    """What several runs made of a ratio, ``×4.84 to ×8.53``, or of a part, ``30.3 to 41.5 %``; how many they are, and on
    how many machines. ``expected`` is what one more run should make of it, in the same form, and ``foreseen`` whether that
    is narrow enough to be told at a glance; empty where it is known from too few machines."""

    ends: str
    runs: int
    machines: int
    expected: str = ""
    foreseen: bool = False

    @property
    def in_sentence(self) -> str:
        """``4.84–8.53``, ``30.3–41.5 %``"""
        return _in_sentence(self.ends)

    @property
    def of_runs(self) -> str:
        """``4 runs on 3 machines``"""
        return f"{_counted(self.runs, 'run')} {_on(self.machines)}"

    @property
    def foretold(self) -> str:
        """``4.10–9.90``: what one more run should make of it; empty where that is too wide to be told at a glance."""
        return _in_sentence(self.expected) if self.foreseen else ""

    def __str__(self) -> str:
        return f"{self.ends} {_where(self.runs, self.machines)}"


@dataclass(frozen=True)
class OverRuns:
    """A quantity in several runs, oldest first; ``log`` where it is compared on the log scale, as ratios are. ``aside`` are
    runs that hold the same cells in fewer than :data:`LEAST_BLOCKS` blocks, or without an interval."""

    each: Sequence[RunEstimate]
    log: bool = True
    aside: Sequence[RunEstimate] = ()

    @property
    def runs(self) -> int:
        return len(self.each)

    @property
    def machines(self) -> int:
        """How many machines can be told apart by the records (:func:`gapbook.record.published.machine_of`)."""
        return len({machine_of(one.run) for one in self.each})

    @property
    def least(self) -> float:
        return min(one.interval.estimate for one in self.each)

    @property
    def greatest(self) -> float:
        return max(one.interval.estimate for one in self.each)

    @property
    def newest(self) -> RunEstimate:
        return self.each[-1]

    @cached_property
    def pooled(self) -> Pooled | None:
        """The mean over runs on the scale of comparison; None for a single run."""
        if self.runs < 2:
            return None
        told = [self._with_error(one.interval) for one in self.each]
        return pooled([value for value, _ in told], [error for _, error in told])

    @property
    def mean(self) -> Interval:
        """The mean over runs with its 95 % interval; of a single run, what that holds. ``n`` is the number of runs."""
        return self._interval(self.pooled.half) if self.pooled else self.newest.interval

    @property
    def expected(self) -> Interval:
        """What another run should be expected to find (:func:`gapbook.method.random_effects.expected`); of one run, its own
        interval. ``estimate`` is the mean over runs, ``n`` their number."""
        if self.pooled is None:
            return self.newest.interval
        estimates = [self._scaled(one.interval.estimate) for one in self.each]
        ends = expected_next(self.pooled, estimates, [one.interval.n for one in self.each])
        low, high = map(self._unscaled, ends)
        return Interval(self.mean.estimate, low, high, self.runs)

    def beside(self, run: Run) -> list[RunEstimate]:
        """What the others hold, oldest first."""
        return [one for one in self.each if one.run.run_id != run.run_id]

    def opposed(self, run: Run) -> list[RunEstimate]:
        """The other runs that say the opposite of one: whose interval lies wholly on the other side of 1."""
        own = next(one.interval for one in self.each if one.run.run_id == run.run_id)
        return [
            one
            for one in self.beside(run)
            if one.interval.high < 1 < own.low or own.high < 1 < one.interval.low
        ]

    def as_range(self) -> str:
        """``×4.84 to ×8.53``: from the least to the greatest of what the runs hold."""
        return _range_of_ratios(self.least, self.greatest)

    def as_range_in_percent(self) -> str:
        """``30.3 to 41.5 %``, of a part."""
        return _range_of_parts(self.least, self.greatest)

    @property
    def where(self) -> str:
        """``over 4 runs on 3 machines``"""
        return _where(self.runs, self.machines)

    @property
    def between(self) -> Between:
        """Of a ratio."""
        return self._between(_range_of_ratios)

    @property
    def between_in_percent(self) -> Between:
        """Of a part."""
        return self._between(_range_of_parts)

    @property
    def next_estimate(self) -> Interval | None:
        """What one more run should find: the 95 % prediction interval, widened by an error of its own such as these runs
        have; None where they are of fewer than :data:`LEAST_TO_PREDICT` machines."""
        if self.machines < LEAST_TO_PREDICT or self.pooled is None:
            return None
        # Another run measures with an error of its own, and so the interval for what is true there is too narrow.
        errors = [self._with_error(one.interval)[1] for one in self.each]
        own_half = quantile_of_t(self.runs - 1) * statistics.median(errors)
        return self._interval(math.hypot(self.pooled.prediction_half, own_half))

    def _between(self, as_range: Callable[[float, float], str]) -> Between:
        told = Between(as_range(self.least, self.greatest), self.runs, self.machines)
        found = self.next_estimate
        if found is None:
            return told
        return told._replace(expected=as_range(found.low, found.high), foreseen=not found.vague)

    def _with_error(self, interval: Interval) -> tuple[float, float]:
        """An estimate and its standard error on the scale of comparison."""
        low, middle, high = map(self._scaled, (interval.low, interval.estimate, interval.high))
        # By the longer side: a bound holds the other one back, as 0 does that of an amount.
        return middle, max(high - middle, middle - low) / quantile_of_t(interval.n - 1)

    def _interval(self, half: float) -> Interval:
        middle = self.pooled.mean if self.pooled else math.nan
        low, estimate, high = map(self._unscaled, (middle - half, middle, middle + half))
        return Interval(estimate, low, high, self.runs)

    def _scaled(self, value: float) -> float:
        return math.log(value) if self.log else value

    def _unscaled(self, value: float) -> float:
        return math.exp(value) if self.log else value


def ratio_over_runs(
    found: Cells,
    over: str,
    under: str,
    treatment: float,
    metric: str = GOODPUT.name,
    *,
    with_given: bool = False,
) -> OverRuns | None:
    """A ratio of the run at hand in every published run that holds the same two cells, oldest first, and in the run
    at hand itself, which need not be published. None where that does not hold it with an interval.

    Cells are the same by what they are (:mod:`gapbook.method.same`), in whatever chapter they were measured; runs of
    one measurement count once, as the run at hand where it is one of them. ``with_given``: also in runs that others gave,
    which decide nothing.
    """

    def ratio(of: Findings, named: Mapping[Cell, Cell]) -> Interval | None:
        top, below = (named[Cell(name, treatment)] for name in (over, under))
        return of.ratio(top.contestant, below.contestant, top.treatment, metric)

    return estimates_over_runs(
        found, [Cell(over, treatment), Cell(under, treatment)], ratio, with_given=with_given
    )


def ratio_beside(
    found: Cells,
    over: str,
    under: str,
    treatment: float,
    metric: str = GOODPUT.name,
    *,
    with_given: bool = False,
) -> OverRuns | None:
    """:func:`ratio_over_runs` as the page of a run tells it: None on a reader's own, which speaks of no other run."""
    if not found.run.published:
        return None
    return ratio_over_runs(found, over, under, treatment, metric, with_given=with_given)


def kept_over_runs(found: Cells, name: str, treatment: float, base: float) -> OverRuns | None:
    """Which part of its goodput at the value ``base`` of the treatment a contestant has at another, over the same runs as
    :func:`ratio_over_runs`; None as there."""

    def part(of: Findings, named: Mapping[Cell, Cell]) -> Interval | None:
        there, at_base = (named[Cell(name, value)] for value in (treatment, base))
        if there.contestant != at_base.contestant:
            return None
        return of.across_treatments(there.contestant, there.treatment, at_base.treatment)

    return estimates_over_runs(found, [Cell(name, treatment), Cell(name, base)], part)


def kept_beside(found: Cells, name: str, treatment: float, base: float) -> OverRuns | None:
    """:func:`kept_over_runs` as the page of a run tells it; None as :func:`ratio_beside` is."""
    return kept_over_runs(found, name, treatment, base) if found.run.published else None


def estimates_over_runs(
    found: Cells,
    cells: Sequence[Cell],
    estimate: Callable[[Findings, Mapping[Cell, Cell]], Interval | None],
    *,
    log: bool = True,
    with_given: bool = False,
) -> OverRuns | None:
    """A quantity of some cells of the run at hand, in every run that holds the same cells.

    ``estimate`` computes it of one run, given what that run calls each of the cells; None where the run cannot tell
    it. The result is None where the run at hand cannot.
    """
    own = {cell: setup for setup, cell in cells_of(found.run).items() if cell in cells}
    if own.keys() != set(cells):
        return None
    each: dict[str, RunEstimate] = {}
    aside: dict[str, RunEstimate] = {}
    others = [*published_findings(), *(_given() if with_given else ())]
    for other, known in [*others, (Findings(found.run, found.scenario.chapter), cells_of(found.run))]:
        if not all(setup in known for setup in own.values()):
            continue
        held = estimate(other, {cell: known[setup] for cell, setup in own.items()})
        if held is not None:
            tells = held.bounded and held.n >= LEAST_BLOCKS
            (each if tells else aside)[measurement_of(other.run)] = RunEstimate(other.run, held)
    if measurement_of(found.run) not in each:
        return None
    return OverRuns(_oldest_first(each), log, _oldest_first(aside))


def _oldest_first(estimates: Mapping[str, RunEstimate]) -> list[RunEstimate]:
    return sorted(estimates.values(), key=lambda one: one.began_unix_s)


@cache
def published_findings() -> Sequence[tuple[Findings, Mapping[Setup, Cell]]]:
    """Every published run, and what it calls each of its cells."""
    return tuple(map(_with_cells, published_runs()))


@cache
def _given() -> Sequence[tuple[Findings, Mapping[Setup, Cell]]]:
    return tuple(map(_with_cells, given_runs()))


def _with_cells(run: Run) -> tuple[Findings, Mapping[Setup, Cell]]:
    return Findings(run, run.manifest.chapter), cells_of(run)


def _in_sentence(ends: str) -> str:
    return ends.replace("×", "").replace(" to ", "–")


def _range_of_ratios(low: float, high: float) -> str:
    return " to ".join(dict.fromkeys(f"×{format_factor(end)}" for end in (low, high)))


def _range_of_parts(low: float, high: float) -> str:
    return f"{' to '.join(dict.fromkeys(format_count(100 * end) for end in (low, high)))} %"


def _where(runs: int, machines: int) -> str:
    return f"over {_counted(runs, 'run')} {_on(machines)}"


def _on(machines: int) -> str:
    return f"on {_counted(machines, 'machine')}"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
