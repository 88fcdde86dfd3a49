"""One plot of lines: its frame, estimates with intervals, published points, and the names of the lines."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from gapbook.charts._canvas import Canvas, Plane
from gapbook.charts._frame import KeyItem, sizes_of
from gapbook.charts._scale import LogScale, log_domain
from gapbook.charts._text import measure
from gapbook.charts._tokens import system_token
from gapbook.charts._upright import LEFT, apart, draw_counts
from gapbook.method.interval import Interval

__all__ = [
    "Across",
    "Line",
    "LinePoint",
    "Styled",
    "draw_plot",
    "key_names",
    "names_width",
    "styled",
]

_HEIGHT = 270.0
_DASHES: tuple[tuple[float, ...], ...] = ((), (7, 4), (2, 3), (10, 3, 2, 3), (5, 2), (1, 2))


@dataclass(frozen=True)
class LinePoint:
    """A metric at one place: estimate with interval, and its trials."""

    x: float
    value: Interval
    trials: tuple[float, ...] = ()


@dataclass(frozen=True)
class Line:
    """One way, in the colour of its system. ``is_ceiling`` is a bound that was computed, not measured;
    ``is_published`` what somebody else measured and printed."""

    system: str
    label: str
    points: tuple[LinePoint, ...]
    is_ceiling: bool = False
    is_published: bool = False


@dataclass(frozen=True)
class Styled:
    """A line with its colour and its dashes."""

    line: Line
    token: str
    dash: tuple[float, ...]


@dataclass(frozen=True)
class Across:
    """The horizontal axis: what it is of, the places that were measured, and the names of those that have one."""

    label: str
    ticks: Sequence[float]
    log: bool
    names: Mapping[float, str] = field(default_factory=dict)

    def named(self, place: float) -> str:
        return self.names.get(place, f"{place:g}")


def styled(drawn: Sequence[Line]) -> list[Styled]:
    """Lines of one colour differ by their dashes; a ceiling is always dashed, what was published always in ink."""
    used: dict[str, int] = {}
    result = []
    for line in drawn:
        token = "ink" if line.is_published else system_token(line.system)
        count = used.get(token, 0)
        used[token] = count + 1
        result.append(Styled(line, token, (4, 3) if line.is_ceiling else _DASHES[count % len(_DASHES)]))
    return result


def key_names(entries: Sequence[Styled]) -> list[KeyItem]:
    """Each line with its name, for where names do not fit at the ends of lines."""

    def glyph(entry: Styled) -> Callable[[Canvas, float, float], None]:
        def draw(canvas: Canvas, x: float, y: float) -> None:
            if entry.line.is_published:
                _draw_published(canvas, [(x + 6, y), (x + 20, y)], entry.dash)
                return
            canvas.path(
                [(x, y), (x + 26, y)], token=entry.token, plane=Plane.MARK, width=2.2, dash=entry.dash
            )

        return draw

    return [KeyItem(entry.line.label, 26, glyph(entry)) for entry in entries]


def names_width(canvas: Canvas, entries: Sequence[Styled]) -> float:
    """The room in pixels that the names of these lines take right of a plot; none on a phone, where the key has them."""
    size = sizes_of(canvas).label
    return 0.0 if canvas.is_phone else 14 + max(measure(entry.line.label, size) for entry in entries)


def draw_plot(
    canvas: Canvas,
    entries: Sequence[Styled],
    axis: str,
    across: Across,
    *,
    labels_width: float,
    height: float = _HEIGHT,
) -> None:
    """Lines over a logarithmic scale from the cursor down, which then stands beneath; ``axis`` is over the scale."""
    canvas.text(0, canvas.y + 4, axis, size=sizes_of(canvas).tick, token="muted")
    top, bottom = canvas.y + 16, canvas.y + 12 + height
    place = _across(across.ticks, LEFT + 8, canvas.width - labels_width - 10, log=across.log)
    scale = LogScale(*log_domain(_values([entry.line for entry in entries])), bottom, top)
    _draw_frame(canvas, scale, place, across, (top, bottom), canvas.width - labels_width)
    for entry in entries:
        _draw_line(canvas, entry, scale, place)
    if not canvas.is_phone:
        _draw_labels(canvas, entries, scale, canvas.width - labels_width + 6, (top, bottom))
    canvas.y = bottom + 38


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
    across: Across,
    span: tuple[float, float],
    right: float,
) -> None:
    size = sizes_of(canvas).tick
    draw_counts(canvas, scale, right, most=7)
    end = -math.inf
    for tick in sorted(across.ticks):
        label = across.named(tick)
        half = measure(label, size) / 2
        if place(tick) - half > end + 6:
            x = min(place(tick), canvas.width - half - 0.5)
            canvas.text(x, span[1] + 17, label, size=size, token="muted", align="center")
            end = place(tick) + half
    canvas.text(
        (LEFT + right) / 2,
        span[1] + 33,
        across.label,
        size=size,
        token="muted",
        align="center",
    )


def _draw_line(canvas: Canvas, entry: Styled, scale: LogScale, place: Callable[[float], float]) -> None:
    points = sorted(entry.line.points, key=lambda point: point.x)
    if entry.line.is_published:
        _draw_published(canvas, [(place(p.x), scale(p.value.estimate)) for p in points], entry.dash)
        return
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


def _draw_published(canvas: Canvas, points: Sequence[tuple[float, float]], dash: Sequence[float]) -> None:
    """Hollow diamonds, held together by a thin line that is no measurement of ours."""
    canvas.path(points, token="rule", plane=Plane.LINK, width=1.2, dash=dash)
    for x, y in points:
        canvas.point(x, y, token="ink", plane=Plane.TOP, shape="diamond", size=60, filled=False)


def _draw_labels(
    canvas: Canvas, styled: Sequence[Styled], scale: LogScale, x: float, span: tuple[float, float]
) -> None:
    """Names at the ends of their lines, moved apart where they would touch."""
    size = sizes_of(canvas).label
    wanted = sorted(
        ((scale(max(s.line.points, key=lambda p: p.x).value.estimate) + 4, s) for s in styled),
        key=lambda pair: pair[0],
    )
    for y, (_, entry) in zip(apart([y for y, _ in wanted], span[1]), wanted, strict=True):
        canvas.text(x, y, entry.line.label, size=size, token=entry.token)
