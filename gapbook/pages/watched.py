"""Processor time and memory of servers over the time of a load, of contestants that were watched."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from gapbook import charts
from gapbook.markup import Html, values_table
from gapbook.method.estimate import geometric_interval
from gapbook.pages.results import Results
from gapbook.pages.who import Rows
from gapbook.record.metric import GOODPUT, METRICS
from gapbook.record.scenario import RecordedContestant

__all__ = ["Moment", "moments_of", "watched_chart", "watched_table"]

_MIB = 2**20
_SHOWN = 12
"""About how many moments of a load are drawn."""
_MEMORY = METRICS["server-memory"]
_CORES = replace(
    GOODPUT,
    name="cores",
    label="cores of the server",
    words="cores of the server in use",
    unit=" cores",
    spelled="cores",
    spoken="cores",
    better="lower",
    decimals=2,
    told="",
)


@dataclass(frozen=True)
class Moment:
    """The server at a moment of a load: seconds since its clock started, cores in use since the moment before, and
    memory in MiB."""

    elapsed_s: float
    cores: float
    memory_mib: float


def moments_of(row: Mapping[str, Any]) -> list[Moment]:
    """What a watched trial tells; nothing of one that was not, or whose server nobody could read."""
    read = [
        one
        for one in json.loads(row.get("watched") or "[]")
        if one["cpu_s"] is not None and one["memory_bytes"] is not None
    ]
    return [
        Moment(
            now["elapsed_s"],
            (now["cpu_s"] - before["cpu_s"]) / (now["elapsed_s"] - before["elapsed_s"]),
            now["memory_bytes"] / _MIB,
        )
        for before, now in pairwise(read)
        if now["elapsed_s"] > before["elapsed_s"]
    ]


def watched_table(found: Results, rows: Rows) -> Html:
    """Of each contestant the least, the mean and the greatest of the cores in use in a second, and memory at the
    first moment and at its greatest, over all valid trials."""
    columns = (
        "contestant",
        "cores in use in a second: least",
        "cores: mean",
        "cores: greatest",
        "memory of the server: first reading",
        "memory: greatest",
    )
    body: list[list[str | Html]] = []
    for label, named in rows:
        one = found.contestant(named)
        for treatment in found.treatments_of(one.name):
            trials = [
                moments for row in found.valid_rows(one.name, treatment) if (moments := moments_of(row))
            ]
            cores = [moment.cores for moments in trials for moment in moments]
            if not cores:
                body.append([f"{label}, {found.at(treatment)}", "not watched", *["–"] * 4])
                continue
            first = sum(moments[0].memory_mib for moments in trials) / len(trials)
            most = max(moment.memory_mib for moments in trials for moment in moments)
            body.append(
                [
                    f"{label}, {found.at(treatment)}",
                    *(f"{value:.2f}" for value in (min(cores), sum(cores) / len(cores), max(cores))),
                    *(f"{value:,.0f} MiB" for value in (first, most)),
                ]
            )
    return values_table(columns, body)


def watched_chart(found: Results, rows: Rows, treatment: float) -> charts.Figure:
    """Cores in use and memory over the seconds of the load, means over trials with their interval."""
    title = "Processor time and memory over the load"
    watched = [
        (label, one, trials)
        for label, named in rows
        for one in [found.contestant(named)]
        if (trials := [m for row in found.valid_rows(one.name, treatment) if (m := moments_of(row))])
    ]
    if not watched:
        return charts.missing(title, "No contestant was watched in this run.", provenance=found.provenance)
    longest = max(moment.elapsed_s for _, _, trials in watched for moments in trials for moment in moments)
    step_s = max(1, math.ceil(longest / _SHOWN))
    panels = [
        charts.Panel(metric, tuple(_line(label, one, trials, step_s, name) for label, one, trials in watched))
        for metric, name in ((_CORES, "cores"), (_MEMORY, "memory_mib"))
    ]
    ticks = sorted({point.x for panel in panels for line in panel.series for point in line.points})
    return charts.line_panels(
        panels,
        x_label="seconds since the load began",
        x_ticks=ticks,
        x_log=False,
        provenance=found.provenance,
        title=title,
        subtitle=f"At {found.at(treatment)}; each point is the mean of {step_s} s, the last of a line of what was left.",
    )


def _line(
    label: str, one: RecordedContestant, trials: Sequence[Sequence[Moment]], step_s: int, name: str
) -> charts.Line:
    """One quantity of a contestant by steps of the load: of each step the trials' means."""
    points = []
    last = math.floor(max(moment.elapsed_s for moments in trials for moment in moments) / step_s)
    for step in range(last + 1):
        means = [
            sum(inside) / len(inside)
            for moments in trials
            if (inside := [getattr(m, name) for m in moments if step == math.floor(m.elapsed_s / step_s)])
        ]
        if means and min(means) > 0:
            points.append(charts.LinePoint((step + 0.5) * step_s, geometric_interval(means), tuple(means)))
    return charts.Line(one.colour, label, tuple(points))
