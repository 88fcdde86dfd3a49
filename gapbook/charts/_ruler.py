"""Gap ruler: one gap under several setups, a bar each from ×1, on one logarithmic axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gapbook.charts._canvas import Canvas, Plane
from gapbook.charts._figure import Figure, Table, build
from gapbook.charts._frame import Provenance, draw_footer, draw_header, draw_ratio_axis, scale_of, sizes_of
from gapbook.charts._marks import draw_interval, key_interval
from gapbook.charts._scale import LogScale, log_domain
from gapbook.charts._text import wrap
from gapbook.method.interval import Interval, format_factor

__all__ = ["Gap", "ruler"]

_NAMES, _PRINTED = 290.0, 64.0
_BAR = 9.0


@dataclass(frozen=True)
class Gap:
    """The gap under one setup; ``published`` is one that somebody else printed, without an interval."""

    name: str
    ratio: Interval
    token: str
    published: bool = False

    @property
    def printed(self) -> str:
        return f"×{format_factor(self.ratio.estimate)}"


def ruler(gaps: Sequence[Gap], *, axis: str, provenance: Provenance, title: str, subtitle: str) -> Figure:
    """Raises ValueError without a gap."""
    if not gaps:
        raise ValueError("a gap ruler needs at least one gap")

    def draw(canvas: Canvas) -> None:
        draw_header(canvas, title, subtitle, [key_interval("ink")])
        left = 8.0 if canvas.is_phone else _NAMES
        ends = [end for gap in gaps for end in (gap.ratio.estimate, gap.ratio.low, gap.ratio.high)]
        low, high = log_domain([1.0, *ends], margin=0.02)
        canvas.x_scale = LogScale(low, high, left, canvas.width - _PRINTED)
        top = canvas.y
        for gap in gaps:
            _draw_gap(canvas, gap, left)
        draw_ratio_axis(canvas, top, axis)
        draw_footer(canvas, provenance)

    clauses = "; ".join(f"{gap.name}: {gap.ratio.as_factor()}" for gap in gaps)
    return build("ruler", title, f"Bars from ×1, log scale. {title}. {clauses}.", _table(gaps), draw)


def _draw_gap(canvas: Canvas, gap: Gap, left: float) -> None:
    sizes, scale = sizes_of(canvas), scale_of(canvas)
    lines = wrap(gap.name, sizes.label, canvas.width if canvas.is_phone else left - 14)
    top = canvas.y
    for index, line in enumerate(lines):
        canvas.text(0, top + 15 + 15 * index, line, size=sizes.label)
    if canvas.is_phone:
        canvas.y = top + 15 * len(lines) + 8
        canvas.rect((0, top + 2, canvas.width, canvas.y), token="bg", plane=Plane.HALO)
    middle = canvas.y + 12
    start, end = scale(1.0), scale(gap.ratio.estimate)
    box = (min(start, end), middle - _BAR, max(start, end), middle + _BAR)
    if gap.published:
        canvas.rect(box, token="ink", plane=Plane.BAR, outline="dashed")
    else:
        canvas.rect(box, token=gap.token, plane=Plane.BAR)
    if gap.ratio.bounded:
        draw_interval(canvas, gap.ratio.low, gap.ratio.high, middle, "ink")
    beyond = max([end, *([scale(gap.ratio.high)] if gap.ratio.bounded else [])])
    canvas.text(beyond + 8, middle + 5, gap.printed, size=sizes.label, bold=True)
    canvas.y = max(middle + 20, top + 15 * len(lines) + 8)


def _table(gaps: Sequence[Gap]) -> Table:
    rows = (
        (gap.name, gap.ratio.as_factor(), "published, not ours" if gap.published else str(gap.ratio.n))
        for gap in gaps
    )
    return Table(("setup", "gap", "n"), tuple(rows))
