"""The register of claims as a table that a script lets its reader filter, whole without one."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from gapbook.markup import Html
from gapbook.pages.page import verdict_icon

__all__ = ["RegisterRow", "register"]


@dataclass(frozen=True)
class RegisterRow:
    """One claim of the register; ``verdict`` is a key of its words, ``ours`` one line a measurement.

    ``link`` leads to where it was measured, and is empty where nothing was.
    """

    anchor: str
    verdict: str
    says: str
    source: str
    published: str
    ours: Sequence[str]
    why: str
    details: Sequence[str] = ()
    link: tuple[str, str] = ("", "")


def register(rows: Sequence[RegisterRow], words: Mapping[str, str]) -> Html:
    """The register of claims: a table that a script lets its reader filter, whole without one.

    ``words`` are the verdicts in the order of their buttons.
    """
    for row in rows:
        if row.verdict not in words:
            raise ValueError(f"verdict {row.verdict!r} of {row.anchor} is none of {', '.join(words)}")
    counts = {verdict: sum(row.verdict == verdict for row in rows) for verdict in words}
    pills = "".join(
        f'<button type="button" class="gb-pill" data-verdict="{verdict}" aria-pressed="{pressed}">'
        f"{html.escape(word)} <span>{count}</span></button>"
        for verdict, word, count, pressed in (
            ("", "All", len(rows), "true"),
            *(
                (verdict, word, counts[verdict], "false")
                for verdict, word in words.items()
                if counts[verdict]
            ),
        )
    )
    head = "".join(
        f'<th scope="col">{name}</th>' for name in ("verdict", "claim and source", "published", "ours")
    )
    anchors = {row.anchor for row in rows}
    body = "".join(_register_row(row, words[row.verdict], anchors) for row in rows)
    return Html(
        f'<section class="gb-register" aria-label="Register of claims"><div class="gb-filter" hidden>{pills}'
        '<input type="search" class="gb-search" placeholder="system, factor, words" aria-label="Search claims">'
        f'<p class="gb-showing gb-muted" role="status"></p></div>'
        f'<div class="gb-table"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div></section>'
    )


def _register_row(row: RegisterRow, word: str, anchors: Set[str]) -> str:
    icon = verdict_icon(row.verdict)
    details = "".join(f"<li>{html.escape(line)}</li>" for line in row.details)
    more = f"<details><summary>evidence</summary><ul>{details}</ul></details>" if details else ""
    ours = "".join(f'<span class="gb-line">{html.escape(line)}</span>' for line in row.ours)
    href, label = row.link
    link = f'<a href="{html.escape(href)}">{html.escape(label)}</a>' if href else ""
    anchor = html.escape(row.anchor)
    return (
        f'<tr id="{anchor}" data-verdict="{html.escape(row.verdict)}">'
        f'<td><span class="gb-verdict gb-verdict-{html.escape(row.verdict)}">{icon}'
        f"<strong>{html.escape(word)}</strong></span></td>"
        f"<td>{html.escape(row.says)}"
        f'<span class="gb-source"><a href="#{anchor}">{anchor}</a> · {html.escape(row.source)}</span>'
        f'<span class="gb-why">{_with_links(row.why, anchors)}</span>{more}</td>'
        f'<td data-label="published">{html.escape(row.published)}</td>'
        f'<td data-label="ours">{ours}{link}</td></tr>'
    )


def _with_links(text: str, anchors: Set[str]) -> str:
    """Text in which each name of another entry leads to it."""

    def link(word: re.Match[str]) -> str:
        return f'<a href="#{word[0]}">{word[0]}</a>' if word[0] in anchors else word[0]

    return re.sub(r"[a-z][a-z0-9-]+", link, html.escape(text))
