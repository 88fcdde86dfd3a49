"""What a server takes besides time: cores in use, processor time for each operation, memory, bytes written."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Literal

from gapbook.markup import Html, values_table
from gapbook.method.findings import Findings
from gapbook.pages.who import Rows
from gapbook.pages.words import operation_of
from gapbook.record.stored_trial import ValidTrial

__all__ = ["footprint_table"]

_MIB = 2**20


def footprint_table(found: Findings, rows: Rows) -> Html:
    """Medians over valid trials. Cores are processor time of the window by its length, of the server and of the tier
    before it; memory is that of both after the load, shared pages counted once. A dash where there is neither, as of
    an engine within its client, or where nobody can read it."""
    operation = operation_of(found.scenario.workload)
    columns = (
        "contestant",
        "cores in use by the server",
        f"processor time of the server for each {operation}",
        f"processor time of the client for each {operation}",
        "memory of the server after the load",
        f"growth of the data files for each {operation}",
    )
    body: list[list[str | Html]] = []
    for label, named in rows:
        one = found.contestant(named)
        for treatment in found.treatments_of(one.name):
            trials = found.valid_rows(one.name, treatment)
            body.append([f"{label}, {found.at(treatment)}", *_cells(trials, one.window_s)])
    return values_table(columns, body)


def _cells(trials: Sequence[ValidTrial], window_s: float) -> list[str]:
    def median(values: Sequence[float | None], text: str) -> str:
        known = [value for value in values if value is not None]
        return text.format(statistics.median(known)) if known else "–"

    def each(
        amounts: Sequence[float | None], count: Literal["completed_in_window", "acknowledged"]
    ) -> list[float | None]:
        pairs = zip(amounts, trials, strict=True)
        return [amount / row[count] if amount is not None and row[count] else None for amount, row in pairs]

    served_us = [_served_us(row) for row in trials]
    cores = [
        None if us is None else us / 1e6 / (row["window_s"] or window_s)
        for us, row in zip(served_us, trials, strict=True)
    ]
    client_us = [None if row["client_cpu_s"] is None else 1e6 * row["client_cpu_s"] for row in trials]
    memory = [row["server_memory_bytes"] for row in trials]
    return [
        median(cores, "{:.2f}"),
        median(each(served_us, "completed_in_window"), "{:,.0f} µs"),
        median(each(client_us, "completed_in_window"), "{:,.0f} µs"),
        median([value / _MIB if value else None for value in memory], "{:,.0f} MiB"),
        median(each([row["log_bytes"] for row in trials], "acknowledged"), "{:,.0f} bytes"),
    ]


def _served_us(row: ValidTrial) -> float | None:
    """Processor time of server and tier within the window; None where neither was read, as none serves for free."""
    return 1e6 * ((row["server_cpu_s"] or 0.0) + (row["tier_cpu_s"] or 0.0)) or None
