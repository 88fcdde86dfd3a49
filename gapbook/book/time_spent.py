"""Where the time of a published run went: loading, and everything around it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import polars as pl

from gapbook.book.plans import PublishedPlan
from gapbook.errors import RecordError
from gapbook.record.published import measurement_of
from gapbook.record.run import Run, latest_published
from gapbook.text_table import text_table

__all__ = ["TimeSpent", "busy_s", "time_spent", "time_table"]

_HEADS = (
    "minutes of",
    "warm-ups and windows",
    "around them in trials",
    "trials again",
    "waiting for quiet",
    "starts and ceilings",
    "overhead",
)


@dataclass(frozen=True)
class TimeSpent:
    """Seconds of a run, without kills, power cuts and the time in which it was interrupted.

    ``loaded_s`` are warm-ups and windows of the trials that the plan has, ``around_s`` the rest of these trials (state
    reset, audit, servers that catch up), ``again_s`` the trials that were tried again, ``waited_s`` waits for a quiet
    machine, and ``between_s`` what lies between trials besides: servers started, ceilings measured.
    """

    loaded_s: float
    around_s: float
    again_s: float
    waited_s: float
    between_s: float

    @property
    def overhead(self) -> float:
        """How many times as long as warm-ups and windows alone it took."""
        return (
            sum((self.loaded_s, self.around_s, self.again_s, self.waited_s, self.between_s)) / self.loaded_s
        )


def time_spent(*runs: Run) -> TimeSpent:
    """What the records of one measurement tell: of a run, or of all that it was measured together with, whose shared
    trials count once. Of a part of such runs, the time between trials is none of its own and is left out."""
    whole = runs[0].manifest.measured_with is None or len(runs) == len(
        runs[0].manifest.measured_with.chapters
    )
    trials = pl.concat(map(_timed, runs)).unique("started_unix_s")
    first, again = trials.filter("planned"), trials.filter(~pl.col("planned"))
    deployments = runs[0].manifest.deployments
    waited_s = sum(one.waited_s for one in deployments)
    begun = sorted({one.started_unix_s for one in deployments}) or [runs[0].manifest.started_unix_s]
    between_s = busy_s(trials, begun) - float(trials["took_s"].sum()) - waited_s
    loaded_s = float(first["loaded_s"].sum())
    return TimeSpent(
        loaded_s=loaded_s,
        around_s=max(0.0, float(first["took_s"].sum()) - loaded_s),
        again_s=float(again["took_s"].sum()),
        waited_s=waited_s if whole else 0.0,
        between_s=max(0.0, between_s) if whole else 0.0,
    )


def _timed(run: Run) -> pl.DataFrame:
    """When each trial of a run began, how long it took, how long of that was load, and whether its plan has it."""
    scenario = run.manifest.scenario
    return run.trials.select(
        "started_unix_s",
        "took_s",
        loaded_s=pl.col("window_s").fill_null(scenario.window_s).cast(pl.Float64) + scenario.warmup_s,
        planned=pl.col("trial").is_in([number for number, *_ in run.manifest.trials]),
    )


def busy_s(trials: pl.DataFrame, begun_unix_s: Sequence[float]) -> float:
    """Seconds from each beginning, in their order, to the end of the last trial before the next: what lies between such
    an end and the next beginning was no part of the run."""
    ended = (trials["started_unix_s"] + trials["took_s"]).to_list()
    return sum(
        max((end for end in ended if begin < end < following), default=begin) - begin
        for begin, following in pairwise([*begun_unix_s, math.inf])
    )


def time_table(plans: Sequence[PublishedPlan]) -> list[str]:
    """A line for each plan whose published run can be read, in minutes; one for chapters that were measured together,
    where all of them are among the plans."""
    measured: dict[str, dict[str, Run]] = {}
    for plan in plans:
        try:
            run = latest_published(plan.chapter)
        except RecordError:
            continue
        measured.setdefault(measurement_of(run), {})[plan.chapter] = run
    return text_table(_HEADS, [_row(runs) for runs in measured.values()])


def _row(runs: Mapping[str, Run]) -> list[str]:
    """Of the runs of one measurement, by their chapters."""
    spent = time_spent(*runs.values())
    parts_s = spent.loaded_s, spent.around_s, spent.again_s, spent.waited_s, spent.between_s
    name = next(iter(runs)) if len(runs) == 1 else f"{len(runs)} chapters together"
    return [name, *(f"{seconds / 60:.1f}" for seconds in parts_s), f"{spent.overhead:.2f}"]
