"""What a canvas has collected, drawn by Altair and Vega as one SVG."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import altair as alt
import vl_convert
from altair.utils.schemapi import debug_mode

from gapbook.charts._canvas import Datum, Style
from gapbook.charts._scale import LogScale
from gapbook.charts._text import FONT
from gapbook.charts._tokens import light

__all__ = ["Layer", "svg_of"]

Layer: TypeAlias = tuple[Style, list[Datum]]
"""Marks of one style: a row of data for each."""

_VEGA_LITE = "6.4"
_TAG = re.compile(r"<[^>]*>")
_DECIMALS = re.compile(r"-?\d+\.\d{3,}")
# What Vega adds to no effect: roles of its own, empty paths of the view, values that are the default.
_NOISE = re.compile(
    r' (?:role|aria-\w+|xmlns:xlink|class)="[^"]*"'
    r'|<path class="(?:background|foreground)"[^>]*/>'
    r'| stroke-dasharray=""| opacity="1"'
)


def svg_of(
    size: tuple[int, int], layers: Sequence[Layer], x_scale: LogScale | None, y_scale: LogScale | None
) -> str:
    """The layers, from the back, on a ground of ``size`` pixels; scales are those of data values."""
    drawn = [_layer(style, rows, x_scale, y_scale) for style, rows in layers]
    # The renderer refuses what is no chart; Altair's own check of each part takes more time than the rest.
    with debug_mode(False):
        specification = _chart(size, drawn).to_dict(validate=False)
    return _TAG.sub(_shorten, vl_convert.vegalite_to_svg(specification, vl_version=_VEGA_LITE))


def _chart(size: tuple[int, int], layers: Sequence[alt.Chart]) -> alt.LayerChart:
    chart = alt.layer(*layers).properties(
        width=size[0],
        height=size[1],
        padding={"left": 0, "top": 0, "right": 0, "bottom": 0},
        autosize=alt.AutoSizeParams(type="none"),
        background=light("bg"),
    )
    configured: alt.LayerChart = chart.configure(view=alt.ViewConfig(stroke=None), aria=False, font=FONT)
    return configured


def _layer(style: Style, rows: list[Datum], x_scale: LogScale | None, y_scale: LogScale | None) -> alt.Chart:
    options: dict[str, Any] = {
        name: list(value) if isinstance(value, tuple) else value for name, value in style.options
    }
    mark = alt.MarkDef(type=style.mark, clip=False, **options)
    paint = "stroke" if style.mark in ("rule", "line") or options.get("filled") is False else "fill"
    channels: dict[str, Any] = {
        "x": alt.X("x:Q", axis=None, scale=_vega_scale(x_scale, style.space in ("x", "xy"))),
        "y": alt.Y("y:Q", axis=None, scale=_vega_scale(y_scale, style.space == "xy")),
        paint: alt.value(rows[0]["color"]) if _same(rows, "color") else _verbatim(paint, "color"),
    }
    if "x2" in rows[0]:
        channels |= {"x2": alt.X2("x2:Q"), "y2": alt.Y2("y2:Q")}
    if "stroke" in rows[0]:
        channels["stroke"] = _verbatim("stroke", "stroke")
    if "text" in rows[0]:
        channels["text"] = alt.Text("text:N")
    if "series" in rows[0]:
        channels |= {"detail": alt.Detail("series:N"), "order": alt.Order("order:Q")}
    return alt.Chart(alt.InlineData(values=rows), mark=mark).encode(**channels)


def _vega_scale(scale: LogScale | None, is_data: bool) -> alt.Scale | None:
    if not is_data or scale is None:
        return None
    return alt.Scale(
        type="log", domain=[scale.low, scale.high], range=[scale.start, scale.stop], nice=False, clamp=False
    )


def _shorten(tag: re.Match[str]) -> str:
    """Without noise, and with two decimals of a pixel, which are enough."""
    told = _NOISE.sub("", tag.group())
    return _DECIMALS.sub(lambda number: f"{float(number.group()):.2f}".rstrip("0").rstrip("."), told)


def _same(rows: Iterable[Datum], column: str) -> bool:
    return len({row[column] for row in rows}) == 1


def _verbatim(channel: str, column: str) -> Any:
    """A colour channel that takes the column's hex as it stands."""
    kind = alt.Stroke if channel == "stroke" else alt.Fill
    return kind(f"{column}:N", scale=None, legend=None)
