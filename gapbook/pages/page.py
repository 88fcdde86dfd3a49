"""Page furniture of a chapter: answer, citation, re-run command, provenance, tables.

Pure functions from text to HTML. Every text is escaped; a part that is HTML already is passed as ``Html``.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, zip_longest
from typing import Literal

from gapbook.markup import Html, each, link, values_table
from gapbook.method.over_runs import Between
from gapbook.method.source import Source
from gapbook.parameters import Range

__all__ = [
    "Answer",
    "Cited",
    "Download",
    "Input",
    "answer",
    "answer_word",
    "banner",
    "cite_panel",
    "claim_line",
    "download_buttons",
    "estimate",
    "fold",
    "link_buttons",
    "provenance_line",
    "published_claim",
    "refused_table",
    "rerun_panel",
    "settings_table",
    "verdict_icon",
    "verdict_line",
]

BannerKind = Literal["own-run", "incomplete", "stale", "note"]

_ICONS = {
    "confirmed": Html('<circle cx="8" cy="8" r="7"/><path d="M4.6 8.2l2.3 2.3 4.5-4.7"/>'),
    "conditions": Html('<path class="gb-solid" d="M8 .6L15.4 8 8 15.4.6 8z"/><path d="M8 4.6v4M8 11v.2"/>'),
    "refuted": Html('<rect x="1" y="1" width="14" height="14"/><path d="M5 5l6 6M11 5l-6 6"/>'),
    "not-here": Html(
        '<rect class="gb-ring" x="1.5" y="1.5" width="13" height="13"/>'
        '<path class="gb-ring" d="M5 6.4h6M5 9.6h6M9.8 4.2l-3.6 7.6"/>'
    ),
    "note": Html('<circle class="gb-ring" cx="8" cy="8" r="6.2"/><path class="gb-ring" d="M5 8h6"/>'),
    "undecided": Html(
        '<circle class="gb-ring" cx="8" cy="8" r="6.2"/><path class="gb-ring" d="M5.2 8h.1M8 8h.1M10.8 8h.1"/>'
    ),
}


@dataclass(frozen=True)
class Cited:
    """A number of an answer: what it is of, the value as printed, and the blocks behind it.

    ``over_sessions`` is the same with its interval over sessions, empty where a run cannot tell it; ``between_runs``
    from the least to the greatest that published runs made of it, None where there is but one. ``source`` is what it is
    made of, None where that is more than a few cells.
    """

    quantity: str
    value: str
    n: int
    over_sessions: str = ""
    between_runs: Between | None = field(default=None, repr=False)
    source: Source | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Answer:
    """An answer and the numbers that it gives: just these can be cited. ``notes`` are what it must be read with."""

    sentence: Html
    cited: tuple[Cited, ...] = ()
    notes: str = ""

    @property
    def text(self) -> Html:
        gloss = Html(' <span class="gb-gloss">{}</span>').format(self.notes) if self.notes else Html("")
        return Html('<p class="gb-answer">{}{}</p>').format(self.sentence, gloss)

    def noted(self, first: str) -> Answer:
        """The same with a note before the others."""
        return replace(self, notes=f"{first} {self.notes}".strip())

    @property
    def html(self) -> str:
        return self.text.html

    def __html__(self) -> Html:
        return self.text

    def _repr_html_(self) -> str:
        return self.text.html


@dataclass(frozen=True)
class Download:
    """A file to take away, addressed relative to the page or within it (``#cite``)."""

    label: str
    href: str
    primary: bool = False


@dataclass(frozen=True)
class Input:
    """One input of the re-run panel; ``{name}`` in the command stands for its value.

    With ``choices`` the reader picks one of them, otherwise types a value. ``range`` is that of each number, of which
    there may be ``several``; ``allowed`` says so in words.
    """

    name: str
    label: str
    default: str
    choices: tuple[str, ...] = ()
    range: Range | None = None
    several: bool = False
    allowed: str = ""


def estimate(text: str) -> Html:
    """An estimate with its interval, kept on one line: ``×14.1 [13.4–14.8]``."""
    return Html('<strong class="gb-number">{}</strong>').format(text)


def answer(sentence: str | Html, cited: Sequence[Cited] = (), notes: str = "") -> Answer:
    """The chapter's answer in one sentence or a few, with the numbers that it gives, and what it must be read with."""
    return Answer(Html("{}").format(sentence), tuple(cited), notes)


def claim_line(
    kind: str,
    says: str,
    *,
    why: str,
    where: str,
    verdict: tuple[str, str],
    basis: str | Html = "",
    summary: str = "",
    address: str = "",
) -> Html:
    """What was claimed, where, and its verdict (a key of the icons and its words).

    ``basis`` says what the verdict rests on, ``summary`` where it does not hold. ``why`` is the address of how the
    verdict was reached; ``address`` is that of the source.
    """
    key, word = verdict
    return Html(
        '<p class="gb-verdict gb-verdict-{}">{}<strong>{}</strong>{}. '
        '<b>{}.</b> {} {} <span class="gb-muted">{} · {}</span></p>'
    ).format(
        key,
        verdict_icon(key),
        word,
        Html(", {}").format(basis) if basis else "",
        kind,
        says,
        summary,
        link(address, where) if address else where,
        link(why, "why this verdict"),
    )


def published_claim(kind: str, says: str, *, by: str, address: str) -> Html:
    """What was published, by whom and when, with its address."""
    return Html('<p class="gb-claim"><b>{}:</b> {} <span class="gb-muted">{}</span></p>').format(
        kind, says, link(address, by) if address else by
    )


def verdict_line(key: str, word: str, goes_on: str, *, why: str, numbers: Sequence[str] = ()) -> Html:
    """A verdict (a key of the icons and its words), what goes on from it with our numbers, and ``why``, an address.
    ``numbers`` are ours in it: they stand out, for they are what the word is about."""
    # Not as a part of another: 2.0 in 2.0.1.
    ours = re.compile("|".join(rf"(?<![\d.,]){re.escape(one)}(?!\d|[.,]\d)" for one in numbers) or "(?!)")
    shown = [Html('<strong class="gb-number">{}</strong>').format(one) for one in ours.findall(goes_on)]
    parts = chain.from_iterable(zip_longest(ours.split(goes_on), shown, fillvalue=""))
    return Html(
        '<p class="gb-verdict gb-verdict-{}">{}<strong>{}</strong>{}. <span class="gb-muted">{}</span></p>'
    ).format(
        key,
        verdict_icon(key),
        word,
        Html("").join(parts),
        link(why, "Why"),
    )


def answer_word(word: str) -> Html:
    """The answer to a question of our own in a word or a few; nothing where a run has none."""
    return Html('<p class="gb-verdict gb-word"><strong>{}</strong></p>').format(word) if word else Html("")


def verdict_icon(verdict: str) -> Html:
    """The sign of a verdict, which its word stands beside."""
    return Html('<svg class="gb-icon" viewBox="0 0 16 16" aria-hidden="true">{}</svg>').format(
        _ICONS[verdict]
    )


def banner(kind: BannerKind, text: str | Html) -> Html:
    """A note above the numbers: ``own-run``, ``incomplete``, ``stale`` or ``note``."""
    titles = {"own-run": "Your own run", "incomplete": "Incomplete", "stale": "Stale", "note": "Note"}
    if kind not in titles:
        raise ValueError(f"banner kind {kind!r} is unknown: use one of {', '.join(titles)}")
    return Html('<p class="gb-banner gb-banner-{}"><strong>{}.</strong> {}</p>').format(
        kind, titles[kind], text
    )


def download_buttons(downloads: Sequence[Download]) -> Html:
    """A row of links drawn as buttons."""
    links = []
    for download in downloads:
        kind = "gb-button gb-primary" if download.primary else "gb-button"
        within = download.href.startswith("#")
        links.append(link(download.href, download.label, kind=kind, download=not within))
    return Html('<p class="gb-buttons">{}</p>').format(Html("").join(links))


def link_buttons(doors: Sequence[Download]) -> Html:
    """The same for places to go on to, which are pages and no files."""
    links = (
        link(door.href, door.label, kind="gb-button gb-primary" if door.primary else "gb-button")
        for door in doors
    )
    return Html('<p class="gb-buttons">{}</p>').format(Html("").join(links))


def provenance_line(parts: Sequence[str | Html]) -> Html:
    """Run, n, workload, host, settings, gates, date, code version, in one muted line."""
    return Html('<p class="gb-provenance">{}</p>').format(Html(" · ").join(filter(None, parts)))


def cite_panel(
    forms: Mapping[str, str], *, anchor: str = "cite", title: str = "Cite this number", address: str = ""
) -> Html:
    """The citation in each form, by its label, switched without a script; a script adds the copy button.

    ``address`` is that of the number's own page, from the first page of the book on, as it stands in the forms: a script
    writes it out as a reader has it, where the book stands on the web.
    """
    group = f"gb-{anchor}-{hashlib.sha256(''.join(forms.values()).encode()).hexdigest()[:8]}"
    tab = Html('<input type="radio" name="{0}" id="{0}-{1}"{2}><label for="{0}-{1}">{3}</label>')
    tabs = Html("").join(
        tab.format(group, index, " checked" if index == 0 else "", label) for index, label in enumerate(forms)
    )
    texts = each(Html('<pre class="gb-code" tabindex="0">{}</pre>'), forms.values())
    own_page = (
        Html('<p class="gb-note">{}</p>').format(
            link(f"../{address}", "Its own page: history, data, card", kind="gb-address")
        )
        if address
        else ""
    )
    return Html(
        '<section class="gb-panel gb-cite" id="{0}" aria-label="{1}"><p class="gb-panel-title">{1}</p>{2}'
        '<button type="button" class="gb-button gb-copy" hidden>copy</button>{3}{4}</section>'
    ).format(anchor, title, tabs, texts, own_page)


def rerun_panel(
    command: Sequence[str], inputs: Sequence[Input], *, needs: str = "", note: str = "", anchor: str = "rerun"
) -> Html:
    """The command that repeats this chapter; without a script it shows the default values.

    ``command`` is a list of words; each input follows it as ``-p name=value``. ``needs`` says what the run
    takes: ``about 14 min · 8 GB``; ``note`` what the command cannot say.
    """
    words = [*command, *(word for field in inputs for word in ("-p", f"{field.name}={field.default}"))]
    return Html(
        '<section class="gb-panel gb-rerun" id="{}" aria-label="Re-run this">'
        '<p class="gb-panel-title">Re-run this</p><p class="gb-needs">{}</p>'
        '<div class="gb-inputs">{}</div><p class="gb-invalid" role="status"></p>{}'
        '<button type="button" class="gb-button gb-copy" hidden>copy</button>'
        '<pre class="gb-code gb-command" tabindex="0" data-command="{}">{}</pre></section>'
    ).format(
        anchor,
        needs,
        Html("").join(_input(field, anchor) for field in inputs),
        Html('<p class="gb-note">{}</p>').format(note) if note else "",
        json.dumps(list(command)),
        shlex.join(words),
    )


def _input(field: Input, anchor: str) -> Html:
    own = f"{anchor}-{field.name}"
    if field.choices:
        if field.default not in field.choices:
            raise ValueError(f"input {field.name}: the default {field.default!r} is none of its choices")
        options = Html("").join(
            Html("<option{}>{}</option>").format(" selected" if choice == field.default else "", choice)
            for choice in field.choices
        )
        control = Html('<select id="{}" data-input="{}">{}</select>').format(own, field.name, options)
    else:
        width = max(3, len(field.default) + 1)
        control = Html('<input type="text" id="{}" data-input="{}" value="{}" size="{}"{}>').format(
            own, field.name, field.default, width, _range(field)
        )
    return Html('<label for="{}">{} {}</label>').format(own, field.label, control)


def _range(field: Input) -> Html:
    """What a script checks before it puts a value into the command; the command line checks all again."""
    if field.range is None:
        return Html("")
    return Html(' data-low="{}" data-high="{}" data-whole="{}" data-several="{}" data-allowed="{}"').format(
        f"{field.range.low:.17g}",
        f"{field.range.high:.17g}",
        str(field.range.whole).lower(),
        str(field.several).lower(),
        field.allowed,
    )


def settings_table(columns: tuple[str, str, str], rows: Sequence[tuple[str, str, str]]) -> Html:
    """Settings by their server, a folded table each: long values are broken, none is aligned out of sight."""
    servers = dict.fromkeys(server for server, _, _ in rows)
    parts = []
    for server in servers:
        row = Html('<tr><th scope="row">{}</th><td>{}</td></tr>')
        own = [row.format(setting, value) for named, setting, value in rows if named == server]
        parts.append(
            Html(
                '<details class="gb-fold"><summary>{}, {} rows</summary>'
                "<table><thead><tr>{}</tr></thead><tbody>{}</tbody></table></details>"
            ).format(server, len(own), each(Html('<th scope="col">{}</th>'), columns[1:]), Html("").join(own))
        )
    return Html('<div class="gb-settings">{}</div>').format(Html("").join(parts))


def refused_table(rows: Sequence[tuple[str, str, str]]) -> Html:
    """Trials kept but not used: contestant, trial and the reason, in words."""
    if not rows:
        return Html('<p class="gb-muted">No trial was refused.</p>')
    table = values_table(("contestant", "trial", "why it is not counted"), rows, caption="Refused trials")
    return fold(f"{len(rows)} trial{'s' if len(rows) > 1 else ''} refused: each with its reason", table)


def fold(summary: str, content: Html) -> Html:
    """What is long and read by few: folded away under a line that says what it is."""
    return Html('<details class="gb-fold"><summary>{}</summary>{}</details>').format(summary, content)
