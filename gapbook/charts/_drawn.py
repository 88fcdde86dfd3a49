"""A drawing as HTML: of what the renderer wrote, just what charts are made of may stand on a page."""

from __future__ import annotations

import re
from xml.parsers import expat

from gapbook.markup import Html

__all__ = ["drawn"]

_ELEMENTS = frozenset(["clipPath", "defs", "desc", "g", "line", "path", "rect", "svg", "text", "title"])
_ATTRIBUTES = frozenset(
    [
        "aria-describedby",
        "aria-labelledby",
        "class",
        "clip-path",
        "d",
        "fill",
        "fill-opacity",
        "font-family",
        "font-size",
        "font-weight",
        "height",
        "id",
        "opacity",
        "role",
        "rx",
        "ry",
        "stroke",
        "stroke-dasharray",
        "stroke-linecap",
        "stroke-linejoin",
        "stroke-miterlimit",
        "stroke-opacity",
        "stroke-width",
        "text-anchor",
        "transform",
        "viewBox",
        "width",
        "x",
        "x1",
        "x2",
        "xmlns",
        "y",
        "y1",
        "y2",
    ]
)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
"""What XML has no way to say."""
_ELSEWHERE = re.compile(r"url\((?!#)|javascript:|data:", re.IGNORECASE)


def drawn(svg: str) -> Html:
    """An SVG as HTML. Raises ValueError where it is none, or holds what no chart has or an address of something else."""
    svg = _CONTROL.sub("", svg)
    parser = expat.ParserCreate()
    parser.StartElementHandler = _check
    try:
        parser.Parse(svg, True)
    except expat.ExpatError as error:
        raise ValueError(f"a drawing is no SVG: {error}") from error
    return Html(svg)


def _check(element: str, attributes: dict[str, str]) -> None:
    if element not in _ELEMENTS:
        raise ValueError(f"a drawing holds {element}: charts have {', '.join(sorted(_ELEMENTS))}")
    for name, value in attributes.items():
        if name not in _ATTRIBUTES or _ELSEWHERE.search(value):
            raise ValueError(f"a drawing's {element} has {name}={value!r:.60}, which no chart has")
