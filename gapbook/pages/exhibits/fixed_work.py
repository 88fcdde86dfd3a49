"""A fixed amount of work, as published benchmarks time it: from the first request to the last answer, cold."""

from __future__ import annotations

import json
from collections.abc import Sequence

from gapbook.markup import Html, values_table
from gapbook.method.estimate import geometric_interval
from gapbook.method.findings import Findings
from gapbook.pages.who import Rows
from gapbook.pages.words import operation_of, operations_of, rate_cell
from gapbook.record.stored_trial import ValidTrial

__all__ = ["fixed_work_table", "seconds_to"]

_BIN_S = 0.1


def seconds_to(amount: int, per_100ms: Sequence[int]) -> float | None:
    """When so many operations were acknowledged since the load began, its warm-up included; None where they never
    were. Within a tenth of a second they are taken to be spread evenly."""
    done = 0
    for place, count in enumerate(per_100ms):
        if count and done + count >= amount:
            return (place + (amount - done) / count) * _BIN_S
        done += count
    return None


def fixed_work_table(found: Findings, rows: Rows, amounts: Sequence[int]) -> Html:
    """The time to each amount since the load began, geometric means over blocks with their interval, beside the
    goodput of the window.

    A published benchmark begins its clock with the first request and ends it with the last answer. A load of ours
    goes on after its amount, so its time lacks the last answers, fewer than there are connections.
    """
    workload = found.scenario.workload
    first = (
        f"{amount:,} {operations_of(workload)}" if amount > 1 else operation_of(workload)
        for amount in amounts
    )
    columns = (
        "contestant",
        *(f"time to the first {words}" for words in first),
        "rate after the warm-up",
    )
    body: list[list[str | Html]] = []
    for label, one in rows:
        for treatment in found.treatments_of(one.name):
            goodput = found.goodput(one.name, treatment)
            body.append(
                [
                    f"{label}, {found.at(treatment)}",
                    *(_time(found.valid_rows(one.name, treatment), amount) for amount in amounts),
                    rate_cell(goodput),
                ]
            )
    return values_table(columns, body)


def _time(rows: Sequence[ValidTrial], amount: int) -> str:
    by_block: dict[int, list[float]] = {}
    for row in rows:
        seconds = seconds_to(amount, json.loads(row["per_100ms"] or "[]"))
        if seconds is None:
            return "not reached in this load"
        by_block.setdefault(row["block"], []).append(seconds)
    if not by_block:
        return "–"
    blocks = [geometric_interval(seconds).estimate for seconds in by_block.values()]
    time = geometric_interval(blocks)
    bounds = f" [{time.low:,.1f}–{time.high:,.1f}]" if time.bounded else ""
    return f"{time.estimate:,.1f}{bounds} s"
