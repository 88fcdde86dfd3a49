"""The numbers of the published book: what executed chapters said, each with its address and the sentence that it stands in."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from gapbook.book.offered import GLUED, glued_values, with_values
from gapbook.errors import GapbookError
from gapbook.pages.number import NUMBERS_KIND, Number
from gapbook.pages.short_citation import number_id

__all__ = ["Addressed", "numbers_told", "plain", "without_numbers"]

_TITLED = re.compile(r"\{(?:doc|ref|term)\}`([^`<]+?)\s*(?:<[^`]*>)?`")
_SILENT = re.compile(r"\s*\{cite\}`[^`]*`")
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_ITEM = re.compile(r"^(?:[-*]|\d+\.)\s+")
_ENDS = re.compile(r"(?<=[.!?])\s+(?=[A-Z{`*])")


class Addressed(msgspec.Struct, frozen=True):
    """A number with its address: ``identifier`` is that of its page ``n/IDENTIFIER.html``, ``page`` and ``title`` those of
    the page that prints it, and ``sentence`` where it stands there."""

    identifier: str
    page: str
    title: str
    sentence: str
    number: Number


def numbers_told(executed: Mapping[str, Path]) -> list[Addressed]:
    """Every number of published runs that these executed notebooks print, by the name of each, in their order.

    Raises GapbookError where a page gives one name to two numbers, or two numbers have one address.
    """
    found: dict[str, Addressed] = {}
    for page, path in executed.items():
        notebook = json.loads(path.read_text(encoding="utf-8"))
        lines, values = list(_lines(notebook)), glued_values(notebook)
        for one in _numbers_of(page, notebook):
            sentence = one.sentence or _sentence_with(one.name, lines, values)
            if not (one.published and sentence):
                continue
            identifier = number_id(page, one.name)
            if identifier in found:
                raise GapbookError(f"book: two numbers have the address {identifier}; give one another name")
            found[identifier] = Addressed(identifier, page, plain(lines[0]), sentence, one)
    return list(found.values())


def without_numbers(cells: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The cells as a page shows them: numbers are for the build."""
    return [
        {
            **cell,
            "outputs": [one for one in cell["outputs"] if NUMBERS_KIND not in one.get("data", {})],
        }
        if "outputs" in cell
        else cell
        for cell in cells
    ]


def _numbers_of(page: str, notebook: Mapping[str, Any]) -> Sequence[Number]:
    """Each once: a number of the first screen may stand in the prose too."""
    found: dict[str, Number] = {}
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            for one in msgspec.convert(output.get("data", {}).get(NUMBERS_KIND, []), list[Number]):
                known = found.setdefault(one.name, one)
                if (known.quantity, known.value) != (one.quantity, one.value):
                    raise GapbookError(f"book: {page} has two numbers of the name {one.name}")
    return list(found.values())


def _sentence_with(name: str, lines: Sequence[str], values: Mapping[str, str]) -> str:
    """The first sentence of the prose in which a value of that name stands; empty where there is none."""
    for line in lines:
        for sentence in _ENDS.split(line):
            if name in GLUED.findall(sentence):
                return plain(with_values(sentence, values))
    return ""


def _lines(notebook: Mapping[str, Any]) -> Iterator[str]:
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            yield from filter(None, (line.strip() for line in "".join(cell["source"]).splitlines()))


def plain(prose: str) -> str:
    """A line of prose as it is read: without marks, with the words of its links."""
    text = _TITLED.sub(r"\1", _SILENT.sub("", prose.lstrip("# ")))
    text = _ITEM.sub("", _LINK.sub(r"\1", text))
    return re.sub(r"[*`]", "", text).strip()
