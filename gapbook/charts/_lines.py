"""Lines: a metric over something that is turned (contention, distance, depth, users), one line a way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gapbook.charts._canvas import Canvas
from gapbook.charts._figure import Figure, Table, build
from gapbook.charts._frame import KeyItem, Provenance, draw_footer, draw_header
from gapbook.charts._marks import key_dots, key_interval, key_published
from gapbook.charts._plot import (
    Across,
    Line,
    LinePoint,
    Styled,
    draw_plot,
    key_names,
    names_width,
    styled,
)
from gapbook.charts._upright import LABEL_STEP
from gapbook.record.metric import GOODPUT, Metric

__all__ = ["Line", "LinePoint", "Panel", "line_panels", "lines"]

_PANEL_HEIGHT = 220.0


@dataclass(frozen=True)
class Panel:
    """One metric of several ways, in a plot of its own."""

    metric: Metric
    series: tuple[Line, ...]


def lines(
    series: Sequence[Line],
    *,
    x_label: str,
    x_ticks: Sequence[float],
    x_log: bool,
    provenance: Provenance,
    title: str,
    subtitle: str,
    metric: Metric = GOODPUT,
    y_label: str = "",
    x_names: Mapping[float, str] | None = None,
) -> Figure:
    """Lines through estimates with their intervals, over a logarithmic scale.

    ``x_ticks`` are the measured places, ``x_names`` what they are called where that is no number; ``y_label`` is
    that of the metric unless it is given. Raises ValueError when there is no point to draw.
    """
    drawn = _with_points(series)
    entries, across = styled(drawn), Across(x_label, x_ticks, x_log, x_names or {})

    def draw(canvas: Canvas) -> None:
        draw_header(canvas, title, subtitle, _key(canvas, entries))
        width = names_width(canvas, entries)
        draw_plot(canvas, entries, y_label or metric.axis, across, labels_width=width)
        draw_footer(canvas, provenance)

    return build(
        "lines",
        title,
        _description(title, drawn, across, metric),
        _table(drawn, across, metric),
        draw,
    )


def line_panels(
    panels: Sequence[Panel],
    *,
    x_label: str,
    x_ticks: Sequence[float],
    x_log: bool,
    provenance: Provenance,
    title: str,
    subtitle: str,
) -> Figure:
    """Several metrics over the same places, one plot above the other so that a place is read in all of them.

    A way has the same colour and dashes in each. Raises ValueError when a panel has no point to draw.
    """
    drawn = [(panel.metric, _with_points(panel.series)) for panel in panels]
    named = {line.label: line for _, of_panel in drawn for line in of_panel}
    looks = {entry.line.label: entry for entry in styled(list(named.values()))}
    across = Across(x_label, x_ticks, x_log)
    height = max(_PANEL_HEIGHT, LABEL_STEP * len(named))

    def draw(canvas: Canvas) -> None:
        draw_header(canvas, title, subtitle, _key(canvas, list(looks.values())))
        width = names_width(canvas, list(looks.values()))
        for metric, of_panel in drawn:
            entries = [Styled(line, looks[line.label].token, looks[line.label].dash) for line in of_panel]
            draw_plot(canvas, entries, metric.axis, across, labels_width=width, height=height)
            canvas.y += 14
        draw_footer(canvas, provenance)

    told = [
        (_table(of_panel, across, metric), _description(title, of_panel, across, metric))
        for metric, of_panel in drawn
    ]
    rows = tuple(
        (row[0], row[1], metric.label, f"{row[2]}{metric.unit}", row[3])
        for (metric, _), (table, _) in zip(drawn, told, strict=True)
        for row in table.rows
    )
    return build(
        "panels",
        title,
        " ".join(description for _, description in told),
        Table(("line", x_label, "metric", "value", "n"), rows),
        draw,
    )


def _with_points(series: Sequence[Line]) -> list[Line]:
    drawn = [line for line in series if line.points]
    if not drawn:
        raise ValueError("a chart of lines needs at least one point")
    return drawn


def _key(canvas: Canvas, entries: Sequence[Styled]) -> list[KeyItem]:
    """What each mark means; the names of the lines too where they do not stand at their ends."""
    measured = any(not entry.line.is_published for entry in entries)
    marks = [key_interval("ink"), key_dots("ink", "one trial")] if measured else []
    if any(entry.line.is_published for entry in entries):
        marks.append(key_published())
    return [*key_names(entries), *marks] if canvas.is_phone else marks


def _table(drawn: Sequence[Line], across: Across, metric: Metric) -> Table:
    rows = tuple(
        (
            line.label,
            across.named(point.x),
            _value(line, point),
            _behind(line, point),
        )
        for line in drawn
        for point in sorted(line.points, key=lambda p: p.x)
    )
    return Table(("line", across.label, f"{metric.label}{metric.unit}", "n"), rows)


def _value(line: Line, point: LinePoint) -> str:
    """Ours to the digits that it has, what was published to those that were printed."""
    return f"{point.value.estimate:,.7g}" if line.is_published else point.value.as_count()


def _behind(line: Line, point: LinePoint) -> str:
    """What stands behind a point: how many blocks, or that it is not measured."""
    return "computed" if line.is_ceiling else "published" if line.is_published else str(point.value.n)


def _description(title: str, drawn: Sequence[Line], across: Across, metric: Metric) -> str:
    clauses = []
    for line in drawn:
        points = sorted(line.points, key=lambda point: point.x)
        first, last = points[0], points[-1]
        clauses.append(
            f"{line.label} {_value(line, first)} at {across.named(first.x)}, "
            f"{_value(line, last)} at {across.named(last.x)}"
        )
    return f"Lines over {across.label}, {metric.label} on a log scale. {title}. {'; '.join(clauses)}."
