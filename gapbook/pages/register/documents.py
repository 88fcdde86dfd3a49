"""The page of a published document: every claim of it in its order, with its verdict, and why it is judged so."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from gapbook.claims.claim import document_pages
from gapbook.claims.entries import Entry, Place
from gapbook.claims.rules import VERDICT_BAND_FRAC
from gapbook.claims.verdicts import TO_THE_DIGITS, Verdict
from gapbook.markup import Html, each, link
from gapbook.pages.page import fold
from gapbook.pages.register.card import claim_card
from gapbook.pages.register.numbers import number_link
from gapbook.pages.words import listed

__all__ = ["Document", "Documents", "document_body"]

_SIGNS = {
    "holds": "as claimed",
    "fails": "not as claimed",
    "straddles": "our interval is partly outside of it",
    "missing": "",
}
_COUNTED: Mapping[Verdict, str] = {
    "confirmed": "confirmed",
    "conditions": "confirmed under a condition",
    "not-here": "that came out otherwise here",
    "refuted": "refuted",
    "undecided": "that cannot be decided here",
    "note": "that are notes of our own",
}
"""Verdicts as they are counted, in the order in which they are told."""
_OFTEN = 3
"""How many claims share a sentence before it is said once for all of them."""
_NUMBERS = re.compile(r"\d[\d,.]*")
_BAND = f" ±{VERDICT_BAND_FRAC:.0%}"
_SENTENCES = re.compile(r"(?<=\.) (?=[A-Z])")


@dataclass(frozen=True)
class Document:
    """The page of a document: its name, its title, and what stands on it."""

    name: str
    title: str
    body: Html


@dataclass(frozen=True)
class Documents:
    """The pages of all documents. The build makes pages of what this shows."""

    pages: Sequence[Document]

    @classmethod
    def of(cls, found: Sequence[Entry], chapters: Mapping[str, str]) -> Documents:
        """Those of a whole register; ``chapters`` has the title of each by its address."""
        addresses = {one.id: one.page for one in found}
        pages = []
        for name, source in document_pages().items():
            own = [one for one in found if one.source == source.short]
            pages.append(
                Document(name, f"{source.short}, claim by claim", document_body(own, addresses, chapters))
            )
        return cls(pages)

    def _ipython_display_(self) -> None:
        # Imported here: command line and tests need not wait for it.
        from IPython.display import display  # noqa: PLC0415

        show: Callable[..., None] = display
        for one in self.pages:
            show({"text/markdown": f"# {one.title}"}, raw=True, metadata={"page": one.name})
            show(one.body)


def document_body(own: Sequence[Entry], addresses: Mapping[str, str], chapters: Mapping[str, str]) -> Html:
    """What stands on the page of a document that has these entries; ``addresses`` are those of all entries by their ids,
    ``chapters`` the titles of chapters by their addresses."""
    shared = _shared_sentences(own)
    return _head(own) + _said_once(shared, addresses) + _judged(own, shared, addresses, chapters)


# --- what stands above the claims -------------------------------------------------------------
def _head(own: Sequence[Entry]) -> Html:
    """What the document is, who published it, how many of its claims have which verdict, and its famous ones."""
    first, counts = own[0], Counter(one.verdict for one in own)
    told = [f"{counts[verdict]} {words}" for verdict, words in _COUNTED.items() if counts[verdict]]
    known = sorted((one for one in own if one.famous), key=lambda one: one.famous)
    famous = Html("").join(map(_best_known, known))
    return Html("<p>{}, by {}, {}. {} entries: {}. All documents, with a search: {}.</p>{}").format(
        link(first.address, first.title),
        first.by,
        first.date,
        str(len(own)),
        listed(told),
        link("claims.html", "published claims"),
        Html("<p>Best known of them:</p><ul>{}</ul>").format(famous) if known else "",
    )


def _best_known(one: Entry) -> Html:
    """A claim, its verdict, and our number that decides; what we measured, where no one number does."""
    ours = one.at_a_glance or one.ours
    return Html("<li>{} <b>{}</b>.{}</li>").format(
        link(f"#claim-{one.id}", one.says), one.word, f" {ours[0].upper()}{ours[1:]}." if ours else ""
    )


def _said_once(shared: Mapping[str, Sequence[str]], addresses: Mapping[str, str]) -> Html:
    """What many of its claims share, once, under what they share it for."""
    if not shared:
        return Html("")
    items = (
        Html("<li><b>{}</b>: {}</li>").format(reason, _with_links(" ".join(sentences), addresses))
        for reason, sentences in shared.items()
    )
    return fold(
        "Why many of them cannot be decided: said once for all",
        Html("<ul>{}</ul>").format(Html("").join(items)),
    )


def _shared_sentences(own: Sequence[Entry]) -> Mapping[str, Sequence[str]]:
    """By the reason why claims cannot be decided, the sentences that many of them share."""
    grouped: dict[str, Counter[str]] = {}
    for one in own:
        if one.verdict == "undecided":
            grouped.setdefault(one.reason, Counter()).update(_SENTENCES.split(one.why))
    often = {
        reason: [sentence for sentence, count in counts.items() if count >= _OFTEN]
        for reason, counts in grouped.items()
    }
    return {reason: sentences for reason, sentences in often.items() if sentences}


# --- the claims -------------------------------------------------------------------------------
def _judged(
    own: Sequence[Entry],
    shared: Mapping[str, Sequence[str]],
    addresses: Mapping[str, str],
    chapters: Mapping[str, str],
) -> Html:
    claims = (_claim(one, shared.get(one.reason, ()), addresses, chapters) for one in own)
    return Html(
        '<section class="gb-judged" aria-label="Claims"><ol class="gb-cards">{}</ol></section>'
    ).format(Html("").join(claims))


def _claim(
    one: Entry, shared: Sequence[str], addresses: Mapping[str, str], chapters: Mapping[str, str]
) -> Html:
    return claim_card(
        one,
        named=Html('id="claim-{}"').format(one.id),
        source=Html("{}{}, {} · {}").format(
            one.source_words, link(one.address, one.source), one.where, link(f"#claim-{one.id}", "link")
        ),
        why=_why(one, shared, addresses),
        links=number_link(one, chapters.get(one.chapter, one.chapter)),
    )


def _why(one: Entry, shared: Sequence[str], addresses: Mapping[str, str]) -> Html:
    """Why it is judged so, and every place where it was tested."""
    why = " ".join(sentence for sentence in _SENTENCES.split(one.why) if sentence not in shared)
    places = [place for place in one.places if place.run or _formula(place) not in one.ours]
    told = Html("<p>{}</p>").format(_with_links(why, addresses)) if why else Html("")
    if not places:
        return told
    return told + Html("<ul>{}</ul>").format(
        each(Html("<li>{}</li>"), (_place(place, one.published) for place in places))
    )


def _formula(place: Place) -> str:
    """What was computed, which may stand in the row already: ``9,042 ÷ 244 = ``"""
    return "".join(place.ours.rpartition(" = ")[:2]) or place.ours


def _place(place: Place, published: str) -> str:
    if place.outcome == "missing":
        return f"{place.quantity}: {place.ours[0].lower()}{place.ours[1:]}."
    beside = "For comparison: " if place.beside else ""
    expected = place.expected.removesuffix(TO_THE_DIGITS)
    # What is expected is said where it is not the published number, which stands in the same row.
    number = expected.removesuffix(_BAND)
    told = "" if number in _NUMBERS.findall(published) else f"expected {expected}: "
    return f"{beside}{place.quantity}: {place.ours}; {told}{_SIGNS[place.outcome]}.{_runs(place)}"


def _runs(place: Place) -> str:
    """What decides: one run, or how many on how many machines; and whether they were made before the rule."""
    if not place.run:
        return ""
    where = place.spread.partition(",")[0].removeprefix("over ")
    told = f" {where}" if where else f" Run {place.run}, n = {place.n}"
    if not place.runs_older:
        return f"{told}."
    older = "" if place.runs_older == place.runs else f"{place.runs_older} "
    return f"{told}; {older}measured before the rule was fixed."


def _with_links(text: str, addresses: Mapping[str, str]) -> Html:
    """Text in which each name of an entry leads to where that is judged."""
    words = re.split(r"([a-z][a-z0-9-]+)", text)
    return Html("").join(link(addresses[word], word) if word in addresses else word for word in words)
