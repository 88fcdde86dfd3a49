"""What every chart carries, as it will be shown without its page: title, key, method, run and address."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from gapbook.charts._canvas import Canvas, Plane
from gapbook.charts._scale import LogScale, log_ticks, short_count
from gapbook.charts._text import hold_together, measure, wrap, wrap_evenly

__all__ = [
    "KeyItem",
    "Provenance",
    "Sizes",
    "draw_axis",
    "draw_footer",
    "draw_header",
    "draw_ratio_axis",
    "ratio_ticks",
    "scale_of",
    "sizes_of",
    "value_ticks",
]


@dataclass(frozen=True)
class Provenance:
    """Where a picture comes from. ``method`` states design, sample and interval in a sentence or two; ``run`` is
    empty where nothing was measured.

    ``stamp`` marks a picture that must not be taken for a published one: ``SYNTHETIC DATA``.
    """

    run: str
    method: str
    url: str = ""
    licence: str = "CC BY 4.0"
    stamp: str = ""


@dataclass(frozen=True)
class Sizes:
    """Type sizes in pixels at one width."""

    title: float
    subtitle: float
    label: float
    tick: float
    footer: float


_WIDE = Sizes(title=16, subtitle=12.5, label=12.5, tick=11.5, footer=11)
_PHONE = Sizes(title=15, subtitle=12, label=12.5, tick=11, footer=10.5)


def sizes_of(canvas: Canvas) -> Sizes:
    return _PHONE if canvas.is_phone else _WIDE


@dataclass(frozen=True)
class KeyItem:
    """One entry of the mark key: a glyph ``width`` wide, drawn from (x, middle), and what it means."""

    label: str
    width: float
    draw: Callable[[Canvas, float, float], None]


def draw_header(canvas: Canvas, title: str, subtitle: str, key: Sequence[KeyItem]) -> None:
    sizes = sizes_of(canvas)
    canvas.y = 0.0
    for line in wrap_evenly(hold_together(title), sizes.title, canvas.width - 1, bold=True):
        canvas.y += sizes.title + (2 if canvas.y == 0 else 4)
        canvas.text(0, canvas.y - 2, line, size=sizes.title, bold=True)
    for index, line in enumerate(wrap(hold_together(subtitle), sizes.subtitle, canvas.width - 1)):
        canvas.y += sizes.subtitle + (8 if index == 0 else 3)
        canvas.text(0, canvas.y - 2, line, size=sizes.subtitle, token="muted")
    canvas.y += 4
    if key:
        _draw_key(canvas, key)
    canvas.y += 12


def _draw_key(canvas: Canvas, key: Sequence[KeyItem]) -> None:
    size = sizes_of(canvas).tick
    x = 0.0
    canvas.y += size + 3
    for item in key:
        needed = item.width + 5 + measure(item.label, size)
        if x and x + needed > canvas.width:
            x = 0.0
            canvas.y += size + 6
        item.draw(canvas, x, canvas.y - 4)
        canvas.text(x + item.width + 5, canvas.y, item.label, size=size, token="muted")
        x += needed + 14


def value_ticks(canvas: Canvas) -> list[tuple[float, str]]:
    """Round values of the canvas's x scale with their labels: ``10k``."""
    return [(tick, short_count(tick)) for tick in _round_values(canvas)]


def ratio_ticks(canvas: Canvas, one: float) -> list[tuple[float, str]]:
    """Values of the canvas's x scale that are round multiples of ``one``, with their labels: ``×10``."""
    scale = scale_of(canvas)
    ticks = log_ticks(scale.low / one, scale.high / one, most=_most_ticks(canvas))
    return [(tick * one, f"×{tick:g}") for tick in ticks]


def draw_ratio_axis(canvas: Canvas, top: float, title: str) -> None:
    """The axis of ratios, as ``×2``, with a line at ×1 from ``top`` to the cursor."""
    one = scale_of(canvas)(1.0)
    canvas.line((one, top), (one, canvas.y), token="rule", plane=Plane.GRID, width=1.4)
    draw_axis(canvas, top, ratio_ticks(canvas, 1.0), title)


def _round_values(canvas: Canvas) -> list[float]:
    scale = scale_of(canvas)
    return log_ticks(scale.low, scale.high, most=_most_ticks(canvas))


def _most_ticks(canvas: Canvas) -> int:
    return 4 if canvas.is_phone else 7


def draw_axis(canvas: Canvas, top: float, ticks: Sequence[tuple[float, str]], title: str) -> None:
    """Grid of the logarithmic x axis from ``top`` to the cursor, tick labels and title beneath."""
    scale = scale_of(canvas)
    size = sizes_of(canvas).tick
    bottom = canvas.y
    for tick, label in _uncrowded(scale, ticks, size):
        canvas.line((scale(tick), top), (scale(tick), bottom), token="grid", plane=Plane.GRID)
        half = measure(label, size) / 2
        x = min(max(scale(tick), half), canvas.width - half)
        canvas.text(x, bottom + 15, label, size=size, token="muted", align="center")
    middle = (scale.start + scale.stop) / 2
    canvas.text(middle, bottom + 31, title, size=size, token="muted", align="center")
    canvas.y = bottom + 36


def scale_of(canvas: Canvas) -> LogScale:
    """The x scale of a canvas; raises ValueError before it has one."""
    if canvas.x_scale is None:
        raise ValueError("an axis is drawn after the canvas has its scale")
    return canvas.x_scale


def _uncrowded(
    scale: LogScale, ticks: Sequence[tuple[float, str]], size: float
) -> Sequence[tuple[float, str]]:
    """Every second tick, every third, ... until no two labels touch."""
    for step in range(1, len(ticks) + 1):
        kept = ticks[::step]
        halves = {tick: measure(label, size) / 2 + 4 for tick, label in kept}
        if all(
            scale(after) - scale(before) > halves[before] + halves[after]
            for before, after in pairwise(halves)
        ):
            return kept
    return ticks[:1]


def draw_footer(canvas: Canvas, provenance: Provenance) -> None:
    sizes = sizes_of(canvas)
    canvas.y += 8
    canvas.line((0, canvas.y), (canvas.width, canvas.y), token="grid", plane=Plane.GRID, width=1)
    canvas.y += 2
    for line in wrap(provenance.method, sizes.footer, canvas.width):
        canvas.y += sizes.footer + 3
        canvas.text(0, canvas.y, line, size=sizes.footer, token="muted")
    stamp_width = measure(provenance.stamp, sizes.footer, bold=True)
    parts = (provenance.url, f"run {provenance.run}" if provenance.run else "", provenance.licence)
    address = " · ".join(part.replace(" ", "\u00a0") for part in parts if part)
    for line in wrap(address, sizes.footer, canvas.width - stamp_width - 12):
        canvas.y += sizes.footer + 3
        canvas.text(0, canvas.y, line.removesuffix(" ·"), size=sizes.footer, token="muted")
    if provenance.stamp:
        canvas.text(
            canvas.width,
            canvas.y,
            provenance.stamp,
            size=sizes.footer,
            token="stamp",
            bold=True,
            align="right",
        )
    canvas.y += 5
