"""Corrections: what was printed of a stored run under an earlier rule of goodput, beside what it is now.

Both sides are computed here by the same code from the same run, once with each trial's rate as it was
printed and once as it is counted today (:mod:`gapbook.record.goodput`); nothing is typed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from itertools import pairwise
from statistics import median
from typing import TypeAlias

import polars as pl

from gapbook.claims.rules import tests_fixed
from gapbook.claims.verdicts import Judgement, judge_all
from gapbook.markup import Html, values_table
from gapbook.method.factors import Factor
from gapbook.method.findings import Findings
from gapbook.method.interval import Interval, format_factor
from gapbook.pages import page
from gapbook.record.goodput import PRINTED
from gapbook.record.labels import CLIENT_BOUND
from gapbook.record.machine import usable_cores
from gapbook.record.published import published_runs
from gapbook.record.run import Run
from gapbook.record.scenario import RecordedContestant

__all__ = [
    "Correction",
    "as_printed",
    "corrected_runs",
    "correction_facts",
    "corrections",
    "corrections_table",
    "fixed_table",
    "hour",
    "late_reading_facts",
    "one_step_apart",
    "verdicts_table",
]

_COLUMNS = ("quantity", "printed", "now")
_COMPARED = ("system", "in flight")
_MUCH_FRAC = 0.10
"""By how much of itself a printed number has to change for the change to count as a large one."""
_READ_LATE_FRAC = 0.05
"""Of all cores: the counters of the machine and of processes are not read at one instant, so less says nothing."""
_Quantity: TypeAlias = tuple[str, Interval | None, Callable[[Interval | None], str]]
"""A printed quantity: its name with its condition, its value, and how it is printed."""


@dataclass(frozen=True)
class Correction:
    """One printed value that changed: the quantity with its condition, then and now, as printed."""

    quantity: str
    printed: str
    now: str
    moved: float | None = None
    """How many times the printed estimate the one of now is; None where one of both is missing."""


def corrected_runs() -> list[Run]:
    """Of each chapter the newest published run that was counted by the earlier rule, oldest chapter name first."""
    found: dict[str, Run] = {}
    for run in published_runs():
        if PRINTED in run.trials.columns:
            known = found.get(run.manifest.chapter)
            if known is None or run.manifest.started_unix_s > known.manifest.started_unix_s:
                found[run.manifest.chapter] = run
    return [found[chapter] for chapter in sorted(found)]


def fixed_table() -> Html:
    """Each published run with the hour at which it began, beside the hours at which the tests that read its
    chapter were fixed."""
    rows: list[list[str | Html]] = []
    for run in published_runs():
        began = datetime.fromtimestamp(run.manifest.started_unix_s, UTC)
        fixed = tests_fixed(run.manifest.chapter)
        name = f"{run.manifest.chapter}, run {run.run_id}"
        rows.append(
            [
                name,
                hour(run.manifest.started_unix_s),
                ", ".join(dict.fromkeys(hour(when.timestamp()) for when in fixed)) or "–",
                _order(began, fixed),
            ]
        )
    return values_table(("run", "began", "tests of claims fixed", "the tests are"), rows)


def hour(unix_s: float) -> str:
    """``2026-11-21 15:35 UTC``"""
    return f"{datetime.fromtimestamp(unix_s, UTC):%Y-%m-%d %H:%M} UTC"


def _order(began: datetime, fixed: Sequence[datetime]) -> str:
    later = sum(began < when for when in fixed)
    if not fixed:
        return "none"
    if not later:
        return "all older than the run"
    return "all newer than the run" if later == len(fixed) else f"newer than the run, {later} of {len(fixed)}"


def as_printed(run: Run) -> Run:
    """The run with each trial's rate as it was printed."""
    return replace(run, trials=run.trials.with_columns(pl.col(PRINTED).alias("goodput_per_s")))


def corrections(run: Run) -> list[Correction]:
    """Every goodput, ratio between systems or depths, gap and factor of a run whose printed text changed."""
    chapter = run.manifest.chapter
    now, then = Findings(run, chapter), Findings(as_printed(run), chapter)
    found = []
    told = zip(_quantities(then, labels_decide=True), _quantities(now, labels_decide=False), strict=True)
    for (name, was, text), (_, is_now, _) in told:
        printed, current = text(was), text(is_now)
        if printed != current:
            found.append(
                Correction(name, printed, current, is_now.estimate / was.estimate if was and is_now else None)
            )
    return found


def correction_facts(prefix: str) -> dict[str, str]:
    """The size of it, for the prose: how many printed numbers changed, by how much, and how many verdicts on the
    claims of one document."""
    moved = [
        max(one.moved, 1 / one.moved) for run in corrected_runs() for one in corrections(run) if one.moved
    ]
    return {
        "changed": f"{len(moved)}",
        "changed_median": f"{100 * (median(moved) - 1):.1f} %",
        "changed_much": f"{sum(factor > 1 + _MUCH_FRAC for factor in moved)}",
        "much": f"{_MUCH_FRAC:.0%}".replace("%", " %"),
        "changed_most": f"×{format_factor(max(moved))}",
        "changed_verdicts": str(len(_changed_verdicts(prefix))) if _changed_verdicts(prefix) else "no",
    }


