"""Where the time of a published run went: loading, and everything around it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import polars as pl

from gapbook.book.plans import PublishedPlan
from gapbook.errors import RecordError
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


def time_spent(run: Run) -> TimeSpent:
    """What a run's record tells; of one that was measured together with others, the time between trials is none of its
    own and is left out."""
    manifest = run.manifest
    planned = {number for number, *_ in manifest.trials}
    trials = run.trials
    first, again = (trials.filter(pl.col("trial").is_in(planned) == is_first) for is_first in (True, False))
    loaded_s = float(
        (first["window_s"].fill_null(manifest.scenario.window_s) + manifest.scenario.warmup_s).sum()
    )
    waited_s = sum(one.waited_s for one in manifest.deployments)
    took_s = float(trials["took_s"].sum())
    alone = manifest.measured_with is None
    begun = sorted({one.started_unix_s for one in manifest.deployments}) or [manifest.started_unix_s]
    between_s = busy_s(run, begun) - took_s - waited_s
    return TimeSpent(
        loaded_s=loaded_s,
        around_s=max(0.0, float(first["took_s"].sum()) - loaded_s),
        again_s=float(again["took_s"].sum()),
        waited_s=waited_s if alone else 0.0,
        between_s=max(0.0, between_s) if alone else 0.0,
    )


def busy_s(run: Run, begun_unix_s: Sequence[float]) -> float:
    """Seconds from each beginning, in their order, to the end of the last trial before the next: what lies between such
    an end and the next beginning was no part of the run."""
    ended = (run.trials["started_unix_s"] + run.trials["took_s"]).to_list()
    return sum(
        max((end for end in ended if begin < end < following), default=begin) - begin
        for begin, following in pairwise([*begun_unix_s, math.inf])
    )


def time_table(plans: Sequence[PublishedPlan]) -> list[str]:
    """A line for each plan whose published run can be read, in minutes."""
    rows = []
    for plan in plans:
        try:
            spent = time_spent(latest_published(plan.chapter))
        except RecordError:
            continue
        parts_s = spent.loaded_s, spent.around_s, spent.again_s, spent.waited_s, spent.between_s
        rows.append([plan.chapter, *(f"{seconds / 60:.1f}" for seconds in parts_s), f"{spent.overhead:.2f}"])
    return text_table(_HEADS, rows)
