"""How long a published plan will take, or a run of the reader's, told from the run that is published now."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean
from typing import Any

import polars as pl

from gapbook.book.plans import PublishedPlan
from gapbook.book.time_spent import busy_s
from gapbook.errors import RecordError
from gapbook.load.null_server import CEILING_WINDOW_S
from gapbook.parameters import names_in
from gapbook.record.run import Run, latest_published
from gapbook.trial.asked import Asked
from gapbook.trial.ceilings import expected_ceilings_s

__all__ = ["duration_words", "seconds_asked_for", "seconds_of"]


def seconds_of(plan: PublishedPlan) -> float | None:
    """Seconds that a plan will take, as the same contestants did in its published run: block by block, with warm-up and
    window of the plan, and strike by strike. None where no run is published, or none that can be read."""
    try:
        run = latest_published(plan.chapter)
    except RecordError:
        return None
    blocks, manifest = run.manifest.blocks, run.manifest
    named = _named(plan, run)
    trials_in_block = sum(contestant in named for _, _, contestant, _, _ in manifest.trials) / blocks
    loaded_s = sum(float(plan.parameters[name]) for name in ("warmup_s", "window_s"))
    longer_s = loaded_s - manifest.scenario.warmup_s - manifest.scenario.window_s
    trials_s, strikes_s = _parts_s(run)
    of_named = run.trials.filter(pl.col("contestant").is_in(named))
    trials_s *= float(of_named["took_s"].sum()) / (float(run.trials["took_s"].sum()) or 1)
    strikes_s *= len(named) / (len(manifest.scenario.contestants) or 1)
    block_s = trials_s / blocks + trials_in_block * longer_s
    times_struck = _strikes(plan.parameters) / (manifest.kills + manifest.cuts or 1)
    return max(0.0, block_s) * int(plan.parameters["blocks"]) + strikes_s * times_struck


def _named(plan: PublishedPlan, run: Run) -> set[str]:
    """The contestants of a run that a plan asks for; all, where it has none of them."""
    there = {one.name for one in run.manifest.scenario.contestants}
    return there.intersection(names_in(plan.parameters.get("contestants", "all"))) or there


def seconds_asked_for(asked: Asked) -> float | None:
    """Seconds that a run will take which a chapter asks for, on a quiet machine like that of its published run: no trial
    is refused and tried again. None where no run is published, or none that can be read.

    Its warm-ups and windows, what the published run took around those of the same contestants, its ceilings, and strikes
    as long as they were there. Servers start in seconds, which are not counted.
    """
    try:
        run = latest_published(asked.chapter)
    except RecordError:
        return None
    scenario, plan, around_s = asked.scenario, asked.plan(), _around_s(run)
    usual_s = fmean(around_s.values())
    trials_s = sum(
        scenario.warmup_s
        + scenario.window_of(scenario.contestant(planned.contestant))
        + around_s.get(planned.contestant, usual_s)
        for planned in plan
    )
    struck = run.manifest.kills + run.manifest.cuts
    share = (asked.kills + asked.cuts) * len(scenario.contestants) / (struck * len(around_s) or 1)
    return trials_s + expected_ceilings_s(scenario, plan) + share * _parts_s(run)[1]


def _around_s(run: Run) -> dict[str, float]:
    """What a trial of each contestant took besides warm-up and window, in the mean: state reset, audit, and a server that
    catches up."""
    recorded = run.manifest.scenario
    loaded_s = pl.col("window_s").fill_null(recorded.window_s) + recorded.warmup_s
    took = run.trials.group_by("contestant").agg((pl.col("took_s") - loaded_s).clip(lower_bound=0.0).mean())
    return dict(took.iter_rows())


def _strikes(given: Mapping[str, Any]) -> int:
    """Kills and power cuts of each contestant."""
    return sum(int(given.get(name) or 0) for name in ("kills", "cuts"))


def _parts_s(run: Run) -> tuple[float, float]:
    """What the trials of a run took, with their deployments, and what its strikes took, which follow the last trial.

    A run may have been interrupted: each of its parts is counted from its beginning to the end of its last trial.
    Strikes that were interrupted are counted from where they went on. Of a run that was measured together with others
    its own trials are counted, and its part of the ceilings and of the strikes.
    """
    manifest = run.manifest
    ended = (run.trials["started_unix_s"] + run.trials["took_s"]).to_list()
    began = sorted([manifest.started_unix_s, *manifest.resumed_unix_s])
    trials_s = busy_s(run.trials, began)
    finished, together = manifest.finished_unix_s, manifest.measured_with
    after_s = 0.0 if finished is None else max(0.0, finished - max(*began, *ended))
    if together is not None:
        # The time between its trials was that of other chapters' trials; ceilings and strikes were those of all.
        measured = sum(one.rate_per_s is not None for one in manifest.ceilings)
        ceilings_s = measured * (manifest.scenario.warmup_s + CEILING_WINDOW_S)
        trials_s = float(run.trials["took_s"].sum()) + ceilings_s / len(together.chapters)
        after_s /= len(together.chapters)
    return (trials_s, after_s) if manifest.kills + manifest.cuts else (trials_s + after_s, 0.0)


def duration_words(seconds: float) -> str:
    """``3 h 20 min``, ``12 min``, ``40 s``"""
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min"
