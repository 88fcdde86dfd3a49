"""Lines: a metric over something that is turned (contention, distance, depth), one line a way."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gapbook.charts._canvas import Canvas, Plane
from gapbook.charts._figure import Figure, Table, build
from gapbook.charts._frame import KeyItem, Provenance, draw_footer, draw_header, sizes_of
from gapbook.charts._marks import key_dots, key_interval
from gapbook.charts._scale import LogScale, log_domain, log_ticks, short_count
from gapbook.charts._text import measure
from gapbook.charts._tokens import system_token
from gapbook.method.interval import Interval
from gapbook.record.metric import GOODPUT, Metric

__all__ = ["Line", "LinePoint", "lines"]

_HEIGHT = 270.0
_LEFT = 44.0
_LABEL_STEP = 15.0
_DASHES: tuple[tuple[float, ...], ...] = ((), (7, 4), (2, 3), (10, 3, 2, 3), (5, 2), (1, 2))


@dataclass(frozen=True)
class LinePoint:
    """A metric at one place: estimate with interval, and its trials."""

    x: float
    value: Interval
    trials: tuple[float, ...] = ()


@dataclass(frozen=True)
class Line:
    """One way, in the colour of its system. ``is_ceiling`` is a bound that was computed, not measured."""

    system: str
    label: str
    points: tuple[LinePoint, ...]
    is_ceiling: bool = False


@dataclass(frozen=True)
class _Styled:
    line: Line
    token: str
    dash: tuple[float, ...]


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
) -> Figure:
    """Lines through estimates with their intervals, over a logarithmic scale.

    ``x_ticks`` are the measured places; ``y_label`` is that of the metric unless it is given. Raises ValueError when there is no point to draw.
    """
    drawn = [line for line in series if line.points]
    if not drawn:
        raise ValueError("a chart of lines needs at least one point")
    styled = _styled(drawn)

    def draw(canvas: Canvas) -> None:
        key = [key_interval("ink"), key_dots("ink", "one trial")]
        draw_header(canvas, title, subtitle, [*_names(styled), *key] if canvas.is_phone else key)
        size = sizes_of(canvas).label
        labels_width = 0.0 if canvas.is_phone else 14 + max(measure(s.line.label, size) for s in styled)
        canvas.text(0, canvas.y + 4, y_label or metric.axis, size=sizes_of(canvas).tick, token="muted")
        top, bottom = canvas.y + 16, canvas.y + 12 + _HEIGHT
        place = _across(x_ticks, _LEFT + 8, canvas.width - labels_width - 10, log=x_log)
        scale = LogScale(*log_domain(_values(drawn)), bottom, top)
        _draw_frame(canvas, scale, place, x_ticks, x_label, (top, bottom), canvas.width - labels_width)
        for entry in styled:
            _draw_line(canvas, entry, scale, place)
        if not canvas.is_phone:
            _draw_labels(canvas, styled, scale, canvas.width - labels_width + 6, (top, bottom))
        canvas.y = bottom + 38
        draw_footer(canvas, provenance)

    return build(
        "lines", title, _description(title, drawn, x_label, metric), _table(drawn, x_label, metric), draw
    )


def _styled(drawn: Sequence[Line]) -> list[_Styled]:
    """Lines of one colour differ by their dashes; a ceiling is always dashed."""
    used: dict[str, int] = {}
    result = []
    for line in drawn:
        token = system_token(line.system)
        count = used.get(token, 0)
        used[token] = count + 1
        result.append(_Styled(line, token, (4, 3) if line.is_ceiling else _DASHES[count % len(_DASHES)]))
    return result


def _names(styled: Sequence[_Styled]) -> list[KeyItem]:
    def glyph(entry: _Styled) -> Callable[[Canvas, float, float], None]:
        def draw(canvas: Canvas, x: float, y: float) -> None:
            canvas.path(
                [(x, y), (x + 26, y)], token=entry.token, plane=Plane.MARK, width=2.2, dash=entry.dash
            )

        return draw

    return [KeyItem(entry.line.label, 26, glyph(entry)) for entry in styled]


def _across(ticks: Sequence[float], start: float, stop: float, *, log: bool) -> Callable[[float], float]:
    low, high = min(ticks), max(ticks)
    if low == high:
        return lambda _value: (start + stop) / 2
    if log and low > 0:
        return LogScale(low, high, start, stop)
    if log:
        # A place at zero has no logarithm: the measured places stand at equal steps, in their order.
        steps = {value: index for index, value in enumerate(sorted(ticks))}
        return lambda value: start + steps[value] / (len(steps) - 1) * (stop - start)
    return lambda value: start + (value - low) / (high - low) * (stop - start)


def _values(drawn: Sequence[Line]) -> list[float]:
    values = []
    for line in drawn:
        for point in line.points:
            values += [point.value.estimate, *point.trials]
            values += [point.value.low, point.value.high] if point.value.bounded else []
    return values


def _draw_frame(
    canvas: Canvas,
    scale: LogScale,
    place: Callable[[float], float],
    x_ticks: Sequence[float],
    x_label: str,
    span: tuple[float, float],
    right: float,
) -> None:
    size = sizes_of(canvas).tick
    for tick in log_ticks(scale.low, scale.high, most=7):
        y = scale(tick)
        canvas.line((_LEFT, y), (right, y), token="grid", plane=Plane.GRID)
        canvas.text(_LEFT - 6, y + 4, short_count(tick), size=size, token="muted", align="right")
    end = -math.inf
    for tick in sorted(x_ticks):
        label = f"{tick:g}"
        half = measure(label, size) / 2
        if place(tick) - half > end + 6:
            canvas.text(place(tick), span[1] + 17, label, size=size, token="muted", align="center")
            end = place(tick) + half
    canvas.text(
        (_LEFT + right) / 2,
        span[1] + 33,
        x_label,
        size=size,
        token="muted",
        align="center",
    )


def _draw_line(canvas: Canvas, entry: _Styled, scale: LogScale, place: Callable[[float], float]) -> None:
    points = sorted(entry.line.points, key=lambda point: point.x)
    canvas.path(
        [(place(p.x), scale(p.value.estimate)) for p in points],
        token=entry.token,
        plane=Plane.BAR,
        width=1.4 if entry.line.is_ceiling else 2.2,
        dash=entry.dash,
    )
    if entry.line.is_ceiling:
        return
    for point in points:
        x = place(point.x)
        canvas.point(x, scale(point.value.estimate), token=entry.token, size=34)
        if point.value.bounded:
            low, high = scale(point.value.low), scale(point.value.high)
            canvas.line((x, low), (x, high), token=entry.token, plane=Plane.MARK, width=1.8)
            for end in (low, high):
                canvas.line((x - 4, end), (x + 4, end), token=entry.token, plane=Plane.MARK, width=1.8)
        for index, trial in enumerate(point.trials):
            canvas.point(
                x + 7 + index % 3, scale(trial), token=entry.token, plane=Plane.TRIAL, size=9, opacity=0.6
            )


def _draw_labels(
    canvas: Canvas, styled: Sequence[_Styled], scale: LogScale, x: float, span: tuple[float, float]
) -> None:
    """Names at the ends of their lines, moved apart where they would touch."""
    size = sizes_of(canvas).label
    wanted = sorted(
        ((scale(max(s.line.points, key=lambda p: p.x).value.estimate) + 4, s) for s in styled),
        key=lambda pair: pair[0],
    )
    placed: list[float] = []
    for y, _ in wanted:
        placed.append(max(y, placed[-1] + _LABEL_STEP) if placed else y)
    over = placed[-1] - span[1]
    for index in range(len(placed) - 1, -1, -1):
        if over <= 0:
            break
        limit = span[1] if index == len(placed) - 1 else placed[index + 1] - _LABEL_STEP
        placed[index] = min(placed[index], limit)
    for y, (_, entry) in zip(placed, wanted, strict=True):
        canvas.text(x, y, entry.line.label, size=size, token=entry.token)


def _table(drawn: Sequence[Line], x_label: str, metric: Metric) -> Table:
    rows = tuple(
        (
            line.label,
            f"{point.x:g}",
            point.value.as_count(),
            "computed" if line.is_ceiling else str(point.value.n),
        )
        for line in drawn
        for point in sorted(line.points, key=lambda p: p.x)
    )
    return Table(("way", x_label, f"{metric.label}{metric.unit}", "n"), rows)


def _description(title: str, drawn: Sequence[Line], x_label: str, metric: Metric) -> str:
    clauses = []
    for line in drawn:
        points = sorted(line.points, key=lambda point: point.x)
        first, last = points[0], points[-1]
        clauses.append(
            f"{line.label} {first.value.as_count()} at {first.x:g}, {last.value.as_count()} at {last.x:g}"
        )
    return f"Lines over {x_label}, {metric.label} on a log scale. {title}. {'; '.join(clauses)}."
