"""The register as data: every claim with its source, its verdict and what we measured, for the page, the files beside
it and the command line."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Literal

import msgspec

from gapbook.claims.claim import NOTE, documents
from gapbook.claims.verdicts import Evidence, Judgement, judge_all, published
from gapbook.declared.claims import ClaimKind
from gapbook.declared.famous import FamousDeclaration, HeadlineDeclaration
from gapbook.declared.reading import Declared, read
from gapbook.paths import CHECKOUT

__all__ = [
    "EVIDENCE",
    "OUR_ARITHMETIC",
    "Entry",
    "Place",
    "RegisterFile",
    "as_csv",
    "as_json",
    "entries",
    "evidence_of",
    "famous",
]

EvidenceKind = Literal["measured", "arithmetic", "source", "open", "note"]
EVIDENCE: Mapping[EvidenceKind, str] = {
    "measured": "measured",
    "arithmetic": "arithmetic",
    "source": "read in a source",
    "open": "open",
    "note": "our own note",
}
"""What decides a claim, in words: our intervals; published figures computed again, or a count in the published source;
a reading of it; nothing yet. Our own notes stand apart, whatever decides them."""
_DECIDED_BY: Mapping[str, EvidenceKind] = {
    "band": "measured",
    "bound": "measured",
    "version": "measured",
    "arithmetic": "arithmetic",
    "count": "arithmetic",
    "source": "source",
}
OUR_ARITHMETIC = "our arithmetic"
_VALUES_SHOWN = 3
"""Of more, the least and the greatest say enough at a glance."""
_NUMBER = re.compile(r"[\d.]+")


class Place(Declared, frozen=True, kw_only=True, omit_defaults=True):
    """One place where a claim was tested; ``expected`` is what would be as claimed, ``outcome`` how ours lies to it.

    ``ours`` has its interval. ``run`` is the newest run, of ``n`` blocks, of so many ``runs``, ``runs_older`` of which
    began before the rule was fixed; ``spread`` says how far they are apart.
    ``chance_if_true`` is how likely a published ratio would have been confirmed at this precision if it were exactly
    true. ``beside``: it decides nothing.
    """

    quantity: str
    ours: str
    expected: str
    outcome: Literal["holds", "fails", "straddles", "missing"]
    chapter: str = ""
    run: str = ""
    runs: int = 0
    n: int = 0
    runs_older: int = 0
    spread: str = ""
    versions: str = ""
    chance_if_true: float | None = None
    beside: bool = False


class Entry(Declared, frozen=True, kw_only=True, omit_defaults=True):
    """One claim of the register.

    ``quote`` is what the document prints and people repeat. ``published`` is the number as readers know it, ``value`` the number or range that was printed, in ``unit``;
    ``source`` is the document's short name, ``address`` where it is read, at its revision unless ``unrevised`` says
    why there is none. It speaks of ``systems``, which its words name, or else its check needs. ``ours`` says in words and units what we measured or computed, and is empty where nothing was;
    ``at_a_glance`` has our number that decides beside the published one, where one number can say it.
    ``told`` is what a chapter measured of the same thing beside a verdict that rests on something else.
    ``chapter`` examines the claim. ``page`` is where the book says why it is judged so.
    """

    id: str
    says: str
    kind: ClaimKind
    published: str
    verdict: Literal["confirmed", "conditions", "not-here", "refuted", "undecided", "note"]
    word: str
    evidence: EvidenceKind
    source: str
    title: str
    where: str
    by: str
    date: str
    address: str
    systems: tuple[str, ...]
    names_systems: bool
    chapter: str
    page: str
    why: str
    check: str
    rule: str
    quote: str = ""
    value: float | tuple[float, float] | None = None
    unit: str = ""
    unrevised: str = ""
    reason: str = ""
    ours: str = ""
    at_a_glance: str = ""
    places: tuple[Place, ...] = ()
    told: tuple[Place, ...] = ()
    famous: int = 0

    @property
    def source_words(self) -> str:
        """What stands before the link to the source: a note of ours is no claim of the document."""
        return "our arithmetic on " if self.kind == NOTE else ""

    def texts(self) -> tuple[str, str, str, str]:
        """What words are looked for in, as :data:`gapbook.claims.search.WEIGHTS` counts them."""
        return (
            self.published,
            self.says,
            " ".join((self.source_words, self.source, self.where, self.id, *self.systems)),
            f"{self.word} {self.ours}",
        )


class RegisterFile(Declared, frozen=True, kw_only=True):
    """The whole register."""

    claims: tuple[Entry, ...]


def entries() -> list[Entry]:
    """Every claim in the order of the register, with its verdict from the published runs."""
    cards = {one.claim: (place, one.quote) for place, one in enumerate(famous(), start=1)}
    # Documents are judged by the same runs, each of which is read once.
    measured = cache(published)
    return [
        _entry(one, *cards.get(one.claim.identifier, (0, "")))
        for document in documents()
        for one in judge_all(document, measured)
    ]


def famous() -> Sequence[HeadlineDeclaration]:
    """The headlines that have a card, most famous first."""
    return read(CHECKOUT / "book" / "famous.toml", FamousDeclaration).headline


def evidence_of(one: Judgement) -> EvidenceKind:
    """What decides it."""
    if one.claim.kind == NOTE:
        return "note"
    return "open" if one.verdict == "undecided" else _DECIDED_BY[one.rule]


def _entry(one: Judgement, rank: int, quote: str) -> Entry:
    claim = one.claim
    return Entry(
        id=claim.identifier,
        says=claim.says,
        quote=quote.replace("**", ""),
        kind=claim.kind,
        published=claim.published,
        value=claim.printed,
        unit=claim.unit,
        verdict=one.verdict,
        word=one.word,
        reason=one.reason,
        evidence=evidence_of(one),
        source=claim.source.short,
        title=claim.source.title,
        where=claim.where,
        by=claim.source.by,
        date=claim.source.date,
        address=claim.address,
        unrevised=claim.source.unrevised,
        systems=claim.systems,
        names_systems=claim.names_systems,
        chapter=next((place.chapter for place in (*one.evidence, *one.told) if place.run_id), claim.chapter),
        page=claim.judged_at,
        ours=_ours(one),
        at_a_glance=one.published_and_ours,
        why=one.why,
        check=claim.check,
        rule=one.rule,
        places=tuple(map(_place, one.evidence)),
        told=tuple(map(_place, one.told)),
        famous=rank,
    )


def _place(one: Evidence) -> Place:
    return Place(
        quantity=one.quantity,
        ours=one.ours,
        expected=one.expected,
        outcome=one.outcome,
        chapter=one.chapter if one.run_id else "",
        run=one.run_id,
        runs=one.runs,
        n=one.n,
        runs_older=one.runs_older,
        spread=one.pooled,
        versions=one.versions,
        chance_if_true=one.chance_if_true,
        beside=one.beside,
    )


# --- ours -------------------------------------------------------------------------------------
def _ours(one: Judgement) -> str:
    """What a reader sees without asking: what we measured, computed, counted or read; empty where nothing was."""
    match one.rule:
        case "source":
            return "read in the source"
        case "count":
            counted = [place.ours.partition(":")[0] for place in one.evidence]
            return f"{' and '.join(counted)} counted in the source"
    measured_to_decide = bool(one.ours) and not one.told
    computed = "" if measured_to_decide else _computed([place for place in one.evidence if not place.chapter])
    return "; ".join(filter(None, (one.ours, computed)))


def _computed(places: Sequence[Evidence]) -> str:
    """``our arithmetic: 9,042 ÷ 244 = ×37.06``"""
    values = [place.value or place.here for place in places]
    if not values:
        return ""
    if len(values) > _VALUES_SHOWN:
        least, *_, greatest = sorted(values, key=_size)
        return f"{OUR_ARITHMETIC}: {len(values)} values from {least} to {greatest}"
    # A value that answers the published number is of the same thing: it needs no name.
    if len(values) == 1 and places[0].value:
        formula = places[0].ours.rpartition(" = ")[0]
        return f"{OUR_ARITHMETIC}: {formula} = {values[0]}"
    named = (f"{place.quantity} {value}" for place, value in zip(places, values, strict=True))
    return f"{OUR_ARITHMETIC}: {'; '.join(named)}"


def _size(value: str) -> float:
    return float(_NUMBER.findall(value.replace(",", ""))[0])


# --- files ------------------------------------------------------------------------------------
_COLUMNS = tuple(
    field.name
    for field in msgspec.structs.fields(Entry)
    if field.name not in {"places", "told", "why", "check"}
)


def as_json(found: Sequence[Entry]) -> str:
    """The register as ``schemas/register.schema.json`` describes it."""
    return msgspec.json.encode(RegisterFile(claims=tuple(found))).decode()


def as_csv(found: Sequence[Entry]) -> str:
    """One line a claim; several systems stand in one cell, and a range in one, parted by semicolons."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(_COLUMNS)
    rows.writerows(_cells(one) for one in found)
    return text.getvalue()


def _cells(one: Entry) -> Iterator[Any]:
    for name in _COLUMNS:
        value = getattr(one, name)
        yield "; ".join(map(str, value)) if isinstance(value, tuple) else value
