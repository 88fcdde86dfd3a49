"""Page furniture of a chapter: answer, citation, re-run command, provenance, tables.

Pure functions from text to HTML. Every text is escaped; a part that is HTML already is passed as ``Html``.
"""

from __future__ import annotations

import hashlib
import html
import json
import re
import shlex
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Literal

__all__ = [
    "Answer",
    "Cited",
    "Download",
    "Html",
    "Input",
    "RegisterRow",
    "answer",
    "banner",
    "cite_panel",
    "claim_line",
    "download_buttons",
    "estimate",
    "provenance_line",
    "question_line",
    "refused_table",
    "register",
    "rerun_panel",
    "settings_table",
    "values_table",
]

BannerKind = Literal["own-run", "incomplete", "stale", "note"]

_NUMBER = re.compile(r"[×−+]?[\d.,]+[kM]?(?:\s?(?:%|/s|ms|s))?(?:\s\[.*\])?$")

_ICONS = {
    "confirmed": '<circle cx="8" cy="8" r="7"/><path d="M4.6 8.2l2.3 2.3 4.5-4.7"/>',
    "conditions": '<path class="gb-solid" d="M8 .6L15.4 8 8 15.4.6 8z"/><path d="M8 4.6v4M8 11v.2"/>',
    "refuted": '<rect x="1" y="1" width="14" height="14"/><path d="M5 5l6 6M11 5l-6 6"/>',
    "unmeasurable": '<circle class="gb-ring" cx="8" cy="8" r="6.2"/><path class="gb-ring" d="M5 8h6"/>',
    "version": '<circle class="gb-ring" cx="8" cy="8" r="6.2"/><path class="gb-ring" d="M5.4 6.6h5.2M5.4 9.4h5.2"/>',
    "unresolved": '<circle class="gb-ring" cx="8" cy="8" r="6.2"/><path class="gb-ring" d="M5.2 8h.1M8 8h.1M10.8 8h.1"/>',
    "elsewhere": '<circle class="gb-ring" cx="8" cy="8" r="6.2"/><path class="gb-ring" d="M5 8h5.6M8.4 5.6L10.8 8l-2.4 2.4"/>',
}


@dataclass(frozen=True)
class Html:
    """HTML that displays itself in a notebook."""

    html: str

    def __str__(self) -> str:
        return self.html

    def _repr_html_(self) -> str:
        return self.html


@dataclass(frozen=True)
class Cited:
    """A number of an answer: what it is of, the value as printed, and the blocks behind it."""

    quantity: str
    value: str
    n: int


@dataclass(frozen=True)
class Answer(Html):
    """An answer and the numbers that it gives: just these can be cited."""

    cited: tuple[Cited, ...] = ()


@dataclass(frozen=True)
class Download:
    """A file to take away, addressed relative to the page or within it (``#cite``)."""

    label: str
    href: str
    primary: bool = False


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


@dataclass(frozen=True)
class Input:
    """One input of the re-run panel; ``{name}`` in the command stands for its value.

    With ``choices`` the reader picks one of them, otherwise types a value.
    """

    name: str
    label: str
    default: str
    choices: tuple[str, ...] = ()


def _text(content: str | Html) -> str:
    return content.html if isinstance(content, Html) else html.escape(content)


def estimate(text: str) -> Html:
    """An estimate with its interval, kept on one line: ``×14.1 [13.4–14.8]``."""
    return Html(f'<strong class="gb-number">{html.escape(text)}</strong>')


def answer(sentence: str | Html, cited: Sequence[Cited] = ()) -> Answer:
    """The chapter's answer in one sentence or a few, with the numbers that it gives."""
    return Answer(f'<p class="gb-answer">{_text(sentence)}</p>', tuple(cited))


def claim_line(
    kind: str, says: str, *, anchor: str, where: str, verdict: tuple[str, str], address: str = ""
) -> Html:
    """What was claimed, where, and its verdict (a key of the icons and its words).

    ``anchor`` is the claim's place in the register, which says how the verdict was reached; ``address`` is
    that of the source.
    """
    key, word = verdict
    link = f'<a href="claims.html#{html.escape(anchor)}">why this verdict</a>'
    source = html.escape(where)
    if address:
        source = f'<a href="{html.escape(address)}">{source}</a>'
    return Html(
        f'<p class="gb-verdict gb-verdict-{html.escape(key)}">{_icon(key)}<strong>{html.escape(word)}</strong> '
        f"<b>{html.escape(kind)}.</b> {html.escape(says)} "
        f'<span class="gb-muted">{source} · {link}</span></p>'
    )


def question_line(question: str) -> Html:
    """What a chapter asks where nobody has published a claim."""
    return Html(f'<p class="gb-verdict"><b>Our own question.</b> {html.escape(question)}</p>')


def _icon(verdict: str) -> str:
    return f'<svg class="gb-icon" viewBox="0 0 16 16" aria-hidden="true">{_ICONS[verdict]}</svg>'


def banner(kind: BannerKind, text: str | Html) -> Html:
    """A note above the numbers: ``own-run``, ``incomplete``, ``stale`` or ``note``."""
    titles = {"own-run": "Your own run", "incomplete": "Incomplete", "stale": "Stale", "note": "Note"}
    if kind not in titles:
        raise ValueError(f"banner kind {kind!r} is unknown: use one of {', '.join(titles)}")
    return Html(f'<p class="gb-banner gb-banner-{kind}"><strong>{titles[kind]}.</strong> {_text(text)}</p>')


