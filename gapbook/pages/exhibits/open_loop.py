"""Open loops: what a response takes from the moment at which it was due, when a rate is offered on a schedule."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from gapbook.markup import Html, values_table
from gapbook.method.cells import Named
from gapbook.method.findings import Findings
from gapbook.pages.words import NO_VALID_TRIAL
from gapbook.record.histograms import decode_histogram
from gapbook.record.scenario import RecordedContestant

__all__ = ["open_loop_table"]

_COLUMNS = (
    "contestant",
    "offered",
    "done",
    "of what was offered",
    "p50 from when due",
    "p99 from when due",
    "closed loop: done",
    "p50 service time",
    "p99 service time",
)
_PERCENTILES = (50.0, 99.0)
_NOT_THE_SAME = ({"loop"}, {"loop", "in flight", "window"})
"""The dimensions in which a closed loop may differ from the open one beside it, the nearest first."""


def open_loop_table(found: Findings, contestants: Sequence[Named]) -> Html:
    """The rate that was offered and done, and the response times from the moment due: medians over valid trials.

    Beside each stands the same contestant in a closed loop, where the run has it: what it does when every request
    waits for the one before, and the service time that is then told as latency. Closed loops among
    ``contestants`` have no rate that is offered, and are left out.
    """
    rows: list[list[str | Html]] = []
    for one in found.contestants(contestants):
        if one.settings.rate_per_s is None:
            continue
        closed = _closed_loop_of(found, one)
        rows += [
            [
                f"{one.name}, {found.at(treatment)}",
                *_open(found, one, treatment),
                *_closed(found, closed, treatment),
            ]
            for treatment in found.treatments_of(one.name)
        ]
    return values_table(_COLUMNS, rows)


def _open(found: Findings, one: RecordedContestant, treatment: float) -> list[str]:
    offered = one.settings.rate_per_s or 0.0
    done = found.goodput(one.name, treatment)
    if done is None:
        return [f"{offered:,.0f}/s", NO_VALID_TRIAL, "–", "–", "–"]
    times = _response_times_ms(found, one.name, treatment)
    return [
        f"{offered:,.0f}/s",
        f"{done.as_count()}/s",
        f"{done.estimate / offered:.1%}" if offered else "–",
        *(f"{statistics.median(of_all):,.1f} ms" if of_all else "–" for of_all in times),
    ]


def _response_times_ms(found: Findings, contestant: str, treatment: float) -> list[list[float]]:
    """For each percentile the response time of every valid trial, from the moment at which it was due."""
    trials = [row["trial"] for row in found.rows(contestant, treatment) if row["valid"]]
    stored = found.run.histograms.filter(found.run.histograms["trial"].is_in(trials))
    histograms = [
        decode_histogram(encoded) for encoded in stored["response_time_histogram"].drop_nulls().to_list()
    ]
    return [[one.get_value_at_percentile(p) / 1e6 for one in histograms] for p in _PERCENTILES]


def _closed(found: Findings, one: RecordedContestant | None, treatment: float) -> list[str]:
    done = found.goodput(one.name, treatment) if one else None
    if one is None or done is None:
        return [NO_VALID_TRIAL if one else "not in this run", "–", "–"]
    times = [found.trial_values(one.name, treatment, f"p{p:g}") for p in _PERCENTILES]
    return [
        f"{done.as_count()}/s",
        *(f"{statistics.median(of_all):,.1f} ms" if of_all else "–" for of_all in times),
    ]


def _closed_loop_of(found: Findings, one: RecordedContestant) -> RecordedContestant | None:
    """The contestant of the run that differs from this one in its loop alone, or hardly more."""
    for may_differ in _NOT_THE_SAME:
        for other in found.scenario.contestants:
            if other.loop == "closed" and one.differs_in(other) <= may_differ:
                return other
    return None
