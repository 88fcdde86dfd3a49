"""Do the intervals mean what they say? Virtual plants, whose true factors are known, estimated many times.

A plant draws the truth and then rows as a run's record has them; :func:`gapbook.method.estimate.values_by_contestant`
and :func:`gapbook.method.factors.decompose` do the rest, as they do for a page.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import polars as pl

from gapbook.method.estimate import Contrast, values_by_contestant
from gapbook.method.factors import Cell, Decomposition, Factor, decompose, exact_logs
from gapbook.method.interval import Interval
from gapbook.method.proportions import wilson_interval
from gapbook.method.sessions import session_interval
from gapbook.model.plan import blocks_of_session, make_plan

__all__ = ["AA_FACTOR", "TOTAL_GAP", "Coverage", "Plant", "QuantityCoverage", "measure_coverage"]

TOTAL_GAP = "total gap"
AA_FACTOR = "A/A"
_TREATMENT = 0.0
_MEAN_LOG_GOODPUT = math.log(10_000)


@dataclass(frozen=True)
class Plant:
    """A virtual benchmark. Spreads are standard deviations on the log scale: 0.05 is about 5 %.

    The last of ``factors`` factors changes nothing, whatever the others are at (A/A). The noise of a
    trial differs by cell: it is ``trial_noise`` times a number drawn for each cell between
    1 / ``noise_ratio`` and ``noise_ratio``. ``drift_per_trial`` raises every trial above the one before
    it in its block, and ``autocorrelation`` is that of the noise of successive trials: both act in the
    order in which the trials run, which is drawn for each block when ``randomised`` and else is the same
    in all. The two ends of the gap have ``end_trials`` trials in each block, all other cells one in every
    ``others_every``-th. The blocks are spread over ``sessions``, each of which moves every cell by a number of its
    own.
    """

    factors: int = 4
    cells_infeasible: int = 3
    factor_spread: float = 0.7
    interaction_spread: float = 0.2
    block_spread: float = 0.10
    trial_noise: float = 0.05
    noise_ratio: float = 1.0
    refused: float = 0.0
    drift_per_trial: float = 0.0
    autocorrelation: float = 0.0
    randomised: bool = True
    end_trials: int = 1
    others_every: int = 1
    sessions: int = 1
    session_spread: float = 0.0

    def definition(self) -> tuple[Factor, ...]:
        """Its factors, as a decomposition names them."""
        names = [*(f"factor {number}" for number in range(1, self.factors)), AA_FACTOR]
        return tuple(Factor(name, name, "before", "after", "stack") for name in names)

    def draw_truth(self, random: np.random.Generator) -> dict[Cell, float]:
        """True mean log goodput of each cell that can be run; the way through all factors in order always can."""
        corners = list(product((0, 1), repeat=self.factors))
        on_way = {
            tuple(int(bit < passed) for bit in range(self.factors)) for passed in range(self.factors + 1)
        }
        optional = [corner for corner in corners if corner not in on_way]
        infeasible = {optional[i] for i in random.permutation(len(optional))[: self.cells_infeasible]}
        main = random.normal(0, self.factor_spread, self.factors - 1)
        # Interactions of all orders: whatever the other factors are at moves the cell, the A/A factor never.
        other = random.normal(0, self.interaction_spread, (2,) * (self.factors - 1))
        return {
            tuple("after" if bit else "before" for bit in corner): _MEAN_LOG_GOODPUT
            + float(np.dot(main, corner[:-1]) + other[corner[:-1]])
            for corner in corners
            if corner not in infeasible
        }

    def draw_rows(
        self, truth: Mapping[Cell, float], blocks: int, random: np.random.Generator
    ) -> pl.DataFrame:
        """Trials as a record holds them, in the order in which they ran."""
        names = {_name(cell): cell for cell in truth}
        ends = {_name(("before",) * self.factors), _name(("after",) * self.factors)}
        plan = make_plan(
            list(names),
            [_TREATMENT],
            blocks=blocks,
            seed=int(random.integers(2**53)),
            trials_per_block={
                name: self.end_trials if name in ends else 1 / self.others_every for name in names
            },
        )
        if not self.randomised:
            place = {name: index for index, name in enumerate(names)}
            plan = tuple(sorted(plan, key=lambda planned: (planned.block, place[planned.contestant])))
        order = [planned.contestant for planned in plan]
        block = np.array([planned.block for planned in plan])
        spread = math.log(self.noise_ratio)
        noise = dict(
            zip(names, self.trial_noise * np.exp(random.uniform(-spread, spread, len(names))), strict=True)
        )
        within = np.concatenate([np.arange(trials) for trials in np.bincount(block)])
        logs = (
            np.array([truth[names[name]] for name in order])
            + random.normal(0, self.block_spread, blocks)[block]
            + np.array([noise[name] for name in order]) * self._errors(len(order), random)
            + self.drift_per_trial * within
        )
        if self.session_spread:
            column = {name: index for index, name in enumerate(names)}
            moved = random.normal(0, self.session_spread, (self.sessions, len(names)))
            logs += moved[self._session_of(blocks)[block], [column[name] for name in order]]
        return pl.DataFrame(
            {
                "contestant": order,
                "treatment": np.full(len(order), _TREATMENT),
                "block": block,
                "valid": random.random(len(order)) >= self.refused,
                "goodput_per_s": np.exp(logs),
            }
        )

    def blocks_by_session(self, blocks: int) -> dict[int, range]:
        """The blocks of each session, as a campaign spreads them."""
        return {
            session: blocks_of_session(session, sessions=self.sessions, blocks=blocks)
            for session in range(self.sessions)
        }

    def _session_of(self, blocks: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        by_session = self.blocks_by_session(blocks)
        return np.array([session for session, inside in by_session.items() for _ in inside])

    def _errors(
        self, count: int, random: np.random.Generator
    ) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """Standard normal, each correlated with the one before it."""
        errors = random.normal(0, 1, count)
        kept = math.sqrt(1 - self.autocorrelation**2)
        if self.autocorrelation:
            for index in range(1, count):
                errors[index] = self.autocorrelation * errors[index - 1] + kept * errors[index]
        return errors


@dataclass(frozen=True)
class QuantityCoverage:
    """How often the intervals of one quantity held its truth; ``wilson`` bounds the true rate (95 %).

    ``bias_log`` is the mean error of the estimates, ``width_log`` the median width of the t intervals.
    Where a plant gave no interval, it counts neither as covered nor as tried. The ``session`` numbers are
    those of intervals over sessions, with their median width, None in plants of one.
    """

    name: str
    tried: int
    covered: int
    wilson: tuple[float, float]
    bootstrap_covered: int
    bootstrap_wilson: tuple[float, float]
    session_covered: int | None
    session_wilson: tuple[float, float] | None
    session_width_log: float | None
    bias_log: float
    width_log: float

    @property
    def rate(self) -> float:
        return self.covered / self.tried


@dataclass(frozen=True)
class Coverage:
    """Of one plant at one number of blocks. ``without_interval`` plants gave none: too many trials refused.

    The truth is that of all cells that can be run, also where refused trials cost the estimate a cell.
    """

    plant: Plant
    blocks: int
    seeds: int
    without_interval: int
    quantities: tuple[QuantityCoverage, ...]


@dataclass(frozen=True)
class _Outcome:
    truth_log: float
    interval: Interval
    bootstrap: Interval
    over_sessions: Interval | None


def measure_coverage(plant: Plant, *, blocks: int, seeds: int, first_seed: int = 0) -> Coverage:
    """Estimate ``seeds`` plants, each with a truth of its own, and count the intervals that hold the truth.

    Raises ValueError below two blocks or factors: nothing then has an interval, or only A/A is left.
    """
    if blocks < 2 or plant.factors < 2:
        raise ValueError("coverage needs at least 2 blocks and 2 factors")
    outcomes: dict[str, list[_Outcome]] = {}
    without_interval = 0
    for seed in range(first_seed, first_seed + seeds):
        found = _estimate_plant(plant, blocks, np.random.default_rng(seed))
        without_interval += not found
        for name, outcome in found.items():
            outcomes.setdefault(name, []).append(outcome)
    quantities = tuple(_count(name, of_name) for name, of_name in outcomes.items())
    return Coverage(plant, blocks, seeds, without_interval, quantities)


def _estimate_plant(plant: Plant, blocks: int, random: np.random.Generator) -> dict[str, _Outcome]:
    """Every quantity of one plant by name; empty without intervals."""
    factors = plant.definition()
    truth = plant.draw_truth(random)
    rows = plant.draw_rows(truth, blocks, random)
    planted = exact_logs(factors, truth)
    values = values_by_contestant(rows, _TREATMENT)
    parts = decompose(factors, {cell: values.get(_name(cell), {}) for cell in truth})
    if planted is None or parts is None:
        return {}
    true_logs = [planted[0], *planted[1]]
    sessions = plant.blocks_by_session(blocks) if plant.sessions > 1 else {}
    found = {}
    for (name, (told, bootstrap)), true_log in zip(_quantities(parts).items(), true_logs, strict=True):
        if bootstrap is None or not told.interval.bounded:
            return {}
        over_sessions = session_interval(told.factor_by_block, sessions, told.degrees_of_freedom)
        found[name] = _Outcome(true_log, told.interval, bootstrap, over_sessions)
    return found


def _quantities(parts: Decomposition) -> dict[str, tuple[Contrast, Interval | None]]:
    """What is planted, by name, each with its bootstrap interval."""
    shares = {share.factor.name: (share.contrast, share.bootstrap) for share in parts.shares}
    return {TOTAL_GAP: (parts.whole, parts.gap_bootstrap), **shares}


def _name(cell: Cell) -> str:
    return " ".join(cell)


def _count(name: str, outcomes: Sequence[_Outcome]) -> QuantityCoverage:
    def covered(interval: Interval, truth_log: float) -> bool:
        # Rounding must not decide where an A/A factor without noise gives an interval of width 0.
        slack = 1e-12
        return math.log(interval.low) - slack <= truth_log <= math.log(interval.high) + slack

    hits = sum(covered(outcome.interval, outcome.truth_log) for outcome in outcomes)
    bootstrap_hits = sum(covered(outcome.bootstrap, outcome.truth_log) for outcome in outcomes)
    over_sessions = [(one.over_sessions, one.truth_log) for one in outcomes if one.over_sessions]
    session_hits = sum(covered(interval, truth_log) for interval, truth_log in over_sessions)
    return QuantityCoverage(
        name=name,
        tried=len(outcomes),
        covered=hits,
        wilson=wilson_interval(hits, len(outcomes)),
        bootstrap_covered=bootstrap_hits,
        bootstrap_wilson=wilson_interval(bootstrap_hits, len(outcomes)),
        session_covered=session_hits if over_sessions else None,
        session_wilson=wilson_interval(session_hits, len(outcomes)) if over_sessions else None,
        session_width_log=statistics.median(
            math.log(interval.high / interval.low) for interval, _ in over_sessions
        )
        if over_sessions
        else None,
        bias_log=statistics.fmean(math.log(o.interval.estimate) - o.truth_log for o in outcomes),
        width_log=statistics.median(math.log(o.interval.high / o.interval.low) for o in outcomes),
    )
