"""Page furniture of a chapter: answer, citation, re-run command, provenance, tables.

Pure functions from text to HTML. Every text is escaped; a part that is HTML already is passed as ``Html``.
"""

from __future__ import annotations

import hashlib
import html
import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from gapbook.markup import Html, escaped, values_table

__all__ = [
    "Answer",
    "Cited",
    "Download",
    "Input",
    "answer",
    "banner",
    "cite_panel",
    "claim_line",
    "download_buttons",
    "estimate",
    "provenance_line",
    "question_line",
    "refused_table",
    "rerun_panel",
    "settings_table",
    "verdict_icon",
]

BannerKind = Literal["own-run", "incomplete", "stale", "note"]

_ICONS = {
    "confirmed": '<circle cx="8" cy="8" r="7"/><path d="M4.6 8.2l2.3 2.3 4.5-4.7"/>',
    "conditions": '<path class="gb-solid" d="M8 .6L15.4 8 8 15.4.6 8z"/><path d="M8 4.6v4M8 11v.2"/>',
    "refuted": '<rect x="1" y="1" width="14" height="14"/><path d="M5 5l6 6M11 5l-6 6"/>',
    "unmeasurable": '<circle class="gb-ring" cx="8" cy="8" r="6.2"/><path class="gb-ring" d="M5 8h6"/>',
    "version": '<circle class="gb-ring" cx="8" cy="8" r="6.2"/><path class="gb-ring" d="M5.4 6.6h5.2M5.4 9.4h5.2"/>',
    "unresolved": '<circle class="gb-ring" cx="8" cy="8" r="6.2"/><path class="gb-ring" d="M5.2 8h.1M8 8h.1M10.8 8h.1"/>',
}


@dataclass(frozen=True)
class Cited:
    """A number of an answer: what it is of, the value as printed, and the blocks behind it.

    ``over_sessions`` is the same with its interval over sessions, empty where a run cannot tell it.
    """

    quantity: str
    value: str
    n: int
    over_sessions: str = ""


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
class Input:
    """One input of the re-run panel; ``{name}`` in the command stands for its value.

    With ``choices`` the reader picks one of them, otherwise types a value.
    """

    name: str
    label: str
    default: str
    choices: tuple[str, ...] = ()


def estimate(text: str) -> Html:
    """An estimate with its interval, kept on one line: ``×14.1 [13.4–14.8]``."""
    return Html(f'<strong class="gb-number">{html.escape(text)}</strong>')


def answer(sentence: str | Html, cited: Sequence[Cited] = ()) -> Answer:
    """The chapter's answer in one sentence or a few, with the numbers that it gives."""
    return Answer(f'<p class="gb-answer">{escaped(sentence)}</p>', tuple(cited))


def claim_line(
    kind: str,
    says: str,
    *,
    anchor: str,
    where: str,
    verdict: tuple[str, str],
    basis: str | Html = "",
    summary: str = "",
    address: str = "",
) -> Html:
    """What was claimed, where, and its verdict (a key of the icons and its words).

    ``basis`` says what the verdict rests on, ``summary`` where it does not hold. ``anchor`` is the claim's place in
    the register, which says how the verdict was reached; ``address`` is that of the source.
    """
    key, word = verdict
    link = f'<a href="claims.html#{html.escape(anchor)}">why this verdict</a>'
    source = html.escape(where)
    if address:
        source = f'<a href="{html.escape(address)}">{source}</a>'
    return Html(
        f'<p class="gb-verdict gb-verdict-{html.escape(key)}">{verdict_icon(key)}<strong>{html.escape(word)}</strong>'
        f"{f', {escaped(basis)}' if basis else ''}. "
        f"<b>{html.escape(kind)}.</b> {html.escape(says)} {html.escape(summary)} "
        f'<span class="gb-muted">{source} · {link}</span></p>'
    )


def question_line(question: str) -> Html:
    """What a chapter asks where nobody has published a claim."""
    return Html(f'<p class="gb-verdict"><b>Our own question.</b> {html.escape(question)}</p>')


def verdict_icon(verdict: str) -> str:
    """The sign of a verdict, which its word stands beside."""
    return f'<svg class="gb-icon" viewBox="0 0 16 16" aria-hidden="true">{_ICONS[verdict]}</svg>'


def banner(kind: BannerKind, text: str | Html) -> Html:
    """A note above the numbers: ``own-run``, ``incomplete``, ``stale`` or ``note``."""
    titles = {"own-run": "Your own run", "incomplete": "Incomplete", "stale": "Stale", "note": "Note"}
    if kind not in titles:
        raise ValueError(f"banner kind {kind!r} is unknown: use one of {', '.join(titles)}")
    return Html(f'<p class="gb-banner gb-banner-{kind}"><strong>{titles[kind]}.</strong> {escaped(text)}</p>')


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
    return Html(f'<p class="gb-provenance">{" · ".join(escaped(part) for part in parts if part)}</p>')


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


def refused_table(rows: Sequence[tuple[str, str, str]]) -> Html:
    """Trials kept but not used: contestant, trial and the reason, in words."""
    if not rows:
        return Html('<p class="gb-muted">No trial was refused.</p>')
    table = values_table(("contestant", "trial", "why it is not counted"), rows, caption="Refused trials")
    count = f"{len(rows)} trial{'s' if len(rows) > 1 else ''} refused"
    return Html(f'<details class="gb-fold"><summary>{count}: each with its reason</summary>{table}</details>')
