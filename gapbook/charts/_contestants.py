"""Contestants: how fast each system is with each client and module, one panel for each facet."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from gapbook.charts._canvas import Canvas, Plane
from gapbook.charts._figure import Figure, Table, build
from gapbook.charts._frame import (
    KeyItem,
    Provenance,
    draw_axis,
    draw_footer,
    draw_header,
    sizes_of,
    value_ticks,
)
from gapbook.charts._marks import (
    draw_dots,
    draw_estimate,
    draw_interval,
    draw_published,
    draw_refused,
    key_dots,
    key_estimate,
    key_interval,
    key_published,
    key_refused,
)
from gapbook.charts._scale import LogScale, log_domain, short_estimate
from gapbook.charts._text import measure, wrap
from gapbook.charts._tokens import system_token
from gapbook.method.interval import Interval, format_count
from gapbook.record.metric import GOODPUT, Metric

__all__ = ["Cell", "Contestant", "Trial", "contestants"]

_LINE = 13.0


@dataclass(frozen=True)
class Trial:
    """One trial; ``refusal`` says why it is not counted, empty for a valid one."""

    value: float
    refusal: str = ""

    @property
    def is_valid(self) -> bool:
        return not self.refusal


@dataclass(frozen=True)
class Cell:
    """One contestant in one facet. Without an estimate, ``missing`` says why there is none."""

    value: Interval | None
    trials: tuple[Trial, ...] = ()
    published: float | None = None
    flags: tuple[str, ...] = ()
    missing: str = ""

    def __post_init__(self) -> None:
        if (self.value is None) != bool(self.missing):
            raise ValueError("a cell has either an estimate or the reason why it has none")


@dataclass(frozen=True)
class Contestant:
    """A system with one module, client and settings; ``cells`` in the order of the facets."""

    system: str
    label: str
    detail: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class _Row:
    token: str
    label: str
    detail: str
    cell: Cell


@dataclass(frozen=True)
class _Columns:
    """Where the columns of the wide layout lie: right edges of text, and the plot between them."""

    label_width: float
    plot: tuple[float, float]
    ours: float
    interval: float
    published: float


def contestants(
    rows: Sequence[Contestant],
    *,
    facets: Sequence[str],
    provenance: Provenance,
    title: str,
    subtitle: str,
    metric: Metric = GOODPUT,
) -> Figure:
    """Sorted rows in one panel per facet, over one shared logarithmic axis.

    ``facets`` are the panel titles; a single empty one leaves the title out.
    """
    for row in rows:
        if len(row.cells) != len(facets):
            raise ValueError(f"{row.label}, {row.detail}: {len(row.cells)} cells for {len(facets)} facets")
    panels = [_panel(rows, index, metric) for index in range(len(facets))]
    if not rows or not facets:
        raise ValueError("a chart of contestants needs at least one contestant and one facet")

    def draw(canvas: Canvas) -> None:
        draw_header(canvas, title, subtitle, _key(rows))
        columns = _columns(canvas, rows)
        low, high = log_domain(_all_values(rows))
        canvas.x_scale = LogScale(low, high, *columns.plot)
        _draw_panels(canvas, list(zip(facets, panels, strict=True)), columns, metric)
        draw_footer(canvas, provenance)

    return build(
        "contestants",
        title,
        _describe(facets, panels, provenance, metric),
        _table(facets, panels, metric),
        draw,
    )


def _panel(rows: Sequence[Contestant], facet: int, metric: Metric) -> list[_Row]:
    """Rows of one facet, best first, those without an estimate last."""
    panel = [_Row(system_token(row.system), row.label, row.detail, row.cells[facet]) for row in rows]
    sign = -1 if metric.better == "higher" else 1
    return sorted(panel, key=lambda row: sign * row.cell.value.estimate if row.cell.value else math.inf)


def _cells(rows: Sequence[Contestant]) -> list[Cell]:
    return [cell for row in rows for cell in row.cells]


def _all_values(rows: Sequence[Contestant]) -> list[float]:
    values: list[float] = []
    for cell in _cells(rows):
        values += [trial.value for trial in cell.trials]
        if cell.value:
            values += [cell.value.estimate, cell.value.low, cell.value.high]
        if cell.published:
            values.append(cell.published)
    return values


def _key(rows: Sequence[Contestant]) -> list[KeyItem]:
    cells = _cells(rows)
    token = system_token(rows[0].system)
    counts = sorted({cell.value.n for cell in cells if cell.value})
    key = [key_estimate(token)]
    if any(cell.value and cell.value.bounded for cell in cells):
        key.append(key_interval(token))
    if counts:
        span = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]}–{counts[-1]}"
        key.append(key_dots(token, f"one trial, n = {span}"))
    if any(not trial.is_valid for cell in cells for trial in cell.trials):
        key.append(key_refused(token))
    if any(cell.published for cell in cells):
        key.append(key_published())
    return key


def _columns(canvas: Canvas, rows: Sequence[Contestant]) -> _Columns:
    sizes = sizes_of(canvas)
    width = float(canvas.width)
    if canvas.is_phone:
        return _Columns(width - 12, (10, width - 10), width - 6, width - 6, width - 6)
    cells = _cells(rows)
    has_published = any(cell.published for cell in cells)
    interval_width = max(measure(_interval_text(cell), sizes.tick) for cell in cells)
    published_width = measure("published", sizes.tick) + 12 if has_published else 0.0
    interval = width - 2 - published_width
    ours = interval - max(interval_width, measure("95 % CI", sizes.tick)) - 7
    ours_width = max(measure(_ours_text(cell), sizes.label, bold=True) for cell in cells)
    natural = max(measure(row.detail, sizes.footer) for row in rows)
    label_width = min(max(natural, 130.0), 190.0)
    return _Columns(label_width, (label_width + 16, ours - ours_width - 18), ours, interval, width - 2)


def _ours_text(cell: Cell) -> str:
    return format_count(cell.value.estimate) if cell.value else "–"


def _interval_text(cell: Cell) -> str:
    if cell.value is None:
        return ""
    if not cell.value.bounded:
        return f"n = {cell.value.n}"
    return f"[{short_estimate(cell.value.low)}–{short_estimate(cell.value.high)}]"


def _halo(canvas: Canvas) -> str:
    """On the phone text stands over the grid."""
    return "bg" if canvas.is_phone else ""


def _draw_panels(
    canvas: Canvas, panels: list[tuple[str, list[_Row]]], columns: _Columns, metric: Metric
) -> None:
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


def _draw_panel_head(canvas: Canvas, facet: str, columns: _Columns, ours: str) -> None:
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


def _draw_wide_row(canvas: Canvas, row: _Row, columns: _Columns) -> None:
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


def _draw_phone_row(canvas: Canvas, row: _Row, columns: _Columns) -> None:
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
    canvas: Canvas, row: _Row, flags: Sequence[str], x: float, baseline: float, width: float
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


def _draw_numbers(canvas: Canvas, row: _Row, baseline: float, ours: float | None, right: float) -> float:
    """Estimate and interval; the estimate ends at ``ours``, or else close to the interval. Returns the left end."""
    sizes = sizes_of(canvas)
    bounds = _interval_text(row.cell)
    halo = _halo(canvas)
    if ours is None:
        canvas.text(right, baseline, bounds, size=sizes.tick, token="muted", align="right", halo=halo)
        ours = right - measure(bounds, sizes.tick) - 7
    else:
        canvas.text(ours + 7, baseline, bounds, size=sizes.tick, token="muted")
    text = _ours_text(row.cell)
    canvas.text(ours, baseline, text, size=sizes.label, token=row.token, bold=True, align="right", halo=halo)
    return ours - measure(text, sizes.label, bold=True)


def _draw_marks(canvas: Canvas, row: _Row, y: float) -> None:
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


def _draw_missing(canvas: Canvas, row: _Row, baseline: float, left: float, right: float) -> float:
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


def _table(facets: Sequence[str], panels: list[list[_Row]], metric: Metric) -> Table:
    columns = (metric.column, "95 % CI", "n", "published", "trials", "refused", "notes")
    head = ("condition",) if any(facets) else ()
    rows = [
        ((facet,) if head else ()) + _table_row(row, metric)
        for facet, panel in zip(facets, panels, strict=True)
        for row in panel
    ]
    return Table((*head, "system", "contestant", *columns), tuple(rows))


def _table_row(row: _Row, metric: Metric) -> tuple[str, ...]:
    ours = row.cell.value
    bounds = f"[{metric.whole(ours.low)}–{metric.whole(ours.high)}]" if ours and ours.bounded else "–"
    valid = [metric.whole(trial.value) for trial in row.cell.trials if trial.is_valid]
    refused = [
        f"{metric.whole(trial.value)} ({trial.refusal})" for trial in row.cell.trials if not trial.is_valid
    ]
    notes = [*row.cell.flags, *([f"no valid trial: {row.cell.missing}"] if row.cell.missing else [])]
    return (
        row.label,
        row.detail,
        metric.whole(ours.estimate) if ours else "–",
        bounds,
        str(ours.n) if ours else "0",
        metric.whole(row.cell.published) if row.cell.published else "–",
        " · ".join(valid) or "–",
        " · ".join(refused) or "–",
        " · ".join(notes) or "–",
    )


def _describe(facets: Sequence[str], panels: list[list[_Row]], provenance: Provenance, metric: Metric) -> str:
    parts = [f"Dot plot, log scale, {metric.words} in {metric.spoken} with 95 % confidence intervals."]
    for facet, panel in zip(facets, panels, strict=True):
        clauses = [_clause(row) for row in panel]
        parts.append(f"{facet}: {'; '.join(clauses)}." if facet else f"{'; '.join(clauses)}.")
    return " ".join([*parts, provenance.method])


def _clause(row: _Row) -> str:
    name = f"{row.label}, {row.detail}"
    if row.cell.value is None:
        return f"{name}: no valid trial: {row.cell.missing}"
    published = f", published {format_count(row.cell.published)}" if row.cell.published else ""
    flags = f", {', '.join(row.cell.flags)}" if row.cell.flags else ""
    bounds = _interval_text(row.cell).strip("[]")
    return f"{name} {_ours_text(row.cell)} ({bounds}){published}{flags}"
