"""The table of contents of the book: parts of pages, and pages below a page."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, TypeAlias

__all__ = ["Contents", "pages_of", "with_last_page", "without_pages"]

Contents: TypeAlias = dict[str, Any]
"""A mapping of ``_toc.yml``: the whole, a part, or a page with those below it."""
_BELOW = ("parts", "chapters", "sections")


def pages_of(contents: Contents) -> list[Contents]:
    """Every page but the root, in the order of reading."""
    below = [one for key in _BELOW for one in contents.get(key, [])]
    return [page for one in below for page in (*([one] if "file" in one else []), *pages_of(one))]


def without_pages(contents: Contents, files: Collection[str]) -> Contents:
    """The same without some pages. A part of which no page is left has no caption either."""
    parts = (
        {**part, "chapters": [page for page in part["chapters"] if page["file"] not in files]}
        for part in contents["parts"]
    )
    return {**contents, "parts": [part for part in parts if part["chapters"]]}


def with_last_page(contents: Contents, page: Contents) -> Contents:
    """The same with one more page at the end of its last part."""
    *before, last = contents["parts"]
    return {**contents, "parts": [*before, {**last, "chapters": [*last["chapters"], page]}]}