def late_reading_facts() -> dict[str, str]:
    """In how many valid trials of published runs the processor time of the trial's own programs exceeded what the machine
    counted of all programs, by more than a share of the cores, and whose trials they are."""
    trials, systems = 0, set()
    for run in published_runs():
        cores = usable_cores(run.manifest.machine)
        window_s = pl.col("window_s").fill_null(run.scenario.window_s)
        beyond = run.trials.filter(
            pl.col("valid"), pl.col("other_cpu_s") < -_READ_LATE_FRAC * cores * window_s
        )
        trials += len(beyond)
        whose = set(beyond["contestant"])
        systems |= {one.system_label for one in run.scenario.contestants if one.name in whose}
    return {
        "late_trials": f"{trials:,}",
        "late_systems": " and ".join(sorted(systems)),
        "late_share": f"{_READ_LATE_FRAC:.0%}".replace("%", " %"),
    }


def corrections_table(run: Run) -> Html:
    """The changed values of a run, old beside new."""
    rows: list[list[str | Html]] = [[one.quantity, one.printed, one.now] for one in corrections(run)]
    return values_table(_COLUMNS, rows)


def verdicts_table(prefix: str) -> Html:
    """Verdicts on claims that these runs decided, where the verdict is another with the corrected rates."""
    rows: list[list[str | Html]] = [
        [old.claim.identifier, old.word, new.word] for old, new in _changed_verdicts(prefix)
    ]
    if not rows:
        return page.banner("note", "No verdict changed.")
    return values_table(("claim", "verdict then", "verdict now"), rows)


@cache
def _changed_verdicts(prefix: str) -> Sequence[tuple[Judgement, Judgement]]:
    runs = {run.manifest.chapter: run for run in corrected_runs()}

    def measured(printed: bool, chapter: str) -> Findings | str:
        run = runs.get(chapter)
        return (
            f"No run of {chapter}" if run is None else Findings(as_printed(run) if printed else run, chapter)
        )

    then = judge_all(prefix, lambda chapter: measured(True, chapter))
    now = judge_all(prefix, lambda chapter: measured(False, chapter))
    return [(old, new) for old, new in zip(then, now, strict=True) if old.verdict != new.verdict]


def _quantities(found: Findings, *, labels_decide: bool) -> Iterator[_Quantity]:
    contestants = found.scenario.contestants
    for treatment in found.treatments:
        for contestant in contestants:
            goodput = found.goodput(contestant.name, treatment)
            yield f"{contestant.name}, {found.at(treatment)}", goodput, _rate
        for over, under in one_step_apart(contestants):
            ratio = found.ratio(over.name, under.name, treatment)
            yield f"{over.name} ÷ {under.name}, {found.at(treatment)}", ratio, _factor
        for factors in _lattices(contestants):
            left_out = _left_out(found, factors, treatment) if labels_decide else ()
            yield from _shares(found, factors, treatment, left_out)


def _left_out(found: Findings, factors: Sequence[Factor], treatment: float) -> list[str]:
    """Contestants that earlier pages left out of a decomposition: beyond the residual, not its end, and
    labelled client-bound in most of their valid trials."""
    after = {factor.after for factor in factors if factor.family == "residual"}
    end = found.end(factors, "after")
    names = []
    for contestant in found.scenario.contestants:
        valid = [row["labels"] for row in found.rows(contestant.name, treatment) if row["valid"]]
        most = 2 * sum(CLIENT_BOUND in labels for labels in valid) > len(valid)
        if most and contestant is not end and contestant.level("system") in after:
            names.append(contestant.name)
    return names


def _shares(
    found: Findings, factors: Sequence[Factor], treatment: float, left_out: Sequence[str]
) -> Iterator[_Quantity]:
    """The whole gap and each factor's part, at the depth of the far end."""
    where = f"to {factors[-2].after} in flight, {found.at(treatment)}"
    parts = found.decompose(factors, treatment, without=left_out)
    yield f"whole gap, {where}", parts.gap if parts else None, _factor
    for place, factor in enumerate(factors):
        yield f"{factor.name}, {where}", parts.shares[place].multiplier if parts else None, _factor


def _rate(interval: Interval | None) -> str:
    return f"{interval.as_count()}/s" if interval else "–"


def _factor(interval: Interval | None) -> str:
    return interval.as_factor() if interval else "–"


def one_step_apart(
    contestants: Sequence[RecordedContestant],
) -> list[tuple[RecordedContestant, RecordedContestant]]:
    """Contestants that differ in their system alone (with what it is called from), or in their depth alone."""
    found = []
    for place, under in enumerate(contestants):
        for over in contestants[place + 1 :]:
            levels, others = over.levels, under.levels
            differing = {key for key in levels if levels[key] != others.get(key)}
            if len(differing) == 1 and differing & set(_COMPARED):
                found.append((over, under))
    return found


def _lattices(contestants: Sequence[RecordedContestant]) -> list[list[Factor]]:
    """The factors between the slowest use of Postgres and the deepest of SpacetimeDB, for each depth there is."""
    dimensions = ("access", "client", "tier", "system", "in flight")
    there = {key: {contestant.level(key) for contestant in contestants} for key in dimensions}
    ends = {
        "client": ("typescript", "rust"),
        "tier": ("rpc", "direct"),
        "system": ("postgres", "spacetimedb"),
    }
    if any(not set(pair) <= there[key] for key, pair in ends.items()):
        return []
    chain = [level for level in ("Drizzle", "SQL statements", "one call") if level in there["access"]]
    if len(chain) < 2:
        return []
    steps = [Factor(f"{a} → {b}", "access", a, b, "wire") for a, b in pairwise(chain)]
    client = Factor("Load client", "client", "typescript", "rust", "stack")
    tier = Factor("HTTP server", "tier", "rpc", "direct", "stack")
    residual = Factor("Engine residual", "system", "postgres", "spacetimedb", "residual")
    depths = sorted((depth for depth in there["in flight"] if depth != "1"), key=int)
    return [
        [*steps, client, tier, Factor("Pipelining", "in flight", "1", depth, "wire"), residual]
        for depth in depths
    ]
