"""Goodput and latency over a treatment, one plot above the other: what a closed loop does with more users."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from gapbook import charts
from gapbook.claims.closed_loop import Row
from gapbook.method.cells import Named
from gapbook.method.findings import Findings
from gapbook.method.interval import Interval, format_count
from gapbook.pages.provenance import provenance
from gapbook.record.durability import Durability
from gapbook.record.metric import GOODPUT, Metric
from gapbook.record.scenario import RecordedContestant

__all__ = ["users_chart"]

_MEAN = "mean-latency"


def users_chart(
    found: Findings,
    contestants: Sequence[Named],
    *,
    published: Mapping[str, Sequence[Row]] | None = None,
    latency: str = _MEAN,
    labels: Mapping[str, str] | None = None,
    title: str = "",
) -> charts.Figure:
    """Verified goodput and a latency of each contestant at every value of the treatment.

    ``published`` are rows of somebody else by the name of their system: their rates, and their latencies where
    ``latency`` is the mean, which is what they are. ``labels`` are what lines are called by the names of their
    contestants; one without has its name. ``title`` says what was found, in the author's words.
    """
    shown = found.contestants(contestants)
    rows = published or {}
    metrics = (GOODPUT, found.metric(latency))
    measured = {metric.name: _lines(found, shown, metric, labels or {}) for metric in metrics}
    title = title or _title(found, shown)
    if not all(measured.values()):
        return charts.missing(title, "No contestant has a valid trial.", provenance=provenance(found))
    series = {metric.name: [*measured[metric.name], *_published(rows, metric)] for metric in metrics}
    treatment = found.scenario.treatment
    promises = dict.fromkeys(Durability.parse(one.durability).words for one in shown)
    places = {point.x for of_metric in series.values() for line in of_metric for point in line.points}
    return charts.line_panels(
        [charts.Panel(metric, tuple(series[metric.name])) for metric in metrics],
        x_label=treatment.words or treatment.label,
        x_ticks=sorted(places),
        x_log=True,
        provenance=provenance(found),
        title=title,
        subtitle=f"{' or '.join(promises).capitalize()}. What has no valid trial is not drawn.",
    )


def _lines(
    found: Findings,
    contestants: Sequence[RecordedContestant],
    metric: Metric,
    labels: Mapping[str, str],
) -> list[charts.Line]:
    """A line for each contestant of which a value is known."""
    lines = []
    for one in contestants:
        points = [
            charts.LinePoint(treatment, value, tuple(found.values(one.name, treatment, metric.name).values()))
            for treatment in found.treatments
            if (value := found.estimate(one.name, treatment, metric.name)) is not None
        ]
        if points:
            lines.append(charts.Line(one.colour, labels.get(one.name, one.name), tuple(points)))
    return lines


def _published(rows: Mapping[str, Sequence[Row]], metric: Metric) -> list[charts.Line]:
    """What the rows print of a metric; nothing of a latency that is not their mean."""
    if metric.name not in {GOODPUT.name, _MEAN}:
        return []
    return [
        charts.Line(
            system,
            f"{system}, published",
            tuple(
                charts.LinePoint(row.users, _alone(row.rate_per_s if metric is GOODPUT else row.latency_ms))
                for row in of_system
            ),
            is_published=True,
        )
        for system, of_system in rows.items()
    ]


def _alone(value: float) -> Interval:
    """A printed number: nobody knows how far it may be off."""
    return Interval(value, math.nan, math.nan, 1)


def _title(found: Findings, contestants: Sequence[RecordedContestant]) -> str:
    """Who does most and who least at the last value of the treatment that any has; a simulated server is nobody."""
    real = [one for one in contestants if not one.simulated]
    for treatment in reversed(found.treatments):
        rates = [(rate, one) for one in real if (rate := found.goodput(one.name, treatment))]
        if rates:
            most, least = (pick(rates, key=lambda pair: pair[0].estimate) for pick in (max, min))
            told = [f"{one.name} does {format_count(rate.estimate)}/s" for rate, one in (most, least)]
            return f"At {found.at(treatment)}, {' and '.join(dict.fromkeys(told))}"
    return "No contestant of a real system has a valid trial in this run"
