"""The register of claims as cards and a table, which a script lets its reader search and filter; whole without one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence, Set

from gapbook.claims.entries import Entry, Place
from gapbook.claims.look_up import CHOICES, choices_of
from gapbook.claims.rules import VERDICT_BAND_FRAC
from gapbook.claims.search import slug
from gapbook.claims.verdicts import TO_THE_DIGITS
from gapbook.markup import Html, each, link
from gapbook.pages.register.numbers import number_page_of

__all__ = ["register_section", "said_once"]

_SIGNS = {"holds": "as claimed", "fails": "not as claimed", "straddles": "straddles an end", "missing": ""}
_OFTEN = 3
"""How many claims share a sentence before it is said once for all of them."""
_NUMBERS = re.compile(r"\d[\d,.]*")
_BAND = f" ±{VERDICT_BAND_FRAC:.0%}"
_SENTENCES = re.compile(r"(?<=\.) (?=[A-Z])")


def register_section(found: Sequence[Entry], chapters: Mapping[str, str]) -> Html:
    """What a script searches and filters; ``chapters`` has the title of each by its address."""
    return Html('<section class="gb-register" aria-label="Register of claims">{}{}{}</section>').format(
        _filters(found), _cards(found, chapters), _table(found)
    )


# --- what narrows it --------------------------------------------------------------------------
def _filters(found: Sequence[Entry]) -> Html:
    """One box for words and a choice each of source, system, verdict and evidence, with how many claims each has."""
    selects = Html("").join(
        Html(
            '<label>{name} <select data-filter="{name}"><option value="">all</option>{options}</select></label>'
        ).format(name=name, options=options)
        for name, options in ((name, _options(name, found)) for name in CHOICES)
    )
    return Html(
        '<form class="gb-filter" role="search" hidden><label class="gb-words">Search the claims'
        '<input type="search" class="gb-search" placeholder="316, 70x, payload, 12 MB …" autocomplete="off"></label>{}'
        '<button type="reset" class="gb-button">show all</button>'
        '<p class="gb-showing gb-muted" role="status"></p></form>'
    ).format(selects)


def _options(name: str, found: Sequence[Entry]) -> Html:
    """Each value that claims have of a choice, and how many."""
    counts = Counter(value for one in found for value in CHOICES[name](one))
    option = Html('<option value="{}" data-name="{}">{} ({})</option>')
    return Html("").join(
        option.format(slug(value), value, label, counts[value])
        for value, label in choices_of(name, found).items()
    )


# --- cards ------------------------------------------------------------------------------------
def _cards(found: Sequence[Entry], chapters: Mapping[str, str]) -> Html:
    """The famous headlines, most famous first: as published, by whom and when, our number and the verdict."""
    famous = sorted((one for one in found if one.famous), key=lambda one: one.famous)
    return Html('<ul class="gb-cards" aria-label="Headlines">{}</ul>').format(
        Html("").join(_card(one, chapters) for one in famous)
    )


def _card(one: Entry, chapters: Mapping[str, str]) -> Html:
    return Html(
        '<li class="gb-card gb-v-{verdict}" data-claim="claim-{id}"><p class="gb-v">{word}</p><p class="gb-head">{says}</p>'
        '{quote}<p class="gb-source">{source}</p>'
        "<dl><dt>published</dt><dd>{published}</dd><dt>ours</dt><dd>{ours}</dd></dl>"
        '<p class="gb-source">{number} · {evidence}</p></li>'
    ).format(
        verdict=one.verdict,
        id=one.id,
        word=one.word,
        says=one.says,
        quote=Html('<p class="gb-quote">“{}”</p>').format(one.quote) if one.quote else "",
        source=link(one.address, f"{one.by}, {one.date}"),
        published=one.published if one.value is not None else "no number",
        ours=one.ours or "not measured here",
        number=_number_link(one, chapters.get(one.chapter, one.chapter)),
        evidence=link(f"#claim-{one.id}", "evidence"),
    )


def _number_link(one: Entry, label: str) -> Html:
    """Where the number of a claim is told in full: its own page, and its chapter under that label."""
    chapter = link(f"{one.chapter}.html", label)
    own = number_page_of(one)
    return Html("<span>{} · {}</span>").format(link(own, "number"), chapter) if own else chapter


# --- the table --------------------------------------------------------------------------------
def _table(found: Sequence[Entry]) -> Html:
    """Every claim with its verdict, its source and its evidence."""
    anchors = {one.id for one in found}
    shared = shared_sentences(found)
    head = each(Html('<th scope="col">{}</th>'), ("verdict", "claim and source", "published", "ours"))
    rows = Html("").join(_row(one, anchors, shared.get(_group(one), ())) for one in found)
    return Html(
        '<div class="gb-table"><table><caption class="visually-hidden">All claims</caption>'
        "<thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>"
    ).format(head, rows)


def _row(one: Entry, anchors: Set[str], shared: Sequence[str]) -> Html:
    return Html(
        '<tr id="claim-{id}"{verdict}{evidence}{systems}><td>{word}</td>'
        "<td>{says} <small>{note}{source}, {where}</small>{more}</td><td>{published}</td><td>{ours} {number}</td></tr>"
    ).format(
        id=one.id,
        # What a script knows anyway is left out: half of the claims are open, and most name their systems.
        verdict="" if one.verdict == "undecided" else Html(' class="gb-v-{}"').format(one.verdict),
        evidence="" if one.evidence == "open" else Html(' data-e="{}"').format(one.evidence),
        systems="" if one.names_systems else Html(' data-y="{}"').format(" ".join(one.systems)),
        word=one.word,
        says=one.says,
        note=one.source_words,
        source=link(one.address, one.source),
        where=one.where,
        more=_more(one, anchors, shared),
        published=one.published,
        ours=one.ours,
        number=_number_link(one, "chapter"),
    )


def _more(one: Entry, anchors: Set[str], shared: Sequence[str]) -> Html:
    """Why it is judged so, and every place where it was tested."""
    why = " ".join(sentence for sentence in _SENTENCES.split(one.why) if sentence not in shared)
    parts = [_with_links(why, anchors)] if why else []
    places = [place for place in one.places if place.run or _formula(place) not in one.ours]
    if places:
        parts.append(
            Html("<ul>{}</ul>").format(
                each(Html("<li>{}</li>"), (_place(place, one.published) for place in places))
            )
        )
    if not parts:
        return Html("")
    return Html("<details><summary>why</summary>{}</details>").format(Html("").join(parts))


def _formula(place: Place) -> str:
    """What was computed, which may stand in the row already: ``9,042 ÷ 244 = ``"""
    return "".join(place.ours.rpartition(" = ")[:2]) or place.ours


def _place(place: Place, published: str) -> str:
    if place.outcome == "missing":
        return f"{place.quantity}: {place.ours[0].lower()}{place.ours[1:]}."
    beside = "Beside it: " if place.beside else ""
    expected = place.expected.removesuffix(TO_THE_DIGITS)
    # What is expected is said where it is not the published number, which stands in the same row.
    number = expected.removesuffix(_BAND)
    told = "" if number in _NUMBERS.findall(published) else f"expected {expected}: "
    return f"{beside}{place.quantity}: {place.ours}; {told}{_SIGNS[place.outcome]}.{_runs(place)}"


def _runs(place: Place) -> str:
    """What decides: one run, or how many on how many machines; and whether they are older than the rule."""
    if not place.run:
        return ""
    where = place.spread.partition(",")[0].removeprefix("over ")
    told = f" {where}" if where else f" Run {place.run}, n = {place.n}"
    if not place.runs_older:
        return f"{told}."
    older = (
        "older than the rule" if place.runs_older == place.runs else f"{place.runs_older} older than the rule"
    )
    return f"{told}; {older}."


def _with_links(text: str, anchors: Set[str]) -> Html:
    """Text in which each name of another entry leads to it."""
    words = re.split(r"([a-z][a-z0-9-]+)", text)
    return Html("").join(link(f"#claim-{word}", word) if word in anchors else word for word in words)


def shared_sentences(found: Sequence[Entry]) -> Mapping[tuple[str, str], Sequence[str]]:
    """By document and reason why claims cannot be decided, the sentences that many of them share."""
    grouped: dict[tuple[str, str], Counter[str]] = {}
    for one in found:
        if one.verdict == "undecided":
            grouped.setdefault(_group(one), Counter()).update(_SENTENCES.split(one.why))
    often = {
        group: [sentence for sentence, count in counts.items() if count >= _OFTEN]
        for group, counts in grouped.items()
    }
    return {group: sentences for group, sentences in often.items() if sentences}


def _group(one: Entry) -> tuple[str, str]:
    return one.source, one.reason


def said_once(found: Sequence[Entry]) -> Html:
    """What many claims share, once, under their document and what they share it for."""
    anchors = {one.id for one in found}
    return Html("<ul>{}</ul>").format(
        Html("").join(
            Html("<li>{}, <b>{}</b>: {}</li>").format(
                source, reason, _with_links(" ".join(sentences), anchors)
            )
            for (source, reason), sentences in shared_sentences(found).items()
        )
    )