def download_buttons(downloads: Sequence[Download]) -> Html:
    """A row of links drawn as buttons."""
    links = []
    for download in downloads:
        kind = "gb-button gb-primary" if download.primary else "gb-button"
        target = "" if download.href.startswith("#") else " download"
        href, label = html.escape(download.href), html.escape(download.label)
        links.append(f'<a class="{kind}" href="{href}"{target}>{label}</a>')
    return Html(f'<p class="gb-buttons">{"".join(links)}</p>')


def provenance_line(parts: Sequence[str | Html]) -> Html:
    """Run, n, workload, host, settings, gates, date, code version, in one muted line."""
    return Html(f'<p class="gb-provenance">{" · ".join(_text(part) for part in parts if part)}</p>')


def cite_panel(*, plain: str, markdown: str, bibtex: str, anchor: str = "cite") -> Html:
    """The citation in three forms, switched without a script; a script adds the copy button."""
    forms = (("plain", plain), ("Markdown", markdown), ("BibTeX", bibtex))
    group = f"gb-{anchor}-{hashlib.sha256((plain + bibtex).encode()).hexdigest()[:8]}"
    tabs = "".join(
        f'<input type="radio" name="{group}" id="{group}-{index}"{" checked" if index == 0 else ""}>'
        f'<label for="{group}-{index}">{label}</label>'
        for index, (label, _) in enumerate(forms)
    )
    texts = "".join(f'<pre class="gb-code" tabindex="0">{html.escape(text)}</pre>' for _, text in forms)
    return Html(
        f'<section class="gb-panel gb-cite" id="{html.escape(anchor)}" aria-label="Cite this number">'
        f'<p class="gb-panel-title">Cite this number</p>{tabs}'
        f'<button type="button" class="gb-button gb-copy" hidden>copy</button>{texts}</section>'
    )


def rerun_panel(
    command: Sequence[str], inputs: Sequence[Input], *, needs: str = "", note: str = "", anchor: str = "rerun"
) -> Html:
    """The command that repeats this chapter; without a script it shows the default values.

    ``command`` is a list of words; each input follows it as ``-p name=value``. ``needs`` says what the run
    takes: ``about 14 min · 8 GB``; ``note`` what the command cannot say.
    """
    words = [*command, *(word for field in inputs for word in ("-p", f"{field.name}={field.default}"))]
    before = html.escape(json.dumps(list(command)))
    fields = "".join(_input(field, anchor) for field in inputs)
    told = f'<p class="gb-note">{html.escape(note)}</p>' if note else ""
    return Html(
        f'<section class="gb-panel gb-rerun" id="{html.escape(anchor)}" aria-label="Re-run this">'
        f'<p class="gb-panel-title">Re-run this</p><p class="gb-needs">{html.escape(needs)}</p>'
        f'<div class="gb-inputs">{fields}</div>{told}'
        f'<button type="button" class="gb-button gb-copy" hidden>copy</button>'
        f'<pre class="gb-code gb-command" tabindex="0" data-command="{before}">'
        f"{html.escape(shlex.join(words))}</pre></section>"
    )


def _input(field: Input, anchor: str) -> str:
    own = html.escape(f"{anchor}-{field.name}")
    name, default = html.escape(field.name), html.escape(field.default)
    if field.choices:
        if field.default not in field.choices:
            raise ValueError(f"input {field.name}: the default {field.default!r} is none of its choices")
        options = "".join(
            f"<option{' selected' if choice == field.default else ''}>{html.escape(choice)}</option>"
            for choice in field.choices
        )
        control = f'<select id="{own}" data-input="{name}">{options}</select>'
    else:
        width = max(3, len(field.default) + 1)
        control = f'<input type="text" id="{own}" data-input="{name}" value="{default}" size="{width}">'
    return f'<label for="{own}">{html.escape(field.label)} {control}</label>'


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


def settings_table(columns: tuple[str, str, str], rows: Sequence[tuple[str, str, str]]) -> Html:
    """Settings by their server, a folded table each: long values are broken, none is aligned out of sight."""
    servers = dict.fromkeys(server for server, _, _ in rows)
    parts = []
    for server in servers:
        head = "".join(f'<th scope="col">{html.escape(column)}</th>' for column in columns[1:])
        body = "".join(
            f'<tr><th scope="row">{html.escape(setting)}</th><td>{html.escape(value)}</td></tr>'
            for named, setting, value in rows
            if named == server
        )
        count = sum(named == server for named, _, _ in rows)
        parts.append(
            f'<details class="gb-fold"><summary>{html.escape(server)}, {count} rows</summary>'
            f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></details>"
        )
    return Html(f'<div class="gb-settings">{"".join(parts)}</div>')


def _cell(content: str | Html) -> str:
    is_number = isinstance(content, str) and _NUMBER.match(content)
    return f'<td class="gb-num">{_text(content)}</td>' if is_number else f"<td>{_text(content)}</td>"


def refused_table(rows: Sequence[tuple[str, str, str]]) -> Html:
    """Trials kept but not used: contestant, trial and the reason, in words."""
    if not rows:
        return Html('<p class="gb-muted">No trial was refused.</p>')
    table = values_table(("contestant", "trial", "why it is not counted"), rows, caption="Refused trials")
    count = f"{len(rows)} trial{'s' if len(rows) > 1 else ''} refused"
    return Html(f'<details class="gb-fold"><summary>{count}: each with its reason</summary>{table}</details>')


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
    icon = _icon(row.verdict)
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
