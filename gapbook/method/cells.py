"""The cells of a run: what was measured of a contestant at a value of the treatment, by block.

The only reader of a run's record on the way to the page, so that a live run and a published one
cannot be treated differently.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Protocol, cast

import polars as pl

from gapbook.errors import ParameterError, RecordError, cut
from gapbook.method.estimate import (
    geometric_interval,
    metric_interval,
    paired_ratios,
    ratio_interval,
    values_by_contestant,
)
from gapbook.method.interval import Interval
from gapbook.method.sessions import session_interval
from gapbook.record.losses import ObservedLoss, observed_loss
from gapbook.record.measured import own_metric, trials_with_own
from gapbook.record.metric import GOODPUT, METRICS, Metric, metric_named
from gapbook.record.run import Run
from gapbook.record.scenario import RecordedContestant
from gapbook.record.schema import one_line
from gapbook.record.stored_trial import StoredTrial, ValidTrial

__all__ = ["Cells", "Named"]


class Named(Protocol):
    """Whatever has the name of a contestant: what a chapter states, or what a run recorded."""

    @property
    def name(self) -> str: ...


class Cells:
    """The cells of one run of one chapter.

    ``stated`` are contestants that the chapter names and the run may not have, described as of today.
    """

    def __init__(self, run: Run, chapter: str, stated: Iterable[RecordedContestant] = ()) -> None:
        if run.manifest.chapter != chapter:
            raise RecordError(
                f"run {run.run_id}: is of chapter {one_line(run.manifest.chapter)}, not of {chapter}; "
                "name another with source="
            )
        self.run = run
        self.scenario = run.scenario
        self._stated_contestants = {one.name: one for one in stated}

    @property
    def stated_since(self) -> bool:
        """Whether the chapter names contestants today that the run neither measured nor had to leave out."""
        known = {one.name for one in self.scenario.contestants} | self.run.manifest.absent.keys()
        return not self._stated_contestants.keys() <= known

    # --- cells --------------------------------------------------------------------------------
    @property
    def treatments(self) -> Sequence[float]:
        """The values of the scenario's treatment, in their order."""
        return self.scenario.treatment.values

    def at(self, treatment: float) -> str:
        """``α = 0.5``: a value of the treatment as it is printed."""
        return self.scenario.treatment.at(treatment)

    @property
    def ends(self) -> list[float]:
        """The first and the last value of the treatment; one, where there is one."""
        return list(dict.fromkeys((self.treatments[0], self.treatments[-1])))

    def treatments_of(self, *contestants: str) -> Sequence[float]:
        """The values of the treatment at which the plan has all of these contestants, those aside that it does
        not have at all; every value, where there is none such."""
        planned = [values for name in contestants if (values := self._planned_at.get(name))]
        return [value for value in self.treatments if all(value in of for of in planned)] or self.treatments

    def wanted_of(self, wanted: Collection[float], *contestants: str) -> list[float]:
        """Those of the wanted values of the treatment at which the plan has all of these contestants."""
        return [value for value in self.treatments_of(*contestants) if value in wanted]

    @cached_property
    def _planned_at(self) -> dict[str, set[float]]:
        found: dict[str, set[float]] = {}
        for _, _, name, value, *_ in self.run.manifest.trials:
            found.setdefault(name, set()).add(float(value))
        return found

    def contestant(self, named: Named) -> RecordedContestant:
        """What the run recorded of a contestant, else what the chapter states of one that the run does not have.

        Raises ParameterError for one that neither knows.
        """
        found = self.scenario.find(named.name) or self._stated_contestants.get(named.name)
        if found is None:
            raise ParameterError(f"contestant {cut(named.name)!r}: unknown to run {self.run.run_id}")
        return found

    def contestants(self, named: Iterable[Named]) -> list[RecordedContestant]:
        return [self.contestant(one) for one in named]

    @property
    def blocks(self) -> int:
        return self.run.manifest.blocks

    @cached_property
    def absent(self) -> dict[str, str]:
        """Contestants that could not be measured on the run's machine, each with the reason."""
        return dict(self.run.manifest.absent)

    def observed_loss(self, *contestants: str) -> ObservedLoss:
        """What kills of their servers took of the contestants' acknowledged transfers, against their declared
        class."""
        return observed_loss(self.run.manifest.kill_checks, *contestants)

    def trials_per_block(self, contestant: str) -> float:
        """How many trials of each value at which it runs the plan has for a contestant, in the mean block."""
        values = [value for _, _, name, value, *_ in self.run.manifest.trials if name == contestant]
        return len(values) / (self.blocks * len(set(values))) if values else 0.0

    def metric(self, name: str) -> Metric:
        """A metric by its name: one that every run can tell, or one of this run's own; raises ParameterError."""
        return METRICS.get(name) or own_metric(self.run.metrics, name) or metric_named(name)

    def tells(self, metric: str) -> bool:
        """Whether any trial of the run tells a metric of this name."""
        return not self.run.metrics.filter(pl.col("name") == metric).is_empty()

    @cached_property
    def _trials(self) -> pl.DataFrame:
        return trials_with_own(self.run.trials, self.run.metrics)

    def require_ratios(self, metric: str) -> None:
        """Raises ParameterError for a metric that is not compared by ratios."""
        if not self.metric(metric).log:
            raise ParameterError(
                f"metric {metric}: it can be 0 and has no ratio; name another, or compare its means"
            )

    def values(self, contestant: str, treatment: float, metric: str = GOODPUT.name) -> dict[int, float]:
        """A metric of one cell by block, the mean of its valid trials there; empty when the run has no
        such cell, or its trials do not tell the metric."""
        if (treatment, metric) not in self._values:
            found = values_by_contestant(self._trials, treatment, self.metric(metric))
            self._values[treatment, metric] = found
        return dict(self._values[treatment, metric].get(contestant, {}))

    @cached_property
    def _values(self) -> dict[tuple[float, str], dict[str, dict[int, float]]]:
        """What is known of all contestants by treatment and metric: one of them is never asked for alone."""
        return {}

    def trial_values(self, contestant: str, treatment: float, metric: str) -> list[float]:
        """A metric of each valid trial of one cell that tells it."""
        return [value for _, _, value in self.trial_by_trial(contestant, treatment, metric)]

    def trial_by_trial(self, contestant: str, treatment: float, metric: str) -> list[tuple[int, int, float]]:
        """Trial, block and a metric of each valid trial of one cell that tells it."""
        valid = self.trials_of(contestant, treatment).filter(pl.col("valid"))
        told = valid.select("trial", "block", self.metric(metric).value.alias("told")).drop_nulls("told")
        return list(told.iter_rows())

    def estimate(self, contestant: str, treatment: float, metric: str = GOODPUT.name) -> Interval | None:
        """A metric of one cell with its interval over blocks."""
        values = self.values(contestant, treatment, metric)
        return metric_interval(list(values.values()), self.metric(metric)) if values else None

    def goodput(self, contestant: str, treatment: float) -> Interval | None:
        return self.estimate(contestant, treatment)

    def ratio(self, over: str, under: str, treatment: float, metric: str = GOODPUT.name) -> Interval | None:
        """How many times a metric of ``over`` is that of ``under``, paired by block."""
        self.require_ratios(metric)
        return ratio_interval(self.values(over, treatment, metric), self.values(under, treatment, metric))

    @cached_property
    def sessions(self) -> dict[int, list[int]]:
        """The blocks of each session of which a trial is stored."""
        grouped = self.run.trials.group_by("session").agg(pl.col("block").unique().sort()).sort("session")
        return dict(grouped.iter_rows())

    def over_sessions(
        self, by_block: Mapping[int, float], degrees_of_freedom: float = math.inf
    ) -> Interval | None:
        """A ratio by block with its interval over sessions; None where fewer than two sessions tell it."""
        found = session_interval(by_block, self.sessions, degrees_of_freedom)
        return found if found and found.n > 1 else None

    def ratio_by_block(
        self, over: str, under: str, treatment: float, metric: str = GOODPUT.name
    ) -> dict[int, float]:
        """How many times a metric of ``over`` is that of ``under``, in each block that holds both."""
        return paired_ratios(*(self.values(name, treatment, metric) for name in (over, under)))

    def across_treatments(
        self, contestant: str, treatment: float, base: float, metric: str = GOODPUT.name
    ) -> Interval | None:
        """What a contestant does at one value of the treatment of what it does at another, paired by block."""
        self.require_ratios(metric)
        return ratio_interval(
            self.values(contestant, treatment, metric), self.values(contestant, base, metric)
        )

    def ratio_of_ratios(
        self, over: str, under: str, treatment: float, base: float, metric: str = GOODPUT.name
    ) -> Interval | None:
        """How many times the ratio at ``treatment`` is that at ``base``, two values of the treatment."""
        pair = (over, under)
        return self._quotient(pair, pair, treatment, base, metric)

    def moved_ratio(
        self,
        pair: tuple[str, str],
        base: tuple[str, str],
        treatment: float,
        metric: str = GOODPUT.name,
    ) -> Interval | None:
        """How many times the ratio of one pair of contestants, the first by the second, is that of another pair."""
        return self._quotient(pair, base, treatment, treatment, metric)

    def _quotient(
        self,
        pair: tuple[str, str],
        base: tuple[str, str],
        treatment: float,
        base_treatment: float,
        metric: str,
    ) -> Interval | None:
        """The ratio of a pair by that of another, from the blocks that hold all four cells; None where none does."""
        self.require_ratios(metric)
        top, top_under = (self.values(name, treatment, metric) for name in pair)
        low, low_under = (self.values(name, base_treatment, metric) for name in base)
        blocks = sorted({*top} & {*top_under} & {*low} & {*low_under})
        if not blocks:
            return None
        return geometric_interval([top[b] / top_under[b] / (low[b] / low_under[b]) for b in blocks])

    def trials_of(self, contestant: str, treatment: float) -> pl.DataFrame:
        """All trials of one cell, the refused ones too."""
        cell = (pl.col("contestant") == contestant) & (pl.col("treatment") == treatment)
        return self._trials.filter(cell)

    def rows(self, contestant: str, treatment: float) -> list[StoredTrial]:
        """As :meth:`trials_of`, row by row."""
        return cast(list[StoredTrial], self.trials_of(contestant, treatment).to_dicts())

    def valid_rows(self, contestant: str, treatment: float) -> list[ValidTrial]:
        """As :meth:`rows`, of the trials that count."""
        valid = self.trials_of(contestant, treatment).filter(pl.col("valid"))
        return cast(list[ValidTrial], valid.to_dicts())
