"""The grammar of the charts: one mark, one meaning."""

from __future__ import annotations

from collections.abc import Iterable

from gapbook.charts._canvas import Canvas, Plane
from gapbook.charts._frame import KeyItem

__all__ = [
    "VERDICT_SHAPES",
    "draw_dots",
    "draw_elsewhere",
    "draw_estimate",
    "draw_interval",
    "draw_published",
    "key_dots",
    "key_elsewhere",
    "key_estimate",
    "key_interval",
    "key_order_range",
    "key_published",
    "key_residual",
    "key_share",
]

VERDICT_SHAPES = {
    "confirmed": "circle",
    "conditions": "diamond",
    "refuted": "square",
    "unmeasurable": "circle",
}
"""The shape that goes with each colour of a verdict, so that they are told apart without their colours too."""
_CAP = 5.0
_JITTER = (0.0, 4.0, 2.0)
_DOT = 9.0


def draw_estimate(canvas: Canvas, value: float, y: float, token: str, *, size: float = 58.0) -> None:
    canvas.point(value, y, token=token, size=size, space="x")


def draw_interval(
    canvas: Canvas, low: float, high: float, y: float, token: str, *, halo: bool = False
) -> None:
    """A capped bar; over fills it stands on a halo of background."""
    strokes = (
        ((low, y), (high, y)),
        ((low, y - _CAP), (low, y + _CAP)),
        ((high, y - _CAP), (high, y + _CAP)),
    )
    for start, end in strokes:
        if halo:
            canvas.line(start, end, token="bg", plane=Plane.HALO, space="x", width=4.5)
        canvas.line(start, end, token=token, plane=Plane.MARK, space="x", width=1.8)


def draw_dots(canvas: Canvas, values: Iterable[float], y: float, token: str) -> None:
    """Trials or blocks in their own lane, in three rows so that equal values stay countable."""
    for index, value in enumerate(values):
        y_row = y + _JITTER[index % 3]
        canvas.point(value, y_row, token=token, plane=Plane.TRIAL, space="x", size=_DOT, opacity=0.6)


def draw_elsewhere(canvas: Canvas, values: Iterable[float], y: float, token: str) -> None:
    """What other runs of ours made of a value, hollow: no part of the run at hand."""
    for value in values:
        canvas.point(value, y, token=token, plane=Plane.TOP, space="x", shape="circle", size=40, filled=False)


def draw_published(canvas: Canvas, published: float, ours: float | None, y: float) -> None:
    if ours is not None:
        canvas.line((ours, y), (published, y), token="rule", plane=Plane.LINK, space="x")
    canvas.point(
        published, y, token="ink", plane=Plane.TOP, space="x", shape="diamond", size=60, filled=False
    )


def key_estimate(token: str, words: str = "our estimate, geometric mean") -> KeyItem:
    def draw(canvas: Canvas, x: float, y: float) -> None:
        canvas.point(x + 7, y, token=token)

    return KeyItem(words, 14, draw)


def key_interval(token: str) -> KeyItem:
    def draw(canvas: Canvas, x: float, y: float) -> None:
        canvas.line((x, y), (x + 15, y), token=token, plane=Plane.MARK, width=1.8)
        for end in (x, x + 15):
            canvas.line((end, y - 4), (end, y + 4), token=token, plane=Plane.MARK, width=1.8)

    return KeyItem("95 % CI of this run", 16, draw)


def key_dots(token: str, label: str) -> KeyItem:
    def draw(canvas: Canvas, x: float, y: float) -> None:
        for dx, dy in ((1.5, 2.0), (6.0, -2.0), (10.5, 1.0)):
            canvas.point(x + dx, y + dy, token=token, plane=Plane.TRIAL, size=_DOT, opacity=0.6)

    return KeyItem(label, 12, draw)


def key_elsewhere(token: str) -> KeyItem:
    def draw(canvas: Canvas, x: float, y: float) -> None:
        canvas.point(x + 5, y, token=token, shape="circle", size=40, filled=False)

    return KeyItem("another run of ours", 11, draw)


def key_published() -> KeyItem:
    def draw(canvas: Canvas, x: float, y: float) -> None:
        canvas.point(x + 6, y, token="ink", shape="diamond", size=60, filled=False)

    return KeyItem("published, not ours", 12, draw)


def key_share(token: str) -> KeyItem:
    def draw(canvas: Canvas, x: float, y: float) -> None:
        canvas.rect((x, y - 4, x + 14, y + 4), token=token, plane=Plane.BAR)

    return KeyItem("factor, mean over orders", 14, draw)


def key_residual() -> KeyItem:
    def draw(canvas: Canvas, x: float, y: float) -> None:
        canvas.rect((x + 1, y - 4, x + 15, y + 4), token="ink", plane=Plane.BAR, outline="dashed")

    return KeyItem("residual", 16, draw)


def key_order_range(token: str) -> KeyItem:
    def draw(canvas: Canvas, x: float, y: float) -> None:
        canvas.rect((x, y - 6, x + 16, y + 6), token=token, plane=Plane.BAND, opacity=0.24, radius=2)

    return KeyItem("range over orders", 16, draw)
