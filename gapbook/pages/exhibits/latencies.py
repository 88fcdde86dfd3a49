"""Latency by percentile."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence

from gapbook import charts
from gapbook.method.cells import Named
from gapbook.method.findings import Findings
from gapbook.method.interval import FEWEST_TOLD
from gapbook.pages.provenance import provenance

__all__ = ["latency_chart"]


def latency_chart(found: Findings, treatment: float, contestants: Sequence[Named] = ()) -> charts.Figure:
    """Latency at percentiles of these contestants (all, when none is named), each trial a line."""
    title = f"Latency by percentile at {found.at(treatment)}"
    series, medians = [], []
    for contestant in found.contestants(contestants or found.scenario.contestants):
        trials = [
            charts.LatencyTrial(
                tuple(point["percentile"] for point in points),
                tuple(point["latency_ms"] for point in points),
                tuple(point["operations_above"] for point in points),
            )
            for row in found.valid_rows(contestant.name, treatment)
            for points in [json.loads(row["latency_ms"])]
        ]
        if trials:
            middles = [dict(zip(one.percentiles, one.latency_ms, strict=True)) for one in trials]
            if len(trials) >= FEWEST_TOLD or not found.run.published:
                medians.append(
                    (
                        statistics.median(middle[50.0] for middle in middles),
                        contestant.system_label,
                        contestant.detail,
                    )
                )
            series.append(
                charts.LatencySeries(
                    contestant.colour, contestant.system_label, contestant.detail, tuple(trials)
                )
            )
    if not any(max(trial.counts_above) >= 100 for one in series for trial in one.trials):
        return charts.missing(
            f"{title}: not known from this run",
            "No trial has enough operations for a percentile.",
            provenance=provenance(found),
        )
    if len(medians) > 1:
        (least, quick, quick_detail), (most, slow, slow_detail) = min(medians), max(medians)
        if quick == slow:  # one system, called in two ways
            quick, slow = f"{quick}, {quick_detail}", f"{slow}, {slow_detail}"
        title += f": median {least:,.1f} ms ({quick}) to {most:,.1f} ms ({slow})"
    return charts.latency(
        series,
        provenance=provenance(found),
        title=title,
        subtitle="Service time of requests acknowledged in the window; closed loop.",
    )
