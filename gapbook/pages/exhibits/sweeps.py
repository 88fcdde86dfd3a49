"""Sweeps: goodput over something that is turned, distance or depth for example."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TypedDict

from gapbook import charts
from gapbook.markup import Html, values_table
from gapbook.method.cells import Named
from gapbook.method.findings import Findings
from gapbook.pages.provenance import provenance
from gapbook.pages.words import NO_VALID_TRIAL, listed, operations_of
from gapbook.record.metric import GOODPUT, Metric
from gapbook.record.printed import in_flight_in_words
from gapbook.record.scenario import RecordedContestant

__all__ = ["best_table", "depth_chart", "line_axis", "line_point", "lines_chart"]


class _LineAxis(TypedDict):
    metric: Metric
    y_label: str


def lines_chart(
    found: Findings,
    ways: Mapping[str, Sequence[tuple[float, str]]],
    *,
    x_label: str,
    title: str,
    treatment: float,
    log_x: bool = False,
    metric: str = GOODPUT.name,
) -> charts.Figure:
    """A metric of each way at the places where it was measured: pairs of place and contestant.

    Places stand at equal steps when one of them is zero on a logarithmic axis.
    """
    series, promises = [], dict[str, dict[str, None]]()
    for label, places in ways.items():
        points = [
            point
            for x, name in places
            if (point := line_point(found, x, name, treatment, metric)) is not None
        ]
        known = [c for c in found.scenario.contestants if c.name in {name for _, name in places}]
        if points and known:
            series.append(charts.Line(known[0].colour, label, tuple(points)))
            for one in known:
                promises.setdefault(one.durability, {})[label] = None
    if not series:
        return charts.missing(
            title, "No place of any way has a valid trial in this run.", provenance=provenance(found)
        )
    return charts.lines(
        series,
        x_label=x_label,
        x_ticks=sorted({point.x for line in series for point in line.points}),
        x_log=log_x,
        provenance=provenance(found),
        title=title,
        subtitle=f"{found.at(treatment)}.{_promised(found, promises)} What has no valid trial is not drawn.",
        **line_axis(found, metric),
    )


def _promised(found: Findings, promises: Mapping[str, Collection[str]]) -> str:
    """The durability class of all lines, or of which lines each is; nothing where nothing is stored."""
    if not found.scenario.workload.stores:
        return ""
    told = [level if len(promises) == 1 else f"{listed(list(of))} {level}" for level, of in promises.items()]
    return f" Durability: {'; '.join(told)}."


def line_axis(found: Findings, metric: str) -> _LineAxis:
    """What a chart of lines must know of its metric; the goodput of transfers is counted in transfers."""
    measured = found.metric(metric)
    counted = f"{measured.words}, {operations_of(found.scenario.workload)}/s (log scale)"
    return {"metric": measured, "y_label": counted if measured is GOODPUT else ""}


def line_point(
    found: Findings, x: float, contestant: str, treatment: float, metric: str = GOODPUT.name
) -> charts.LinePoint | None:
    """A metric of a contestant as a point of a line at ``x``; None without a valid trial."""
    values = found.values(contestant, treatment, metric)
    value = found.estimate(contestant, treatment, metric)
    return None if value is None else charts.LinePoint(x, value, tuple(values.values()))


def depth_chart(
    found: Findings, *named: Sequence[Named], metric: str = GOODPUT.name, title: str = ""
) -> charts.Figure:
    """A metric over the requests in flight: each group is one system at several depths; ``title`` says what was found,
    in the author's words."""
    treatment, groups = found.treatments[0], [found.contestants(group) for group in named]
    measured = [_best(found, group, treatment, metric) for group in groups]
    told = [[one for one in group if _tells(found, one, treatment, metric)] for group in groups]
    best = [_best(found, group, treatment, metric) for group in told]
    parts = [
        f"{one.system_label} with {in_flight_in_words(str(one.in_flight))}" for one in best if one is not None
    ]
    return lines_chart(
        found,
        {group[0].system_label: [(c.in_flight, c.name) for c in group] for group in groups},
        x_label="requests in flight on each connection",
        title=title or f"{_best_of(found.metric(metric))}: {', '.join(parts)}"
        if parts
        else f"No number in flight has {'an interval narrow enough to say something' if any(measured) else 'a valid trial in this run'}",
        treatment=treatment,
        log_x=True,
        metric=metric,
    )


def best_table(found: Findings, *pair: Sequence[Named], metric: str = GOODPUT.name) -> Html:
    """The ratio of two systems, each at the depth at which a metric of its own was best."""
    over, under = (found.contestants(group) for group in pair)
    rows: list[list[str | Html]] = []
    for treatment in found.treatments:
        best = [_best(found, group, treatment, metric) for group in (over, under)]
        if best[0] is None or best[1] is None:
            rows.append([f"{treatment:g}", NO_VALID_TRIAL, NO_VALID_TRIAL, "–"])
            continue
        ratio = found.ratio(best[0].name, best[1].name, treatment, metric)
        described = [
            f"{in_flight_in_words(str(c.in_flight))}: {value.as_count()}{found.metric(metric).unit}"
            for c in best
            if c is not None and (value := found.estimate(c.name, treatment, metric)) is not None
        ]
        rows.append([f"{treatment:g}", *described, ratio.as_factor() if ratio else "no block holds both"])
    return values_table(
        (
            found.scenario.treatment.label,
            over[0].system_label,
            under[0].system_label,
            "ratio, each at its best",
        ),
        rows,
    )


def _tells(found: Findings, contestant: RecordedContestant, treatment: float, metric: str) -> bool:
    value = found.estimate(contestant.name, treatment, metric)
    return value is not None and found.stands_alone(value, treatment, contestant)


def _best(
    found: Findings, group: Sequence[RecordedContestant], treatment: float, metric: str
) -> RecordedContestant | None:
    measured = [(found.estimate(one.name, treatment, metric), one) for one in group]
    known = [(value.estimate, one) for value, one in measured if value is not None]
    pick = max if found.metric(metric).better == "higher" else min
    return pick(known, key=lambda pair: pair[0])[1] if known else None


def _best_of(metric: Metric) -> str:
    return f"{'Highest' if metric.better == 'higher' else 'Lowest'} {metric.label}"
