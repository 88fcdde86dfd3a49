"""The panel that stands where a chart cannot be drawn, and says why."""

from __future__ import annotations

from gapbook.charts._canvas import Canvas, Plane
from gapbook.charts._figure import Figure, Table, build
from gapbook.charts._frame import Provenance, draw_footer, draw_header, sizes_of
from gapbook.charts._text import wrap

__all__ = ["missing"]


def missing(title: str, reason: str, *, provenance: Provenance) -> Figure:
    """``title`` names the chart that is not there; ``reason`` says which cell or rule forbids it."""

    def draw(canvas: Canvas) -> None:
        sizes = sizes_of(canvas)
        draw_header(canvas, title, "", ())
        top = canvas.y
        canvas.text(14, top + 24, "Not drawn", size=sizes.label, bold=True)
        canvas.y = top + 26
        for line in wrap(reason, sizes.label, canvas.width - 28):
            canvas.y += 16
            canvas.text(14, canvas.y, line, size=sizes.label, token="muted")
        canvas.y += 16
        corners = (1.0, top, canvas.width - 1.0, canvas.y)
        canvas.rect(
            corners, token="unmeasurable", plane=Plane.PANEL, outline="dashed", radius=6, stroke_width=1
        )
        canvas.y += 4
        draw_footer(canvas, provenance)

    return build("missing", title, f"Not drawn: {reason}", Table((), ()), draw)
