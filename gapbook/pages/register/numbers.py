"""What was measured for published claims, each for an address of its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from gapbook.claims.entries import Entry, Place
from gapbook.markup import Html, link
from gapbook.method.findings import Findings
from gapbook.pages.number import Number, Part
from gapbook.pages.provenance import reached, run_facts
from gapbook.pages.short_citation import MOST_SENTENCE_WORDS, number_id, place_of
from gapbook.record.run import find_run

__all__ = ["number_link", "verdict_numbers"]

_PAGE = "claims"


def verdict_numbers(found: Iterable[Entry]) -> Iterator[Number]:
    """A number for each claim that a run was asked about: ours beside the published one, and the verdict."""
    for one in found:
        if measured := _measured(one):
            yield _number(one, measured)


def number_link(one: Entry, label: str) -> Html:
    """Where the number of a claim is told in full: its own page, where a run was asked about it, and its chapter under that
    label."""
    chapter = link(f"{one.chapter}.html", label)
    if not _measured(one):
        return chapter
    return Html("<span>{} · {}</span>").format(
        link(f"../{place_of(number_id(_PAGE, one.id))}", "number"), chapter
    )


def _measured(one: Entry) -> Sequence[Place]:
    return [place for place in one.places if place.run]


def _number(one: Entry, measured: Sequence[Place]) -> Number:
    first = measured[0]
    found = Findings(find_run(first.chapter, first.run), first.chapter)
    facts = run_facts(found)
    several = len(measured) > 1
    return Number(
        name=one.id,
        sentence=_sentence(one),
        chapter=first.chapter,
        run=first.run,
        published=found.run.published,
        date=facts["date"],
        quantity="; ".join(place.quantity for place in measured),
        printed=one.ours or first.ours,
        value="" if several else _over_runs(first),
        parts=[Part(place.quantity, f"{_over_runs(place)}, n = {place.n} blocks") for place in measured]
        if several
        else [],
        n=first.n,
        conditions=_ended("; ".join(dict.fromkeys(place.versions for place in measured if place.versions))),
        load=f"{facts['load']}, {facts['window']} windows",
        machine=f"{facts['processor']}, {facts['cores']}",
        reach=first.spread or reached(found),
        versions=[first.versions] if first.versions else [],
        notes=one.why,
    )


def _over_runs(place: Place) -> str:
    """The value that decides: of several runs that of all of them, which the newest alone need not have."""
    return f"{place.ours} over {place.runs} runs" if place.runs > 1 else place.ours


def _sentence(one: Entry) -> str:
    """The claim, the verdict, and ours, as far as a citation has room for them: else what was claimed is left to the page."""
    said, word = _ended(f"Claimed: {one.says}"), _ended(one.word)
    ours = _ended(f"Ours: {one.ours}") if one.ours else ""
    wished = (f"{said} {word} {ours}", f"{said} {word}", f"{word} {ours}")
    return next((text.strip() for text in wished if len(text.split()) <= MOST_SENTENCE_WORDS), word)


def _ended(text: str) -> str:
    return text if not text or text.endswith((".", "?", "!")) else f"{text}."
