"""The pages of published documents: what the register's cell tagged ``documents`` shows, which stays off its own page.

An output in Markdown is the title of a page, whose name is in its metadata; what follows stands on that page.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gapbook.book.contents import Contents, with_pages_below
from gapbook.book.proof_pages import page_of, prose
from gapbook.claims.claim import document_pages

__all__ = ["REGISTER_PAGE", "document_notebooks", "titles_of_documents", "with_document_pages"]

_DOCUMENTS = "documents"
REGISTER_PAGE = "claims"
"""The page of all claims."""
_TITLE = "text/markdown"


def titles_of_documents() -> Mapping[str, str]:
    """What the contents call each document, by the name of its page."""
    return {name: source.short for name, source in document_pages().items()}


def document_notebooks(notebook: Mapping[str, Any]) -> Mapping[str, dict[str, Any]]:
    """The notebooks of the pages of documents by their names, out of an executed one; none where it shows no document."""
    pages: dict[str, list[dict[str, Any]]] = {}
    own: list[dict[str, Any]] = []
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []) if _DOCUMENTS in cell["metadata"].get("tags", []) else []:
            if name := output["metadata"].get("page"):
                own = pages.setdefault(name, [prose("".join(output["data"][_TITLE]))])
            else:
                own.append({**cell, "metadata": {"tags": ["remove-input"]}, "outputs": [output]})
    return {name: page_of(notebook, cells, name) for name, cells in pages.items()}


def with_document_pages(contents: Contents) -> Contents:
    """A table of contents with the pages of documents below that of the register."""
    below = [{"file": f"notebooks/{name}", "title": title} for name, title in titles_of_documents().items()]
    return with_pages_below(contents, f"notebooks/{REGISTER_PAGE}", below)
