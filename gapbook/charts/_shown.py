"""Charts as a page shows them, taken out of its HTML again: for files that stand beside the page."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from gapbook.charts._figure import Table
from gapbook.charts._kept import kept_png
from gapbook.markup import Html, unescaped

__all__ = ["Shown", "shown_in", "with_lines_below", "without_narrow"]

_FIGURE = re.compile(
    r'(<figure class="gb-fig" id="gb-(?P<kind>[\w-]+)-[0-9a-f]{10}"(?: data-name="(?P<name>[a-z0-9-]+)")?>'
    r'<div class="gb-wide">(?P<wide><svg.*?</svg>)</div><div class="gb-phone"[^>]*>(?P<phone><svg.*?</svg>)</div>'
    r"(?P<rest>.*?))(?P<end></figure>)",
    re.DOTALL,
)
_TOLD = re.compile(r"<title[^>]*>(.*?)</title><desc[^>]*>(.*?)</desc>", re.DOTALL)
# Where a drawing takes the colours of its page, with its own light one behind each. A text has no quotation mark.
_VARIABLE = re.compile(r'(?<=")var\(--gb-[a-z-]+, (#[0-9A-Fa-f]{6})\)(?=")')
_OPENS = len("svg") + 1  # behind which the attributes of a drawing begin
_NAMESPACE = ' xmlns="http://www.w3.org/2000/svg"'
_ROW = re.compile(r"<tr>(.*?)</tr>", re.DOTALL)
_CELL = re.compile(r"<t[hd][^>]*>(.*?)</t[hd]>", re.DOTALL)


@dataclass(frozen=True)
class Shown:
    """A chart of a page: ``kind`` of chart, the ``name`` that its author gave it or none, and what its files hold."""

    kind: str
    name: str
    title: str
    description: str
    svg: str
    phone_svg: str
    table: Table

    def as_json(self) -> str:
        """Title, description and table as JSON."""
        rows = [dict(zip(self.table.columns, row, strict=True)) for row in self.table.rows]
        told = {"title": self.title, "description": self.description, "rows": rows}
        return json.dumps(told, indent=1, ensure_ascii=False)

    def png(self) -> bytes:
        """The wide drawing at twice its size."""
        return kept_png(self.svg, 2)


def shown_in(page: str) -> list[Shown]:
    """The charts of a piece of HTML, in their order."""
    return [_shown(found) for found in _FIGURE.finditer(page)]


def with_lines_below(page: str, lines: list[Html]) -> str:
    """The same HTML with one of the lines at the foot of each of its charts, in their order."""
    left = iter(lines)
    return _FIGURE.sub(lambda found: f"{found[1]}{next(left).html}{found['end']}", page)


def without_narrow(page: str) -> str:
    """The same HTML without the drawings for phones, which are shown where the book's style sheet is alone."""
    return _FIGURE.sub(lambda found: found[0].replace(found["phone"], ""), page)


def _shown(found: re.Match[str]) -> Shown:
    told = _TOLD.search(found["wide"])
    title, description = map(unescaped, told.groups()) if told else ("", "")
    head, *rows = [tuple(map(unescaped, _CELL.findall(row))) for row in _ROW.findall(found["rest"])] or [()]
    return Shown(
        found["kind"],
        found["name"] or "",
        title,
        description,
        _alone(found["wide"]),
        _alone(found["phone"]),
        Table(head, tuple(rows)),
    )


def _alone(svg: str) -> str:
    """A drawing of a page as a file of its own, in light colours."""
    light = _VARIABLE.sub(r"\1", svg)
    return f"{light[:_OPENS]}{_NAMESPACE}{light[_OPENS:]}"
