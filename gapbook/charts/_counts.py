"""Counts: what a client counted beside what was really done, a row each, on one logarithmic axis."""

from __future__ import annotations

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
    scale_of,
    sizes_of,
    value_ticks,
)
from gapbook.charts._marks import draw_estimate, key_estimate
from gapbook.charts._scale import LogScale, log_domain
from gapbook.charts._text import wrap
from gapbook.method.interval import format_count

__all__ = ["Counted", "counts"]

_NAMES, _PRINTED, _LANE = 250.0, 190.0, 40.0
_SIZE = 80.0


@dataclass(frozen=True)
class Counted:
    """What a client counted, and what was done; 0 where nothing was."""

    name: str
    counted: float
    done: float

    @property
    def printed(self) -> str:
        return f"{format_count(self.counted)} counted, {_done_words(self.done)} done"


def counts(
    rows: Sequence[Counted], *, axis: str, provenance: Provenance, title: str, subtitle: str
) -> Figure:
    """Raises ValueError without a row, and for one whose client counted nothing."""
    if not rows or any(row.counted <= 0 or row.done < 0 for row in rows):
        raise ValueError("a chart of counts needs rows, each with a count above 0")

    def draw(canvas: Canvas) -> None:
        draw_header(canvas, title, subtitle, [_key_counted(), key_estimate("confirmed", "done")])
        left, right = (0.0, 8.0) if canvas.is_phone else (_NAMES, _PRINTED)
        low, high = log_domain([value for row in rows for value in (row.counted, row.done) if value > 0])
        canvas.x_scale = LogScale(low, high, left + _LANE + 10, canvas.width - right - 12)
        top = canvas.y
        for row in rows:
            _draw_row(canvas, row, left)
        if any(row.done == 0 for row in rows):
            canvas.text(
                left + _LANE / 2,
                canvas.y + 15,
                "none",
                size=sizes_of(canvas).tick,
                token="muted",
                align="center",
            )
        draw_axis(canvas, top, value_ticks(canvas), axis)
        draw_footer(canvas, provenance)

    clauses = "; ".join(f"{row.name}: {row.printed}" for row in rows)
    return build("counts", title, f"Dot plot, log scale. {title}. {clauses}.", _table(rows), draw)


def _draw_row(canvas: Canvas, row: Counted, left: float) -> None:
    sizes, scale = sizes_of(canvas), scale_of(canvas)
    lines = wrap(row.name, sizes.label, canvas.width if canvas.is_phone else left - 12)
    top = canvas.y
    for index, line in enumerate(lines):
        canvas.text(0, top + 14 + 15 * index, line, size=sizes.label)
    if canvas.is_phone:
        canvas.text(0, top + 14 + 15 * len(lines), row.printed, size=sizes.tick, token="muted")
        canvas.y = top + 15 * (len(lines) + 1) + 4
        canvas.rect((0, top + 2, canvas.width, canvas.y + 2), token="bg", plane=Plane.HALO)
    else:
        canvas.text(canvas.width, top + 14, row.printed, size=sizes.tick, align="right")
    middle = canvas.y + 10
    done = scale(row.done) if row.done else left + _LANE / 2
    canvas.line((done, middle), (scale(row.counted), middle), token="rule", plane=Plane.LINK)
    canvas.point(scale(row.counted), middle, token="refuted", plane=Plane.TOP, shape="diamond", size=_SIZE)
    if row.done:
        draw_estimate(canvas, row.done, middle, "confirmed")
    else:
        canvas.point(done, middle, token="confirmed", plane=Plane.MARK)
    canvas.y = max(middle + 14, top + 15 * len(lines) + 8)


def _key_counted() -> KeyItem:
    def draw(canvas: Canvas, x: float, y: float) -> None:
        canvas.point(x + 6, y, token="refuted", shape="diamond", size=_SIZE)

    return KeyItem("counted by the client", 12, draw)


def _done_words(done: float) -> str:
    return format_count(done) if done else "none"


def _table(rows: Sequence[Counted]) -> Table:
    return Table(
        ("case", "counted", "done"),
        tuple((row.name, format_count(row.counted), _done_words(row.done)) for row in rows),
    )
