"""The panels of a chart of contestants, wide or for a phone: a row for each contestant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gapbook.charts._canvas import Canvas, Plane
from gapbook.charts._contestant_cells import Contestant, Row, cells_of, interval_text, ours_text
from gapbook.charts._frame import draw_axis, sizes_of, value_ticks
from gapbook.charts._marks import draw_dots, draw_estimate, draw_interval, draw_published, draw_refused
from gapbook.charts._text import measure, wrap
from gapbook.method.interval import format_count
from gapbook.record.metric import Metric

__all__ = ["Columns", "columns_of", "draw_panels"]

_LINE = 13.0


@dataclass(frozen=True)
class Columns:
    """Where the columns of the wide layout lie: right edges of text, and the plot between them."""

    label_width: float
    plot: tuple[float, float]
    ours: float
    interval: float
    published: float


def columns_of(canvas: Canvas, rows: Sequence[Contestant]) -> Columns:
    """Columns as wide as their texts, and the plot in what is left."""
    sizes = sizes_of(canvas)
    width = float(canvas.width)
    if canvas.is_phone:
        return Columns(width - 12, (10, width - 10), width - 6, width - 6, width - 6)
    cells = cells_of(rows)
    has_published = any(cell.published for cell in cells)
    interval_width = max(measure(interval_text(cell), sizes.tick) for cell in cells)
    published_width = measure("published", sizes.tick) + 12 if has_published else 0.0
    interval = width - 2 - published_width
    ours = interval - max(interval_width, measure("95 % CI", sizes.tick)) - 7
    ours_width = max(measure(ours_text(cell), sizes.label, bold=True) for cell in cells)
    natural = max(measure(row.detail, sizes.footer) for row in rows)
    label_width = min(max(natural, 130.0), 190.0)
    return Columns(label_width, (label_width + 16, ours - ours_width - 18), ours, interval, width - 2)


def _halo(canvas: Canvas) -> str:
    """On the phone text stands over the grid."""
    return "bg" if canvas.is_phone else ""


def draw_panels(
    canvas: Canvas, panels: list[tuple[str, list[Row]]], columns: Columns, metric: Metric
) -> None:
    """A panel for each facet, from the cursor down, and one axis beneath them."""
    top = 0.0
    for index, (facet, rows) in enumerate(panels):
        if index:
            canvas.y += 8
        _draw_panel_head(canvas, facet, columns, f"ours, {metric.unit.strip()}")
        top = top or canvas.y
        for number, row in enumerate(rows):
            if number:
                canvas.line((0, canvas.y), (canvas.width, canvas.y), token="grid", plane=Plane.GRID)
            (_draw_phone_row if canvas.is_phone else _draw_wide_row)(canvas, row, columns)
        if index < len(panels) - 1:
            canvas.y += 4
    draw_axis(canvas, top, value_ticks(canvas), metric.axis)


def _draw_panel_head(canvas: Canvas, facet: str, columns: Columns, ours: str) -> None:
    sizes = sizes_of(canvas)
    if canvas.is_phone and not facet:
        return
    baseline = canvas.y + 14
    room = canvas.width - 12 if canvas.is_phone else columns.ours - measure(ours, sizes.tick) - 18
    lines = wrap(facet, sizes.label, room, bold=True)
    height = 20 + 15 * max(0, len(lines) - 1)
    canvas.rect((0, canvas.y, canvas.width, canvas.y + height), token="panel", plane=Plane.PANEL)
    for index, line in enumerate(lines):
        canvas.text(6, baseline + 15 * index, line, size=sizes.label, bold=True)
    if not canvas.is_phone:
        canvas.text(columns.ours, baseline, ours, size=sizes.tick, token="muted", align="right")
        canvas.text(columns.ours + 7, baseline, "95 % CI", size=sizes.tick, token="muted")
        if columns.published > columns.interval:
            canvas.text(
                columns.published, baseline, "published", size=sizes.tick, token="muted", align="right"
            )
    canvas.y += height


def _draw_wide_row(canvas: Canvas, row: Row, columns: Columns) -> None:
    sizes = sizes_of(canvas)
    top = canvas.y
    label_end, end = top + 14, 4.0
    for line in wrap(row.label, sizes.label, columns.label_width, bold=True):
        end = canvas.text(4, label_end, line, size=sizes.label, token=row.token, bold=True)
        label_end += _LINE
    flags = list(row.cell.flags)
    while flags and end + 8 + measure(flags[0], sizes.footer) <= columns.label_width + 4:
        end = canvas.text(end + 8, label_end - _LINE, flags.pop(0), size=sizes.footer, token="conditions")
    text_end = _draw_detail(canvas, row, flags, 4, label_end, columns.label_width)
    if row.cell.published:
        baseline = top + 20
        published = format_count(row.cell.published)
        canvas.text(columns.published, baseline, published, size=sizes.tick, align="right")
    elif columns.published > columns.interval:
        canvas.text(columns.published, top + 20, "–", size=sizes.tick, token="muted", align="right")
    if row.cell.value:
        _draw_numbers(canvas, row, top + 20, columns.ours, columns.interval)
        _draw_marks(canvas, row, top + 12)
        marks_end = top + 28
    else:
        marks_end = _draw_missing(canvas, row, top + 14, columns.plot[0], columns.interval)
    canvas.y = max(text_end, marks_end) + 5


def _draw_phone_row(canvas: Canvas, row: Row, columns: Columns) -> None:
    sizes = sizes_of(canvas)
    top = canvas.y
    room = columns.label_width
    if row.cell.value:
        room = _draw_numbers(canvas, row, top + 15, None, columns.interval) - 14
    baseline = top + 15
    for index, line in enumerate(wrap(row.label, sizes.label, room, bold=True)):
        baseline = top + 15 + index * _LINE
        canvas.text(6, baseline, line, size=sizes.label, token=row.token, bold=True, halo="bg")
    text_end = _draw_detail(canvas, row, row.cell.flags, 6, baseline + _LINE, columns.label_width)
    if row.cell.value:
        _draw_marks(canvas, row, text_end + 11)
        canvas.y = text_end + 31
    else:
        canvas.y = _draw_missing(canvas, row, text_end + _LINE, 6, columns.interval) + 5


def _draw_detail(
    canvas: Canvas, row: Row, flags: Sequence[str], x: float, baseline: float, width: float
) -> float:
    """The detail, wrapped, with the flags behind it or on a line of their own; returns the lower end."""
    size = sizes_of(canvas).footer
    end = x
    lines = wrap(row.detail, size, width)
    for index, line in enumerate(lines):
        y = baseline + index * _LINE
        end = canvas.text(x, y, line, size=size, token="muted", halo=_halo(canvas))
    last = baseline + (len(lines) - 1) * _LINE
    for flag in flags:
        if lines and end + 6 + measure(flag, size) <= x + width:
            end = canvas.text(end + 6, last, flag, size=size, token="conditions", halo=_halo(canvas))
            continue
        for line in wrap(flag, size, width):
            last += _LINE
            end = canvas.text(x, last, line, size=size, token="conditions", halo=_halo(canvas))
    return last + 3


def _draw_numbers(canvas: Canvas, row: Row, baseline: float, ours: float | None, right: float) -> float:
    """Estimate and interval; the estimate ends at ``ours``, or else close to the interval. Returns the left end."""
    sizes = sizes_of(canvas)
    bounds = interval_text(row.cell)
    halo = _halo(canvas)
    if ours is None:
        canvas.text(right, baseline, bounds, size=sizes.tick, token="muted", align="right", halo=halo)
        ours = right - measure(bounds, sizes.tick) - 7
    else:
        canvas.text(ours + 7, baseline, bounds, size=sizes.tick, token="muted")
    text = ours_text(row.cell)
    canvas.text(ours, baseline, text, size=sizes.label, token=row.token, bold=True, align="right", halo=halo)
    return ours - measure(text, sizes.label, bold=True)


def _draw_marks(canvas: Canvas, row: Row, y: float) -> None:
    ours = row.cell.value
    if row.cell.published:
        draw_published(canvas, row.cell.published, ours.estimate if ours else None, y)
    if ours:
        draw_estimate(canvas, ours.estimate, y, row.token)
        if ours.bounded:
            draw_interval(canvas, ours.low, ours.high, y, row.token)
    lane = y + 11
    trials = row.cell.trials
    draw_dots(canvas, [trial.value for trial in trials if trial.is_valid], lane, row.token)
    refused = [trial.value for trial in trials if not trial.is_valid and trial.value > 0]
    draw_refused(canvas, refused, lane, row.token)


def _draw_missing(canvas: Canvas, row: Row, baseline: float, left: float, right: float) -> float:
    """The reason instead of a number, and beneath it whatever was tried; returns the lower end."""
    size = sizes_of(canvas).tick
    last = baseline
    for index, line in enumerate(wrap(f"no valid trial: {row.cell.missing}", size, right - left)):
        last = baseline + index * _LINE
        canvas.text(left, last, line, size=size, token="unmeasurable", halo="bg")
    if not row.cell.trials and not row.cell.published:
        return last + 3
    _draw_marks(canvas, row, last + (12 if row.cell.published else 0))
    return last + (30 if row.cell.published else 18)
