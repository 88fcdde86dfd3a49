"""Latency by percentile: every trial, and the median across trials, as far out as the data carries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gapbook.charts._canvas import Canvas, Plane
from gapbook.charts._curves import FEWEST_ABOVE, LOWEST, MARKED, Curve, LatencySeries, curves_of
from gapbook.charts._figure import Figure, Table, build
from gapbook.charts._frame import KeyItem, Provenance, draw_axis, draw_footer, draw_header, sizes_of
from gapbook.charts._scale import LogScale, log_domain, log_ticks
from gapbook.charts._text import measure, wrap
from gapbook.method.interval import format_count

__all__ = ["latency"]

_MOST_SERIES = 7
_AXIS = "percentile of transactions, scale 1 ÷ (1 − p)"

_WIDEST_LABEL = 176.0
_LINE = 13.5


@dataclass(frozen=True)
class _Line:
    text: str
    size: float
    token: str
    bold: bool = False


def latency(series: Sequence[LatencySeries], *, provenance: Provenance, title: str, subtitle: str) -> Figure:
    """One colour per system; contestants of the same system differ by dash."""
    if not 1 <= len(series) <= _MOST_SERIES:
        raise ValueError(f"a latency chart takes 1 to {_MOST_SERIES} series, not {len(series)}: split it")
    curves = curves_of(series)
    values = [value for curve in curves for points in curve.trials for _, value in points]
    if not values:
        raise ValueError(f"no percentile has {FEWEST_ABOVE} operations above it: draw ``missing`` instead")

    def draw(canvas: Canvas) -> None:
        draw_header(canvas, title, subtitle, _key(curves))
        blocks = [_block(canvas, curve) for curve in curves]
        label_width = max(measure(line.text, line.size, bold=line.bold) for block in blocks for line in block)
        right = canvas.width - 16.0 if canvas.is_phone else canvas.width - label_width - 41
        top = canvas.y
        height = 230.0 if canvas.is_phone else max(290.0, sum(len(lines) * _LINE + 8 for lines in blocks))
        canvas.y = top + height
        low, high = log_domain(values)
        canvas.y_scale = LogScale(low, high, canvas.y, top)
        canvas.x_scale = LogScale(_tail(LOWEST), _reach(curves), _left(canvas, low, high), right)
        _draw_levels(canvas, low, high)
        for curve in curves:
            _draw_curve(canvas, curve)
        if canvas.is_phone:
            _draw_numbers(canvas, curves, top)
        else:
            _draw_blocks(canvas, curves, blocks, top)
        ticks = [(_tail(p), f"{p:g} %") for p in MARKED if _tail(p) <= canvas.x_scale.high * 1.001]
        draw_axis(canvas, top, ticks, _AXIS)
        if canvas.is_phone:
            _draw_list(canvas, curves)
        draw_footer(canvas, provenance)

    return build("latency", title, _describe(curves, provenance), _table(curves), draw)


def _tail(percentile: float) -> float:
    return 100 / (100 - percentile)


def _reach(curves: Sequence[Curve]) -> float:
    """To the farthest point drawn, or to 99 %."""
    return max(_tail(99.0), *(_tail(points[-1][0]) for curve in curves for points in curve.trials if points))


def _key(curves: Sequence[Curve]) -> list[KeyItem]:
    def draw_median(canvas: Canvas, x: float, y: float) -> None:
        canvas.line((x, y), (x + 16, y), token="ink", plane=Plane.MARK, width=2.4)

    def draw_trials(canvas: Canvas, x: float, y: float) -> None:
        for offset in (-3, 0, 3):
            canvas.line(
                (x, y + offset + 2), (x + 14, y + offset - 2), token="rule", plane=Plane.TRIAL, width=0.8
            )

    counts = sorted({len(curve.series.trials) for curve in curves})
    span = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]}–{counts[-1]}"
    return [
        KeyItem("median across trials", 16, draw_median),
        KeyItem(f"one trial, n = {span}", 14, draw_trials),
    ]


def _level_label(value: float) -> str:
    return f"{value:,g} ms"


def _left(canvas: Canvas, low: float, high: float) -> float:
    ticks = log_ticks(low, high, most=6)
    return max(measure(_level_label(tick), sizes_of(canvas).tick) for tick in ticks) + 8


def _draw_levels(canvas: Canvas, low: float, high: float) -> None:
    x_scale, y_scale = canvas.x_scale, canvas.y_scale
    if x_scale is None or y_scale is None:
        return
    size = sizes_of(canvas).tick
    for tick in log_ticks(low, high, most=6):
        y = y_scale(tick)
        canvas.line((x_scale.start, y), (x_scale.stop, y), token="grid", plane=Plane.GRID)
        canvas.text(x_scale.start - 7, y + 4, _level_label(tick), size=size, token="muted", align="right")


def _draw_curve(canvas: Canvas, curve: Curve) -> None:
    for points in curve.trials:
        xy = [(_tail(p), value) for p, value in points]
        canvas.path(xy, token=curve.token, plane=Plane.TRIAL, space="xy", width=0.8, opacity=0.3)
    xy = [(_tail(p), value) for p, value in curve.median]
    canvas.path(xy, token=curve.token, plane=Plane.MARK, space="xy", width=2.2, dash=curve.dash)
    for percentile in MARKED:
        value = curve.median_at(percentile)
        if value is not None:
            canvas.point(_tail(percentile), value, token="bg", plane=Plane.TOP, space="xy", size=48)
            canvas.point(_tail(percentile), value, token=curve.token, plane=Plane.TOP, space="xy", size=24)


def _end(canvas: Canvas, curve: Curve) -> tuple[float, float] | None:
    """Where the curve stops, in pixels."""
    points = curve.median or max(curve.trials, key=len)
    if not points or canvas.x_scale is None or canvas.y_scale is None:
        return None
    percentile, value = points[-1]
    return canvas.x_scale(_tail(percentile)), canvas.y_scale(value)


def _block(canvas: Canvas, curve: Curve) -> list[_Line]:
    """The direct label: name, detail, farthest percentile."""
    sizes = sizes_of(canvas)
    names = wrap(curve.series.label, sizes.label, _WIDEST_LABEL, bold=True)
    details = wrap(curve.series.detail, sizes.footer, _WIDEST_LABEL)
    return [
        *(_Line(name, sizes.label, curve.token, True) for name in names),
        *(_Line(detail, sizes.footer, "muted") for detail in details),
        _Line(curve.summary, sizes.tick, "ink", True),
    ]


def _apart(middles: Sequence[float], heights: Sequence[float], top: float, bottom: float) -> list[float]:
    """Tops of boxes near their wished middles, in their order, without overlap, between top and bottom."""
    order = sorted(range(len(middles)), key=lambda index: middles[index])
    tops = [0.0] * len(middles)
    floor = top
    for index in order:
        tops[index] = max(floor, middles[index] - heights[index] / 2)
        floor = tops[index] + heights[index]
    ceiling = max(bottom, top + sum(heights))
    for index in reversed(order):
        tops[index] = min(tops[index], ceiling - heights[index])
        ceiling = tops[index]
    return tops


def _draw_blocks(canvas: Canvas, curves: Sequence[Curve], blocks: Sequence[list[_Line]], top: float) -> None:
    """Direct labels at the right, each led to from the end of its curve."""
    ends = [_end(canvas, curve) or (0.0, canvas.y) for curve in curves]
    heights = [len(lines) * _LINE + 8 for lines in blocks]
    tops = _apart([y for _, y in ends], heights, top, canvas.y)
    right = canvas.x_scale.stop if canvas.x_scale else 0.0
    for curve, lines, (end_x, end_y), block_top in zip(curves, blocks, ends, tops, strict=True):
        middle = block_top + 9
        if end_x:
            lead = [(end_x + 5, end_y), (right + 4, end_y), (right + 14, middle)]
            canvas.path(lead, token="rule", plane=Plane.LINK, width=0.8, dash=(1, 2))
        sample = [(right + 14, middle), (right + 34, middle)]
        canvas.path(sample, token=curve.token, plane=Plane.MARK, width=2.2, dash=curve.dash)
        for index, line in enumerate(lines):
            y = block_top + 13 + index * _LINE
            canvas.text(right + 40, y, line.text, size=line.size, token=line.token, bold=line.bold)


def _draw_numbers(canvas: Canvas, curves: Sequence[Curve], top: float) -> None:
    """On the phone a number at the end of each curve refers to the list beneath."""
    size = sizes_of(canvas).tick
    ends = [_end(canvas, curve) or (0.0, canvas.y) for curve in curves]
    tops = _apart([y for _, y in ends], [size + 1] * len(curves), top, canvas.y)
    for curve, (end_x, _), number_top in zip(curves, ends, tops, strict=True):
        if end_x:
            number, y = str(curve.number), number_top + size - 1
            canvas.text(end_x + 6, y, number, size=size, token=curve.token, bold=True, halo="bg")


def _draw_list(canvas: Canvas, curves: Sequence[Curve]) -> None:
    sizes = sizes_of(canvas)
    canvas.y += 6
    for curve in curves:
        canvas.y += 17
        number = str(curve.number)
        canvas.text(0, canvas.y, number, size=sizes.label, token=curve.token, bold=True)
        sample = [(14.0, canvas.y - 4), (38.0, canvas.y - 4)]
        canvas.path(sample, token=curve.token, plane=Plane.MARK, width=2.2, dash=curve.dash)
        canvas.text(canvas.width, canvas.y, curve.summary, size=sizes.tick, bold=True, align="right")
        room = canvas.width - 46 - measure(curve.summary, sizes.tick, bold=True) - 8
        for index, name in enumerate(wrap(curve.series.label, sizes.label, room, bold=True)):
            canvas.y += 14 if index else 0
            canvas.text(46, canvas.y, name, size=sizes.label, token=curve.token, bold=True)
        for detail in wrap(curve.series.detail, sizes.footer, canvas.width - 46):
            canvas.y += 13
            canvas.text(46, canvas.y, detail, size=sizes.footer, token="muted")


def _table(curves: Sequence[Curve]) -> Table:
    rows = []
    for curve in curves:
        medians = [curve.median_at(percentile) for percentile in MARKED]
        cells = [f"{format_count(value)} ms" if value is not None else "–" for value in medians]
        rows.append((curve.series.label, curve.series.detail, *cells, str(len(curve.series.trials))))
    return Table(("system", "contestant", *(f"p{p:g}" for p in MARKED), "n"), tuple(rows))


def _describe(curves: Sequence[Curve], provenance: Provenance) -> str:
    clauses = []
    for curve in curves:
        values = [(p, curve.median_at(p)) for p in MARKED]
        told = ", ".join(f"p{p:g} {format_count(value)} ms" for p, value in values if value is not None)
        clauses.append(f"{curve.series.label}, {curve.series.detail}: {told or 'too few operations'}")
    return (
        "Line chart, both axes logarithmic: latency in milliseconds by percentile, median across trials. "
        f"{'; '.join(clauses)}. Curves stop where fewer than {FEWEST_ABOVE} operations lie above. "
        f"{provenance.method}"
    )
