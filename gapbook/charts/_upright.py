"""An upright logarithmic scale: its counts at the left, and names beside it that do not touch."""

from __future__ import annotations

from collections.abc import Sequence

from gapbook.charts._canvas import Canvas, Plane
from gapbook.charts._frame import sizes_of
from gapbook.charts._scale import LogScale, log_ticks, short_count

__all__ = ["LABEL_STEP", "LEFT", "apart", "draw_counts"]

LEFT = 44.0
"""Where a plot begins right of its counts, in pixels."""
LABEL_STEP = 15.0
"""How far two names are apart at least, in pixels."""


def draw_counts(canvas: Canvas, scale: LogScale, right: float, *, most: int) -> None:
    """Round counts of the scale, at most so many, each with its line of the grid."""
    for tick in log_ticks(scale.low, scale.high, most=most):
        y = scale(tick)
        canvas.line((LEFT, y), (right, y), token="grid", plane=Plane.GRID)
        canvas.text(
            LEFT - 6, y + 4, short_count(tick), size=sizes_of(canvas).tick, token="muted", align="right"
        )


def apart(wanted: Sequence[float], bottom: float) -> list[float]:
    """Heights of names near the wanted ones, which are in order: moved down where names would touch, and up again
    where the last would then stand beneath ``bottom``."""
    placed: list[float] = []
    for y in wanted:
        placed.append(max(y, placed[-1] + LABEL_STEP) if placed else y)
    if not placed or placed[-1] <= bottom:
        return placed
    limit = bottom
    for index in reversed(range(len(placed))):
        placed[index] = min(placed[index], limit)
        limit = placed[index] - LABEL_STEP
    return placed
