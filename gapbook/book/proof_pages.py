"""The page of a chapter's trials: what its cell tagged ``proof`` shows, taken out of the chapter's own page.

The first output of that cell stays with the chapter: how many trials count, and the link. In all others a text in
Markdown is a heading of the page, and everything else stands below it as it was shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gapbook.book.contents import Contents, pages_of, with_last_page
from gapbook.pages.proof.every_trial import trials_of

__all__ = [
    "EVERY_TRIAL",
    "page_of",
    "prose",
    "trials_of",
    "trials_page",
    "with_trials_pages",
    "without_proof",
]

EVERY_TRIAL = "book/every-trial"
"""The page that leads to those of all chapters."""
_PROOF = "proof"
_HEADING = "text/markdown"


def _proves(cell: dict[str, Any]) -> bool:
    return _PROOF in cell["metadata"].get("tags", [])


def without_proof(cells: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The cells of a chapter's own page: of its proof the first line alone."""
    return [{**cell, "outputs": cell["outputs"][:1]} if _proves(cell) else cell for cell in cells]


def trials_page(chapter: str, notebook: dict[str, Any]) -> dict[str, Any] | None:
    """The notebook of the page of a chapter's trials; None for one that shows no proof."""
    shown = [(cell, output) for cell in notebook["cells"] if _proves(cell) for output in cell["outputs"][1:]]
    if not shown:
        return None
    title = _title(notebook)
    head = f"# Every trial: {title}\n\nBack to the chapter: [{title}]({chapter}.ipynb)."
    return page_of(notebook, [prose(head), *(_shown(cell, output) for cell, output in shown)], "trials")


def page_of(notebook: Mapping[str, Any], cells: Sequence[dict[str, Any]], name: str) -> dict[str, Any]:
    """A notebook of these cells, with ids that follow from the name: the same in each build."""
    return {**notebook, "cells": [{**cell, "id": f"{name}-{number}"} for number, cell in enumerate(cells)]}


def _title(notebook: dict[str, Any]) -> str:
    first = next(cell for cell in notebook["cells"] if cell["cell_type"] == "markdown")
    return str("".join(first["source"]).partition("\n")[0].removeprefix("# "))


def _shown(cell: dict[str, Any], output: dict[str, Any]) -> dict[str, Any]:
    """A heading as prose; another output in a cell of its own, with the code that made it: the renderer shows nothing
    of a cell without code."""
    heading = "".join(output.get("data", {}).get(_HEADING, ""))
    return prose(heading) if heading else {**cell, "outputs": [output]}


def prose(text: str) -> dict[str, Any]:
    """A cell of prose."""
    return {"cell_type": "markdown", "metadata": {}, "source": text}


def with_trials_pages(contents: Contents, chapters: Sequence[str]) -> Contents:
    """A table of contents with the pages of these chapters' trials below one page, which stands last in it."""
    if not chapters:
        return contents
    titles = {page["file"]: page["title"] for page in pages_of(contents) if "title" in page}
    places = {page["file"]: place for place, page in enumerate(pages_of(contents))}
    ordered = sorted(chapters, key=lambda name: places.get(_file_of(name), len(places)))
    sections = [_listed(name, titles.get(_file_of(name))) for name in ordered]
    return with_last_page(contents, {"file": EVERY_TRIAL, "sections": sections})


def _file_of(chapter: str) -> str:
    return f"notebooks/{chapter}"


def _listed(chapter: str, title: str | None) -> Contents:
    return {"file": _file_of(trials_of(chapter)), **({"title": title} if title else {})}
