"""HTML that charts and pages are made of, by type: what is not ``Html`` is escaped wherever it meets ``Html``.

``Html`` is made of a literal and of parts: ``Html("<p>{}</p>").format(text)``, ``Html(", ").join(parts)``. Never of a
text that was put together before, which a test over all modules refuses.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence
from typing import Any, Protocol, Self

from markupsafe import Markup

__all__ = ["Html", "SupportsHtml", "each", "link", "unescaped", "values_table"]

_NUMBER = re.compile(r"[×−+]?[\d.,]+[kM]?(?:\s?(?:%|/s|ms|s))?(?:\s\[.*\])?$")
# A page, a place on it or a file beside it, or a site: no address of a script or of data.
_ADDRESS = re.compile(r"(?:https?://|#|\.\./|[\w][\w./-]*(?:[?#]|$))", re.ASCII)


class SupportsHtml(Protocol):
    """What can say itself as HTML: ``Html``, an answer, a figure."""

    def __html__(self) -> str: ...


class Html(Markup):
    """HTML that displays itself in a notebook; every text that is put into it is escaped."""

    __slots__ = ()

    @classmethod
    def escape(cls, content: Any, /) -> Self:
        """A text as HTML; what is HTML already stays as it is. Attributes stand in double quotes, so an apostrophe is none
        of the characters that must be escaped."""
        if hasattr(content, "__html__"):
            return cls(content)
        return cls(html.escape(str(content)).replace(html.escape("'"), "'"))

    @property
    def html(self) -> str:
        """The same as plain text, which is escaped where it is put into HTML again."""
        return str(self)

    def _repr_html_(self) -> str:
        return self.html

    def _repr_pretty_(self, printer: Any, _cycle: bool) -> None:
        # What a notebook keeps as plain text beside the HTML, which it would otherwise hold a second time.
        printer.text(f"HTML of {len(self):,} characters")

    def __format__(self, _specification: str) -> str:
        raise TypeError('Html in a formatted string loses its type: use Html("… {} …").format(part)')


def link(address: str, label: str | Html, *, kind: str = "", title: str = "", download: bool = False) -> Html:
    """A link to a page, a place or a site; where the address is of another kind, its label alone."""
    if not _ADDRESS.match(address):
        return Html.escape(label)
    named = Html(' class="{}"').format(kind) if kind else ""
    titled = Html(' title="{}"').format(title) if title else ""
    saved = " download" if download else ""
    return Html('<a{} href="{}"{}{}>{}</a>').format(named, address, titled, saved, label)


def unescaped(text: str) -> str:
    """A piece of HTML without elements as the text that it shows."""
    return html.unescape(text)


def each(template: Html, contents: Iterable[Any]) -> Html:
    """The template with each of the contents in it, one after the other."""
    return Html("").join(template.format(content) for content in contents)


def values_table(columns: Sequence[str], rows: Sequence[Sequence[str | Html]], *, caption: str = "") -> Html:
    """A plain table; cells that are numbers are aligned to the right."""
    for row in rows:
        if len(row) != len(columns):
            raise ValueError(f"a row has {len(row)} cells for {len(columns)} columns: {list(map(str, row))}")
    return Html(
        '<div class="gb-table"><table>{}<thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>'
    ).format(
        Html("<caption>{}</caption>").format(caption) if caption else "",
        each(Html('<th scope="col">{}</th>'), columns),
        each(Html("<tr>{}</tr>"), (Html("").join(map(_cell, row)) for row in rows)),
    )


def _cell(content: str | Html) -> Html:
    is_number = not isinstance(content, Html) and _NUMBER.match(content)
    return (Html('<td class="gb-num">{}</td>') if is_number else Html("<td>{}</td>")).format(content)
