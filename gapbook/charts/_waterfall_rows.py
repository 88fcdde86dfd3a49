"""The rows of a waterfall, wide or for a phone: names and numbers beside bars that hang from each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gapbook.charts._canvas import Canvas, Plane
from gapbook.charts._frame import sizes_of
from gapbook.charts._marks import draw_dots, draw_estimate, draw_interval
from gapbook.charts._steps import Bar, End
from gapbook.charts._text import measure, wrap
from gapbook.charts._tokens import system_token

__all__ = ["draw_rows", "plot_edges"]


def draw_rows(canvas: Canvas, rows: Sequence[Bar | End]) -> None:
    """All rows from the cursor down, each hanging from the one above."""
    columns = _columns(canvas, rows)
    draw_bar, draw_end = (
        (_draw_phone_bar, _draw_phone_end) if canvas.is_phone else (_draw_wide_bar, _draw_wide_end)
    )
    link: float | None = None
    for row in rows:
        link = (
            draw_end(canvas, row, columns, link)
            if isinstance(row, End)
            else draw_bar(canvas, row, columns, link)
        )


@dataclass(frozen=True)
class _Columns:
    """Where numbers begin, and where the last of them ends."""

    label_width: float
    share: float
    bounds: float
    right: float


def _columns(canvas: Canvas, rows: Sequence[Bar | End]) -> _Columns:
    sizes = sizes_of(canvas)
    right = canvas.width - 8.0
    bars = [row for row in rows if isinstance(row, Bar)]
    factors = max((measure(f"×{bar.printed}", sizes.label, bold=True) for bar in bars), default=0.0)
    bounds = max((measure(bar.bounds, sizes.tick) for bar in bars), default=0.0)
    ends = max(measure(row.printed, sizes.label, bold=True) for row in rows if isinstance(row, End))
    details = [row.endpoint.detail if isinstance(row, End) else row.step.detail for row in rows]
    label_width = min(max([140.0, *(measure(detail, sizes.footer) for detail in details)]), 190.0)
    share = right - max(factors + 12 + bounds, ends)
    return _Columns(label_width, share, share + factors + 12, right)


def plot_edges(canvas: Canvas, rows: Sequence[Bar | End]) -> tuple[float, float]:
    """Pixels between which values lie."""
    if canvas.is_phone:
        return 14.0, canvas.width - 14.0
    columns = _columns(canvas, rows)
    return columns.label_width + 24, columns.share - 20


def _draw_wide_bar(canvas: Canvas, bar: Bar, columns: _Columns, link: float | None) -> float:
    sizes = sizes_of(canvas)
    top = canvas.y
    for index, line in enumerate(wrap(bar.step.name, sizes.label, columns.label_width, bold=True)):
        canvas.text(8, top + 16 + index * 13, line, size=sizes.label, bold=True)
        canvas.y = top + 16 + index * 13
    for line in wrap(bar.step.detail, sizes.footer, columns.label_width):
        canvas.y += 13
        canvas.text(8, canvas.y, line, size=sizes.footer, token="muted")
    canvas.text(columns.share, top + 19, f"×{bar.printed}", size=sizes.label, bold=True)
    canvas.text(columns.bounds, top + 19, bar.bounds, size=sizes.tick, token="muted")
    _draw_bar(canvas, bar, top + 15, link)
    canvas.y = max(canvas.y, top + 31) + 4
    return top + 15


def _draw_wide_end(canvas: Canvas, row: End, columns: _Columns, link: float | None) -> float:
    sizes, endpoint = sizes_of(canvas), row.endpoint
    token = system_token(endpoint.system)
    top = canvas.y
    canvas.y = top + 1
    for line in wrap(endpoint.label, sizes.label, columns.label_width, bold=True):
        canvas.y += 13
        canvas.text(8, canvas.y, line, size=sizes.label, token=token, bold=True)
    for line in wrap(endpoint.detail, sizes.footer, columns.label_width):
        canvas.y += 13
        canvas.text(8, canvas.y, line, size=sizes.footer, token="muted")
    canvas.text(columns.share, top + 21, row.printed, size=sizes.label, token=token, bold=True)
    canvas.y = max(canvas.y, top + 27) + 6
    _draw_end_marks(canvas, row, top, top + 12, link)
    return top + 12


def _draw_end_marks(canvas: Canvas, row: End, top: float, y: float, link: float | None) -> None:
    """The row's panel down to the cursor, the disc and its trials."""
    endpoint = row.endpoint
    token = system_token(endpoint.system)
    value = endpoint.value.estimate
    canvas.rect((0, top, canvas.width, canvas.y), token="panel", plane=Plane.PANEL)
    if link is not None:
        canvas.line((value, link), (value, y), token="rule", plane=Plane.LINK, space="x")
    draw_estimate(canvas, value, y, token, size=70)
    draw_dots(canvas, endpoint.blocks, y + 11, token)


def _draw_phone_bar(canvas: Canvas, bar: Bar, columns: _Columns, link: float | None) -> float:
    sizes = sizes_of(canvas)
    canvas.y += 2
    top = canvas.y
    for line in wrap(bar.step.name, sizes.label, columns.share - 16, bold=True):
        canvas.y += 13
        canvas.text(6, canvas.y, line, size=sizes.label, bold=True, halo="bg")
    canvas.text(columns.share, top + 13, f"×{bar.printed}", size=sizes.label, bold=True, halo="bg")
    canvas.text(columns.bounds, top + 13, bar.bounds, size=sizes.tick, token="muted", halo="bg")
    y = canvas.y + 15
    _draw_bar(canvas, bar, y, link)
    canvas.y = y + 16
    return y


def _draw_phone_end(canvas: Canvas, row: End, columns: _Columns, link: float | None) -> float:
    endpoint = row.endpoint
    sizes = sizes_of(canvas)
    token = system_token(endpoint.system)
    top = canvas.y
    canvas.text(
        columns.right,
        top + 14,
        row.printed,
        size=sizes.label,
        token=token,
        bold=True,
        align="right",
        halo="panel",
    )
    canvas.y = top + 1
    for line in wrap(endpoint.label, sizes.label, columns.share - 16, bold=True):
        canvas.y += 13
        canvas.text(6, canvas.y, line, size=sizes.label, token=token, bold=True, halo="panel")
    y = canvas.y + 11
    canvas.y = y + 18
    _draw_end_marks(canvas, row, top, y, link)
    return y


def _draw_bar(canvas: Canvas, bar: Bar, y: float, link: float | None) -> None:
    """Order range, bar, interval at its end, blocks beneath, and the hairline from the row above."""
    step = bar.step
    if link is not None:
        canvas.line((bar.before, link), (bar.before, y), token="rule", plane=Plane.LINK, space="x")
    if step.order_range:
        low, high = (bar.before * factor for factor in step.order_range)
        opacity = 0.12 if step.family == "residual" else 0.24
        corners = (low, y - 9, high, y + 9)
        canvas.rect(corners, token=step.family, plane=Plane.BAND, space="x", opacity=opacity, radius=2)
    corners = (min(bar.before, bar.after), y - 5.5, max(bar.before, bar.after), y + 5.5)
    if step.family == "residual":
        canvas.rect(corners, token="ink", plane=Plane.BAR, space="x", outline="dashed")
    else:
        canvas.rect(corners, token=step.family, plane=Plane.BAR, space="x")
    if step.factor.bounded:
        draw_interval(
            canvas, bar.before * step.factor.low, bar.before * step.factor.high, y, "ink", halo=True
        )
    draw_dots(canvas, [bar.before * block for block in step.blocks], y + 11, "ink")
