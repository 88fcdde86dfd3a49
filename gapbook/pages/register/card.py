"""A claim as a card: its verdict, what it says, and the published number beside ours."""

from __future__ import annotations

from gapbook.claims.entries import Entry
from gapbook.markup import Html

__all__ = ["claim_card"]


def claim_card(
    one: Entry, *, named: Html, source: Html, links: Html, quote: Html | None = None, why: Html | None = None
) -> Html:
    """An item of a list of class ``gb-cards``. ``named`` is the attribute that names its claim, ``source`` where that
    stands, ``why`` what is said of the verdict, and ``links`` lead on."""
    return Html(
        '<li class="gb-card gb-v-{verdict}" {named}><p class="gb-v">{word}</p><p class="gb-head">{says}</p>'
        '{quote}<p class="gb-source">{source}</p>'
        "<dl><dt>published</dt><dd>{published}</dd><dt>ours</dt><dd>{ours}</dd></dl>{why}"
        '<p class="gb-source">{links}</p></li>'
    ).format(
        verdict=one.verdict,
        named=named,
        word=one.word,
        says=one.says,
        quote=quote or "",
        source=source,
        published=one.published if one.value is not None else "no number",
        ours=one.ours or "not measured here",
        why=why or "",
        links=links,
    )
