"""An extension of Sphinx that gives each table a caption, for readers who hear the page and programs that read it.

What a table shows stands above it already: the title of its chart, the line of its fold, the heading of its section.
"""

from __future__ import annotations

import re
from typing import Any

from gapbook.markup import Html, unescaped

__all__ = ["setup", "with_captions"]

_PASSED = re.compile(
    r'<(?P<named>title id="gb-|summary\b|h[1-6]\b)[^>]*>(?P<words>.*?)</(?:title|summary|h[1-6])>'
    r"|<(?P<fold>/?)details\b|(?P<chart_ends></figure>)|<table\b[^>]*>(?!\s*<caption\b)",
    re.DOTALL,
)
_UNREAD = re.compile(r'<a class="headerlink".*?</a>|<[^>]*>', re.DOTALL)
_CAPTION = Html('<caption class="visually-hidden">{}</caption>')


def with_captions(page: str) -> str:
    """The same HTML; a table without a caption has the title of what it stands in, unseen."""
    return _PASSED.sub(_Above().passed, page)


class _Above:
    """What stands above a place of a page: the heading of its section, the lines of the folds around it, the title of its
    chart."""

    def __init__(self) -> None:
        self._section, self._chart = "", ""
        self._folds: list[str] = []

    def passed(self, found: re.Match[str]) -> str:
        """Go past a piece of the page; the piece, with a caption behind it where it opens a table."""
        if found["named"]:
            self._name(found["named"], " ".join(unescaped(_UNREAD.sub("", found["words"])).split()))
        elif found["fold"] is not None:
            self._folds = self._folds[:-1] if found["fold"] else [*self._folds, ""]
        elif found["chart_ends"]:
            self._chart = ""
        elif title := self._chart or next(filter(None, reversed(self._folds)), self._section):
            return f"{found[0]}{_CAPTION.format(title).html}"
        return found[0]

    def _name(self, element: str, words: str) -> None:
        if element.startswith("title"):
            self._chart = words
        elif element == "summary":
            self._folds[-1:] = [words]
        else:
            self._section = words


def _add_captions(_app: Any, _page: str, _template: str, context: dict[str, Any], _tree: Any) -> None:
    if "body" in context:
        context["body"] = with_captions(context["body"])


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("html-page-context", _add_captions)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
