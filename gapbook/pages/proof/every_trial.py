"""Every trial of a run: when it ran, what it gave, and whether it counts or why not."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import polars as pl

from gapbook.markup import Html, SupportsHtml, link, values_table
from gapbook.method.findings import Findings
from gapbook.method.interval import format_count
from gapbook.pages.page import fold
from gapbook.pages.words import operations_of
from gapbook.record.metric import GOODPUT, METRICS
from gapbook.record.scenario import RecordedContestant

__all__ = ["every_trial", "trials_of"]

_SHOWN = ("p50", "p99")
_FILES = (
    ("trials.parquet", "trials"),
    ("histograms.parquet", "latencies"),
    ("metrics.parquet", "metrics"),
    ("manifest.json", "plan, machine and settings"),
)


def trials_of(chapter: str) -> str:
    """The name of the page of a chapter's trials."""
    return f"{chapter}-trials"


def every_trial(
    found: Findings, contestants: Sequence[RecordedContestant], called: Callable[[RecordedContestant], str]
) -> tuple[SupportsHtml, ...]:
    """What stands above the trials, and a folded table for each contestant in the order of its trials."""
    own = _own_metrics(found)
    tables = Html("").join(_folded(found, one, called(one), own) for one in contestants)
    return _about(found), tables


def _about(found: Findings) -> Html:
    folder = f"../_static/runs/{found.run.run_id}"
    files = [
        link(f"{folder}/{name}", label, download=True)
        for name, label in _FILES
        if (found.run.folder / name).is_file()
    ]
    return Html(
        "<p>Open a contestant to see its trials. Times are UTC. The numbers of refused trials are kept, and no "
        "estimate uses them. The same as files: {}.</p>"
    ).format(Html(", ").join(files))


def _folded(found: Findings, one: RecordedContestant, called: str, own: Mapping[int, Sequence[str]]) -> Html:
    trials = found.run.trials.filter(pl.col("contestant") == one.name).sort("trial")
    trials = trials.with_columns(METRICS[name].value.alias(name) for name in (GOODPUT.name, *_SHOWN))
    rows = trials.to_dicts()
    columns = [
        "trial",
        found.scenario.treatment.label,
        f"{operations_of(found.scenario.workload)} per second",
        "counts?",
        "median, ms",
        "p99, ms",
        "block",
        "session",
        "started",
    ]
    cells = [_cells(row) for row in rows]
    if any(own.get(row["trial"]) for row in rows):
        columns.append("measured besides")
        cells = [[*line, "; ".join(own.get(row["trial"], ()))] for line, row in zip(cells, rows, strict=True)]
    count = f"{int(trials['valid'].sum())} of {len(rows)} count"
    return fold(f"{one.name}, {called}, {one.detail}: {count}", values_table(columns, cells))


def _cells(row: Mapping[str, Any]) -> list[str]:
    started = datetime.datetime.fromtimestamp(row["started_unix_s"], datetime.UTC)
    labels = json.loads(row["labels"] or "[]")
    rate, *waits = ("–" if row[name] is None else format_count(row[name]) for name in (GOODPUT.name, *_SHOWN))
    return [
        f"{row['trial'] + 1}",
        f"{row['treatment']:g}",
        rate,
        ", ".join(["yes", *labels]) if row["valid"] else f"no: {row['refused_because']}",
        *waits,
        f"{row['block'] + 1}",
        f"{row['session'] + 1}",
        f"{started:%Y-%m-%d %H:%M:%S}",
    ]


def _own_metrics(found: Findings) -> dict[int, list[str]]:
    """What systems told of each trial besides what every run tells, as ``rows lost 12``."""
    told: dict[int, list[str]] = {}
    own = found.run.metrics.filter(~pl.col("name").is_in(list(METRICS))).sort("trial", "name")
    for trial, name, unit, value in own.select("trial", "name", "unit", "value").iter_rows():
        told.setdefault(trial, []).append(f"{name} {format_count(value)} {unit}".strip())
    return told
