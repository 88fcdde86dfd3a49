"""Rates of contestants, how often operations were sent again, and how long servers worked on."""

from __future__ import annotations

import statistics
from collections.abc import Mapping

from gapbook.markup import Html, values_table
from gapbook.method.findings import Findings
from gapbook.method.interval import format_count
from gapbook.pages import page
from gapbook.pages.words import operation_of, rate_cell

__all__ = ["catch_up_table", "goodput_table", "retries_table"]


def goodput_table(found: Findings, *contestants: str, labels: Mapping[str, str] | None = None) -> Html:
    """Goodput of contestants at each value of the treatment, and what ended in the window, both as geometric means
    over trials, with median and tail of their latency.

    ``labels`` are what rows are called by the names of their contestants; without one a row has the name.
    """
    called = labels or {}
    rows: list[list[str | Html]] = []
    for name in contestants:
        for treatment in found.treatments_of(name):
            goodput = found.goodput(name, treatment)
            waits = [found.trial_values(name, treatment, percentile) for percentile in ("p50", "p99")]
            ended = [
                row["completed_in_window"] / (row["window_s"] or found.scenario.window_s)
                for row in found.valid_rows(name, treatment)
            ]
            rows.append(
                [
                    f"{called.get(name, name)}, {found.at(treatment)}",
                    rate_cell(goodput),
                    f"{format_count(statistics.geometric_mean(ended))}/s"
                    if ended and min(ended) > 0
                    else "–",
                    *(f"{statistics.median(wait):,.1f} ms" if wait else "–" for wait in waits),
                ]
            )
    return values_table(
        ("contestant", "goodput", "ended in the window", "median latency", "p99 latency"), rows
    )


def retries_table(found: Findings) -> Html:
    """How often operations were refused for a collision and sent again, where any were."""
    operation = operation_of(found.scenario.workload)
    rows: list[list[str | Html]] = []
    for contestant in found.scenario.contestants:
        for treatment in found.treatments:
            seen = found.valid_rows(contestant.name, treatment)
            again = sum(row["retried"] for row in seen)
            if again:
                for_each = again / sum(row["acknowledged"] for row in seen)
                rows.append([contestant.name, f"{treatment:g}", f"{again:,}", f"{for_each:.3f}"])
    if not rows:
        return page.banner("note", f"No {operation} of this run had to be sent again.")
    return values_table(
        ("contestant", found.scenario.treatment.label, "sent again", f"for each {operation}"),
        rows,
        caption="Counted over the whole load, with what was answered after the window had ended.",
    )


def catch_up_table(found: Findings) -> Html:
    """How long each server worked on after the client had ended, over all valid trials."""
    rows: list[list[str | Html]] = []
    for contestant in found.scenario.contestants:
        seen = [row for a in found.treatments for row in found.valid_rows(contestant.name, a)]
        if seen:
            seconds, cpu_s = [row["catch_up_s"] for row in seen], [row["catch_up_cpu_s"] for row in seen]
            rows.append(
                [
                    contestant.full_label,
                    f"{min(seconds):.1f} to {max(seconds):.1f} s",
                    f"{min(cpu_s):.1f} to {max(cpu_s):.1f} s",
                ]
            )
    return values_table(("contestant", "until idle", "processor time until then"), rows)
