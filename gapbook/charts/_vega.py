"""What a canvas has collected, drawn by Altair and Vega as one SVG."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import altair as alt
import vl_convert
from altair.utils.schemapi import debug_mode

from gapbook.charts._canvas import Datum, Layer, Style
from gapbook.charts._scale import LogScale
from gapbook.charts._smaller import smaller
from gapbook.charts._strokes import Stroke, dot_width, strokes_of
from gapbook.charts._text import FONT
from gapbook.charts._tokens import light

__all__ = ["svg_of"]

_VALUE = {"fill": alt.FillValue, "stroke": alt.StrokeValue}
_VEGA_LITE = "6.4"


def svg_of(
    size: tuple[int, int], layers: Sequence[Layer], x_scale: LogScale | None, y_scale: LogScale | None
) -> str:
    """The layers, from the back, on a ground of ``size`` pixels; scales are those of data values."""
    # The renderer refuses what is no chart; Altair's own check of each part takes more time than the rest.
    with debug_mode(False):
        drawn = [_layer(style, rows, x_scale, y_scale) for style, rows in layers]
        specification = _chart(size, drawn).to_dict(validate=False)
    return smaller(vl_convert.vegalite_to_svg(specification, vl_version=_VEGA_LITE))


def _chart(size: tuple[int, int], layers: Sequence[alt.UnitSpec]) -> alt.TopLevelLayerSpec:
    # Of its parts as they are: the class for notebooks copies them, with all their rows, several times.
    return alt.TopLevelLayerSpec(
        layer=list(layers),
        width=size[0],
        height=size[1],
        padding={"left": 0, "top": 0, "right": 0, "bottom": 0},
        autosize=alt.AutoSizeParams(type="none"),
        background=light("bg"),
        config=alt.Config(view=alt.ViewConfig(stroke=None), aria=False, font=FONT),
    )


def _strokes(style: Style, strokes: Sequence[Stroke]) -> alt.UnitSpec:
    """Marks at the corner whose shapes are whole paths: with an area of four they are as large as they say."""
    options: dict[str, Any] = dict(style.options)
    width = dot_width(style)
    mark = alt.MarkDef(
        type="point",
        size=4,
        filled=False,
        fill="transparent",
        strokeWidth=options["strokeWidth"] if width is None else width,
        strokeDash=list(options.get("strokeDash", ())),
        opacity=options["opacity"],
        x=0,
        y=0,
        strokeCap=alt.Undefined if width is None else "round",
    )
    rows = [{"path": stroke.path, "color": stroke.colour} for stroke in strokes]
    encoding = alt.Encoding(
        shape=alt.Shape("path:N", scale=None, legend=None), stroke=_verbatim("stroke", "color")
    )
    return alt.UnitSpec(mark, data=alt.InlineData(values=rows), encoding=encoding)


def _layer(
    style: Style, rows: list[Datum], x_scale: LogScale | None, y_scale: LogScale | None
) -> alt.UnitSpec:
    strokes = strokes_of(style, rows, x_scale, y_scale)
    if strokes is not None:
        return _strokes(style, strokes)
    options: dict[str, Any] = {
        name: list(value) if isinstance(value, tuple) else value for name, value in style.options
    }
    mark = alt.MarkDef(type=style.mark, clip=False, **options)
    paint = "stroke" if style.mark in ("rule", "line") or options.get("filled") is False else "fill"
    channels: dict[str, Any] = {
        "x": alt.X("x:Q", axis=None, scale=_vega_scale(x_scale, style.space in ("x", "xy"))),
        "y": alt.Y("y:Q", axis=None, scale=_vega_scale(y_scale, style.space == "xy")),
        paint: _VALUE[paint](rows[0]["color"]) if _same(rows, "color") else _verbatim(paint, "color"),
    }
    if "x2" in rows[0]:
        channels |= {"x2": alt.X2("x2:Q"), "y2": alt.Y2("y2:Q")}
    if "stroke" in rows[0]:
        channels["stroke"] = _verbatim("stroke", "stroke")
    if "text" in rows[0]:
        channels["text"] = alt.Text("text:N")
    if "series" in rows[0]:
        channels |= {"detail": alt.Detail("series:N"), "order": alt.Order("order:Q")}
    return alt.UnitSpec(mark, data=alt.InlineData(values=rows), encoding=alt.Encoding(**channels))


def _vega_scale(scale: LogScale | None, is_data: bool) -> alt.Scale | None:
    if not is_data or scale is None:
        return None
    return alt.Scale(
        type="log", domain=[scale.low, scale.high], range=[scale.start, scale.stop], nice=False, clamp=False
    )


def _same(rows: Iterable[Datum], column: str) -> bool:
    return len({row[column] for row in rows}) == 1


def _verbatim(channel: str, column: str) -> Any:
    """A colour channel that takes the column's hex as it stands."""
    kind = alt.Stroke if channel == "stroke" else alt.Fill
    return kind(f"{column}:N", scale=None, legend=None)
