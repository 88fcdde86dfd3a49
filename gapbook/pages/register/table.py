"""The register of claims as cards and a table, which a script lets its reader search and filter; whole without one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from gapbook.claims.entries import Entry
from gapbook.claims.look_up import CHOICES, choices_of
from gapbook.claims.search import slug
from gapbook.markup import Html, each, link
from gapbook.pages.register.card import claim_card
from gapbook.pages.register.numbers import number_link

__all__ = ["register_section"]


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
    number = number_link(one, chapters.get(one.chapter, one.chapter))
    return claim_card(
        one,
        named=Html('data-claim="claim-{}"').format(one.id),
        quote=Html('<p class="gb-quote">“{}”</p>').format(one.quote) if one.quote else None,
        source=link(one.address, f"{one.by}, {one.date}"),
        links=Html("{} · {}").format(number, link(one.page, "evidence")),
    )


# --- the table --------------------------------------------------------------------------------
def _table(found: Sequence[Entry]) -> Html:
    """Every claim with its verdict and its source; its document's page says why."""
    head = each(Html('<th scope="col">{}</th>'), ("verdict", "claim and source", "published", "ours"))
    rows = Html("").join(map(_row, found))
    return Html(
        '<div class="gb-table"><table><caption class="visually-hidden">All claims</caption>'
        "<thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>"
    ).format(head, rows)


def _row(one: Entry) -> Html:
    return Html(
        '<tr id="claim-{id}"{verdict}{evidence}{systems}><td>{word}</td>'
        "<td>{says} <small>{note}{source}, {where}</small></td><td>{published}</td><td>{ours} {why}</td></tr>"
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
        published=one.published,
        ours=one.ours,
        why=Html("<span>{} · {}</span>").format(link(one.page, "why"), number_link(one, "chapter")),
    )
