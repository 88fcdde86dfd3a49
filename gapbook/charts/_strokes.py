"""Dots and rules as few strokes: a chart with thousands of trials has a few dozen marks.

Rules of one style and colour are one path, and so are dots, each a stroke without length whose round ends meet.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple, TypeAlias

from gapbook.charts._canvas import Style
from gapbook.charts._scale import LogScale

__all__ = ["Stroke", "dot_width", "strokes_of"]

Row: TypeAlias = dict[str, Any]
_Point: TypeAlias = tuple[float, float]


class Stroke(NamedTuple):
    """A path at pixels and its colour; the rest is the style of its layer."""

    path: str
    colour: str


_MOST_OVER_EACH_OTHER = 4
"""From the fourth on, a dot over others is as good as opaque."""


def strokes_of(
    style: Style, rows: Iterable[Row], x_scale: LogScale | None, y_scale: LogScale | None
) -> list[Stroke] | None:
    """The marks of a layer as strokes, in the order in which they lie over each other; None where they are none.

    A mark at a value that its scale has no place for is left out.
    """
    width = dot_width(style)
    if style.mark != "rule" and width is None:
        return None
    across = x_scale if style.space in ("x", "xy") else None
    down = y_scale if style.space == "xy" else None
    found = []
    # What follows each other in one colour has nothing of its layer in between.
    for colour, same in groupby(rows, key=lambda row: str(row["color"])):
        ends = list(_at_pixels(same, across, down))
        if width is not None:
            for dots in _apart([start for start, *_ in ends], width):
                found.append(Stroke("".join(f"M{_point(dot)}h0" for dot in dots), colour))
        elif ends:
            found.append(Stroke("".join(f"M{_point(start)}L{_point(end)}" for start, end in ends), colour))
    return found


def dot_width(style: Style) -> float | None:
    """How wide the dots of a layer are in pixels; None of one that has no dots."""
    options: dict[str, Any] = dict(style.options)
    is_dots = style.mark == "point" and options["shape"] == "circle" and options["filled"]
    return math.sqrt(options["size"]) if is_dots else None


def _at_pixels(
    rows: Iterable[Row], x_scale: LogScale | None, y_scale: LogScale | None
) -> Iterator[list[_Point]]:
    """One point of each dot, the two of each rule."""
    for row in rows:
        points = [
            (_pixel(row[x], x_scale), _pixel(row[y], y_scale))
            for x, y in (("x", "y"), ("x2", "y2"))
            if x in row
        ]
        if all(math.isfinite(place) for point in points for place in point):
            yield points


def _pixel(value: float, scale: LogScale | None) -> float:
    if scale is None:
        return value
    return scale(value) if math.isfinite(value) and value > 0 else math.nan


def _apart(dots: Sequence[_Point], width: float) -> list[list[_Point]]:
    """Dots in sets that do not touch: what lies over each other in one path is painted once, and not darker."""
    sets: list[tuple[list[_Point], dict[tuple[int, int], list[_Point]]]] = []
    for dot in dots:
        column, row = int(dot[0] // width), int(dot[1] // width)
        near = [(column + right, row + down) for right in (-1, 0, 1) for down in (-1, 0, 1)]
        free = (
            one
            for one in sets
            if not any(math.dist(dot, other) < width for square in near for other in one[1].get(square, ()))
        )
        chosen = next(free, None)
        if chosen is None:
            if len(sets) < _MOST_OVER_EACH_OTHER:
                sets.append(([], {}))
            chosen = sets[-1]
        chosen[0].append(dot)
        chosen[1].setdefault((column, row), []).append(dot)
    return [kept for kept, _ in sets]


def _point(point: _Point) -> str:
    """Two decimals of a pixel, which are enough."""
    return f"{point[0]:.2f},{point[1]:.2f}"
