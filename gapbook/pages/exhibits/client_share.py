"""The client's own share: processor time, ceiling and pauses of two clients that send the same requests."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import TypeAlias

from gapbook.claims.closed_loop import outside_ms
from gapbook.errors import ParameterError
from gapbook.markup import Html, values_table
from gapbook.method.cells import Named
from gapbook.method.estimate import mean_interval
from gapbook.method.findings import Findings
from gapbook.method.interval import Interval
from gapbook.pages.words import NO_VALID_TRIAL, connections_at
from gapbook.record.metric import GOODPUT
from gapbook.record.scenario import RecordedContestant

__all__ = ["Pair", "client_share_table"]

Pair: TypeAlias = tuple[Named, Named]
"""Two contestants that differ in their client alone."""
_COLUMNS = (
    "contestant",
    "goodput",
    "client CPU for each",
    "against a server that does nothing",
    "of that ceiling",
    "outside requests, each",
)
_CPU = "client-cpu"
_NEVER = "–"


def client_share_table(found: Findings, pairs: Sequence[Pair]) -> Html:
    """Both clients of each pair, and the first divided by the second: goodput, and processor time of the client.

    *Outside requests* is what a user of a closed loop does not wait for an answer, for each request: users ÷
    rate − mean latency. Raises ParameterError for a pair that differs in more than its client.
    """
    rows: list[list[str | Html]] = []
    for over, under in (tuple(found.contestants(pair)) for pair in pairs):
        _require_client_alone(over, under)
        for treatment in found.treatments_of(over.name, under.name):
            rows += [_client(found, one, treatment) for one in (over, under)]
            rows.append(
                [
                    f"{over.client} ÷ {under.client}, {found.at(treatment)}",
                    _factor(found.ratio(over.name, under.name, treatment, GOODPUT.name)),
                    _factor(found.ratio(over.name, under.name, treatment, _CPU)),
                    *[_NEVER] * (len(_COLUMNS) - 3),
                ]
            )
    return values_table(_COLUMNS, rows)


def _require_client_alone(over: RecordedContestant, under: RecordedContestant) -> None:
    differing = sorted(over.differs_in(under) - {"client"})
    if differing:
        raise ParameterError(
            f"pair {over.name} and {under.name}: differs in {', '.join(differing)} too; allowed: the client alone"
        )


def _client(found: Findings, one: RecordedContestant, treatment: float) -> list[str | Html]:
    goodput = found.goodput(one.name, treatment)
    name = f"{one.name}, {found.at(treatment)}"
    if goodput is None:
        return [name, NO_VALID_TRIAL, *[_NEVER] * (len(_COLUMNS) - 2)]
    cpu = found.estimate(one.name, treatment, _CPU)
    trials = found.valid_rows(one.name, treatment)
    ceilings = [row["ceiling_per_s"] for row in trials if row["ceiling_per_s"]]
    reached = [row["goodput_per_s"] / row["ceiling_per_s"] for row in trials if row["ceiling_per_s"]]
    return [
        name,
        f"{goodput.as_count()}/s",
        f"{cpu.as_count()} µs" if cpu else "not readable",
        f"{statistics.median(ceilings):,.0f}/s" if ceilings else "no ceiling",
        f"{statistics.median(reached):.0%}" if reached else _NEVER,
        _outside(found, one, treatment),
    ]


def _outside(found: Findings, one: RecordedContestant, treatment: float) -> str:
    """The time outside requests of a closed loop's user with its interval over blocks; it can be less than
    nothing where rate and latency are not of the same requests."""
    if one.loop == "open":
        return "open loop"
    users = one.in_flight * connections_at(found.scenario, treatment)
    by_block: dict[int, list[float]] = {}
    for row in found.valid_rows(one.name, treatment):
        rate_per_s = row["completed_in_window"] / (row["window_s"] or one.window_s)
        spent_ms = outside_ms(users, rate_per_s, 1e3 * row["mean_service_time_s"])
        by_block.setdefault(row["block"], []).append(spent_ms)
    value = mean_interval([statistics.mean(of_block) for of_block in by_block.values()])
    bounds = f" [{value.low:.3f} to {value.high:.3f}]" if value.bounded else ""
    return f"{value.estimate:.3f}{bounds} ms".replace("-", "−")


def _factor(ratio: Interval | None) -> str:
    return ratio.as_factor() if ratio else "no block holds both"
