"""The table of contents of the book: parts of pages, and pages below a page."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, TypeAlias

__all__ = ["Contents", "pages_of", "with_last_page", "with_pages_below", "without_pages"]

Contents: TypeAlias = dict[str, Any]
"""A mapping of ``_toc.yml``: the whole, a part, or a page with those below it."""
_BELOW = ("parts", "chapters", "sections")


def pages_of(contents: Contents) -> list[Contents]:
    """Every page but the root, in the order of reading."""
    below = [one for key in _BELOW for one in contents.get(key, [])]
    return [page for one in below for page in (*([one] if "file" in one else []), *pages_of(one))]


def without_pages(contents: Contents, files: Collection[str]) -> Contents:
    """The same without some pages: those below one that goes take its place. A part of which no page is left has no
    caption either."""
    parts = ({**part, "chapters": _without(part["chapters"], files)} for part in contents["parts"])
    return {**contents, "parts": [part for part in parts if part["chapters"]]}


def _without(pages: Sequence[Contents], files: Collection[str]) -> list[Contents]:
    left: list[Contents] = []
    for page in pages:
        below = _without(page.get("sections", []), files)
        if page["file"] in files:
            left += below
        else:
            left.append({**page, "sections": below} if below else _alone(page))
    return left


def _alone(page: Contents) -> Contents:
    return {key: value for key, value in page.items() if key != "sections"}


def with_pages_below(contents: Contents, file: str, pages: Sequence[Contents]) -> Contents:
    """The same with more pages below one, wherever that stands."""
    return {
        key: [with_pages_below(one, file, pages) for one in value] if key in _BELOW else value
        for key, value in contents.items()
    } | ({"sections": [*contents.get("sections", []), *pages]} if contents.get("file") == file else {})


def with_last_page(contents: Contents, page: Contents) -> Contents:
    """The same with one more page at the end of its last part."""
    *before, last = contents["parts"]
    return {**contents, "parts": [*before, {**last, "chapters": [*last["chapters"], page]}]}
