"""The register of claims as a table that a script lets its reader filter, whole without one."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from gapbook.markup import Html, each, link
from gapbook.pages.page import verdict_icon

__all__ = ["RegisterRow", "register"]


@dataclass(frozen=True)
class RegisterRow:
    """One claim of the register; ``verdict`` is a key of the buttons, ``word`` its own line, ``ours`` one line a
    measurement.

    ``link`` leads to where it was measured, and is empty where nothing was.
    """

    anchor: str
    verdict: str
    word: str
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
    pill = Html(
        '<button type="button" class="gb-pill" data-verdict="{}" aria-pressed="{}">{} <span>{}</span></button>'
    )
    pills = Html("").join(
        pill.format(verdict, pressed, word, count)
        for verdict, word, count, pressed in (
            ("", "All", len(rows), "true"),
            *(
                (verdict, word, counts[verdict], "false")
                for verdict, word in words.items()
                if counts[verdict]
            ),
        )
    )
    head = each(Html('<th scope="col">{}</th>'), ("verdict", "claim and source", "published", "ours"))
    anchors = {row.anchor for row in rows}
    body = Html("").join(_register_row(row, anchors) for row in rows)
    return Html(
        '<section class="gb-register" aria-label="Register of claims"><div class="gb-filter" hidden>{}'
        '<input type="search" class="gb-search" placeholder="system, factor, words" aria-label="Search claims">'
        '<p class="gb-showing gb-muted" role="status"></p></div>'
        '<div class="gb-table"><table><thead><tr>{}</tr></thead><tbody>{}</tbody></table></div></section>'
    ).format(pills, head, body)


def _register_row(row: RegisterRow, anchors: Set[str]) -> Html:
    details = each(Html("<li>{}</li>"), row.details)
    href, label = row.link
    return Html(
        '<tr id="{anchor}" data-verdict="{verdict}">'
        '<td><span class="gb-verdict gb-verdict-{verdict}">{icon}<strong>{word}</strong></span></td>'
        '<td>{says}<span class="gb-source"><a href="#{anchor}">{anchor}</a> · {source}</span>'
        '<span class="gb-why">{why}</span>{more}</td>'
        '<td data-label="published">{published}</td><td data-label="ours">{ours}{link}</td></tr>'
    ).format(
        anchor=row.anchor,
        verdict=row.verdict,
        icon=verdict_icon(row.verdict),
        word=row.word,
        says=row.says,
        source=row.source,
        why=_with_links(row.why, anchors),
        more=Html("<details><summary>evidence</summary><ul>{}</ul></details>").format(details)
        if details
        else "",
        published=row.published,
        ours=each(Html('<span class="gb-line">{}</span>'), row.ours),
        link=link(href, label) if href else "",
    )


def _with_links(text: str, anchors: Set[str]) -> Html:
    """Text in which each name of another entry leads to it."""
    words = re.split(r"([a-z][a-z0-9-]+)", text)
    return Html("").join(link(f"#{word}", word) if word in anchors else word for word in words)
