"""Processor time and memory of servers over the time of a load, of contestants that were watched."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from gapbook.markup import Html, values_table
from gapbook.method.findings import Findings
from gapbook.pages.who import Rows

__all__ = ["Moment", "moments_of", "watched_table"]

_MIB = 2**20


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


def watched_table(found: Findings, rows: Rows) -> Html:
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
