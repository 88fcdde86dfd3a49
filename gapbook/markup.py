"""HTML that charts and pages are made of: every text escaped, a part that is HTML already passed as ``Html``."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Html", "escaped", "values_table"]

_NUMBER = re.compile(r"[×−+]?[\d.,]+[kM]?(?:\s?(?:%|/s|ms|s))?(?:\s\[.*\])?$")


@dataclass(frozen=True)
class Html:
    """HTML that displays itself in a notebook."""

    html: str

    def __str__(self) -> str:
        return self.html

    def _repr_html_(self) -> str:
        return self.html


def escaped(content: str | Html) -> str:
    """A text as HTML; what is HTML already stays as it is."""
    return content.html if isinstance(content, Html) else html.escape(content)


def values_table(columns: Sequence[str], rows: Sequence[Sequence[str | Html]], *, caption: str = "") -> Html:
    """A plain table; cells that are numbers are aligned to the right."""
    for row in rows:
        if len(row) != len(columns):
            raise ValueError(f"a row has {len(row)} cells for {len(columns)} columns: {list(map(str, row))}")
    head = "".join(f'<th scope="col">{html.escape(column)}</th>' for column in columns)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    title = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    return Html(
        f'<div class="gb-table"><table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
    )


def _cell(content: str | Html) -> str:
    is_number = isinstance(content, str) and _NUMBER.match(content)
    return f'<td class="gb-num">{escaped(content)}</td>' if is_number else f"<td>{escaped(content)}</td>"
