"""A canvas of exact size: marks and text are collected, then drawn as one layered view.

Labels and rows sit at pixels; data marks carry data values and go through logarithmic Vega scales. The box
of every text is kept, so that overlaps and text beyond the edge can be found without a browser.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Literal, TypeAlias

from gapbook.charts._scale import LogScale
from gapbook.charts._text import FONT, measure
from gapbook.charts._tokens import light

__all__ = ["Canvas", "Datum", "Drawing", "Layer", "Plane", "Space", "Style", "TextBox"]

Space = Literal["px", "x", "xy"]
"""Which coordinates of a mark are data values: none, x, or both."""

Mark = Literal["text", "rect", "rule", "point", "line"]

Option: TypeAlias = str | float | bool | tuple[float, ...]
Datum: TypeAlias = dict[str, str | float]
"""A row of Vega's inline data."""

_DASH: tuple[float, ...] = (4, 3)
_SOLID: tuple[float, ...] = ()


class Plane(IntEnum):
    """What lies over what, from the back."""

    PANEL = 0
    GRID = 1
    BAND = 2
    LINK = 3
    BAR = 4
    TRIAL = 5
    HALO = 6
    MARK = 7
    TOP = 8
    TEXT_HALO = 9
    TEXT = 10


@dataclass(frozen=True)
class TextBox:
    text: str
    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: TextBox) -> bool:
        return (
            self.left < other.right
            and other.left < self.right
            and self.top < other.bottom
            and other.top < self.bottom
        )


@dataclass(frozen=True)
class Drawing:
    """One rendered chart at one width, in light colours."""

    svg: str
    width: int
    height: int
    boxes: tuple[TextBox, ...]

    def problems(self) -> list[str]:
        """Texts that overlap each other or leave the canvas; empty for a sound drawing."""
        found = [
            f"{box.text!r} leaves the {self.width}x{self.height} canvas"
            for box in self.boxes
            if box.left < 0 or box.top < 0 or box.right > self.width or box.bottom > self.height
        ]
        for index, box in enumerate(self.boxes):
            found += [
                f"{box.text!r} overlaps {other.text!r}"
                for other in self.boxes[index + 1 :]
                if box.overlaps(other)
            ]
        return found


@dataclass(frozen=True)
class Style:
    """All that marks of one layer share; everything else is a column of its data."""

    plane: Plane
    mark: Mark
    space: Space
    options: tuple[tuple[str, Option], ...]


Layer: TypeAlias = tuple[Style, list[Datum]]
"""Marks of one style: a row of data for each."""


class Canvas:
    """Collects marks; ``draw`` renders them. ``y`` is the cursor that stacked parts advance."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.y = 0.0
        self.x_scale: LogScale | None = None
        self.y_scale: LogScale | None = None
        self._layers: dict[Style, list[Datum]] = {}
        self._boxes: list[TextBox] = []
        self._paths = 0

    @property
    def is_phone(self) -> bool:
        return self.width < 640

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        size: float,
        token: str = "ink",
        bold: bool = False,
        align: Literal["left", "center", "right"] = "left",
        halo: str = "",
    ) -> float:
        """One line of text with its baseline at ``y``; returns where it ends. A halo in the token of the ground lifts it off marks."""
        width = measure(text, size, bold=bold)
        left = x - {"left": 0.0, "center": width / 2, "right": width}[align]
        self._boxes.append(TextBox(text, left, y - 0.73 * size, left + width, y + 0.21 * size))
        row: Datum = {"x": x, "y": y, "text": text}
        options: dict[str, Option] = {
            "fontSize": size,
            "fontWeight": "bold" if bold else "normal",
            "align": align,
            "baseline": "alphabetic",
            "font": FONT,
        }
        if halo:
            outline = {**options, "stroke": light(halo), "strokeWidth": 3.5, "strokeJoin": "round"}
            self._add(Plane.TEXT_HALO, "text", "px", outline, {**row, "color": light(halo)})
        self._add(Plane.TEXT, "text", "px", options, {**row, "color": light(token)})
        return left + width

    def rect(
        self,
        corners: tuple[float, float, float, float],
        *,
        token: str,
        plane: Plane,
        space: Space = "px",
        opacity: float = 1.0,
        radius: float = 0.0,
        outline: Literal["none", "solid", "dashed"] = "none",
        stroke_width: float = 1.5,
    ) -> None:
        """A box ``(x, y, x2, y2)``: filled, or in outline over a background fill."""
        x, y, x2, y2 = corners
        options: dict[str, Option] = {"opacity": opacity, "cornerRadius": radius}
        row: Datum = {"x": x, "y": y, "x2": x2, "y2": y2, "color": light(token)}
        if outline != "none":
            options |= {"strokeWidth": stroke_width, "strokeDash": _DASH if outline == "dashed" else _SOLID}
            row |= {"stroke": light(token), "color": light("panel" if outline == "solid" else "bg")}
        self._add(plane, "rect", space, options, row)

    def line(
        self,
        start: tuple[float, float],
        end: tuple[float, float],
        *,
        token: str,
        plane: Plane,
        space: Space = "px",
        width: float = 1.0,
        opacity: float = 1.0,
        dashed: bool = False,
    ) -> None:
        options: dict[str, Option] = {
            "strokeWidth": width,
            "opacity": opacity,
            "strokeDash": _DASH if dashed else _SOLID,
        }
        row: Datum = {"x": start[0], "y": start[1], "x2": end[0], "y2": end[1], "color": light(token)}
        self._add(plane, "rule", space, options, row)

    def point(
        self,
        x: float,
        y: float,
        *,
        token: str,
        plane: Plane = Plane.MARK,
        space: Space = "px",
        shape: str = "circle",
        size: float = 58.0,
        filled: bool = True,
        stroke_width: float = 1.7,
        opacity: float = 1.0,
    ) -> None:
        options: dict[str, Option] = {"shape": shape, "size": size, "filled": filled, "opacity": opacity}
        if not filled:
            options |= {
                "strokeWidth": stroke_width,
                "fill": light("bg") if shape == "diamond" else "transparent",
            }
        self._add(plane, "point", space, options, {"x": x, "y": y, "color": light(token)})

    def path(
        self,
        points: Sequence[tuple[float, float]],
        *,
        token: str,
        plane: Plane,
        space: Space = "px",
        width: float = 1.8,
        opacity: float = 1.0,
        dash: Sequence[float] = (),
    ) -> None:
        """A line through ``points``."""
        options: dict[str, Option] = {
            "strokeWidth": width,
            "opacity": opacity,
            "strokeDash": tuple(dash),
            "strokeJoin": "round",
        }
        self._paths += 1
        for order, (x, y) in enumerate(points):
            row: Datum = {"x": x, "y": y, "color": light(token), "series": self._paths, "order": order}
            self._add(plane, "line", space, options, row)

    def draw(self) -> Drawing:
        # Imported here, for it imports what layers are.
        from gapbook.charts._kept import kept_svg  # noqa: PLC0415

        size = self.width, round(self.y)
        layers = sorted(self._layers.items(), key=lambda layer: layer[0].plane)
        return Drawing(kept_svg(size, layers, self.x_scale, self.y_scale), *size, tuple(self._boxes))

    def _add(self, plane: Plane, mark: Mark, space: Space, options: Mapping[str, Option], row: Datum) -> None:
        self._layers.setdefault(Style(plane, mark, space, tuple(options.items())), []).append(row)
