"""What another page has of the same thing, and in what the two are set otherwise."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from gapbook.errors import RecordError
from gapbook.markup import Html, link
from gapbook.method.estimate import Contrast
from gapbook.method.factors import Factor
from gapbook.method.findings import Findings
from gapbook.method.interval import format_factor
from gapbook.method.source import Worth, contrast_of
from gapbook.method.stated import known_numbers
from gapbook.pages.gloss import busiest_share, exponent_at, share_words
from gapbook.pages.sentence import Said
from gapbook.pages.titles import chapter_titles
from gapbook.pages.versions import versioned_label
from gapbook.record.durability import Durability
from gapbook.record.machine import processor_name
from gapbook.record.printed import level_in_words
from gapbook.record.published import measurement_of
from gapbook.record.run import latest_published
from gapbook.record.scenario import RecordedContestant

__all__ = ["growth_elsewhere", "residual_elsewhere", "times_elsewhere"]

_COMPARED = ("client", "access", "tier", "in flight", "isolation")
"""Dimensions whose levels say how an end of a gap is set; system and promise have words of their own."""
_NAMED_AFTER = {"client": " client", "isolation": " isolation"}
"""What follows a level that does not say by itself what it is of."""


@dataclass(frozen=True)
class _Gap:
    """A residual of a gap, and the run that holds it."""

    found: Findings
    source: Worth
    contrast: Contrast
    ends: tuple[RecordedContestant, RecordedContestant]

    @property
    def log(self) -> float:
        return math.log(self.contrast.interval.estimate)

    @property
    def printed(self) -> str:
        return f"×{format_factor(self.contrast.interval.estimate)}"

    @property
    def load(self) -> tuple[str, str]:
        """How many transfers want the same account, and on how many connections."""
        scenario = self.found.scenario
        share = busiest_share(scenario, exponent_at(scenario, self.source.treatment))
        return f"{share_words(share)} that want one account", f"{scenario.connections} connections"


def residual_elsewhere(found: Findings, factors: Sequence[Factor], *, at: float) -> Html:
    """In a paragraph, which page of other trials has the residual that is nearest to this one, and what is set otherwise
    there; before it what pages of the same trials have between the same ends, for a mean over other combinations of the
    choices is another number. Nothing where no page of other trials has one between the same systems."""
    (residual,) = (one for one in factors if one.family == "residual")
    here = _gap(found, Worth(tuple(factors), at, residual.name))
    own = measurement_of(found.run)
    gaps = list(_elsewhere(found.scenario.chapter, residual))
    others = [one for one in gaps if measurement_of(one.found.run) != own]
    if here is None or not others:
        return Html("")
    there = min(others, key=lambda one: abs(one.log - here.log))
    beside = [one for one in gaps if one not in others and not _differences(one, here)]
    differences = ", ".join(_differences(there, here))
    compared = (
        f"Its settings differ: {differences}"
        if differences
        else "Its settings are the same: so far apart two runs can be"
    )
    return Html("<p>{} is {} here{}. The nearest number from other trials is {}, in {}. {}.</p>").format(
        f"The {residual.name[0].lower()}{residual.name[1:]}",
        here.printed,
        Html("").join(
            Html("; {} has {}, over other combinations of the same trials").format(
                _page_link(one), one.printed
            )
            for one in beside
        ),
        there.printed,
        _page_link(there),
        compared,
    )


def _page_link(gap: _Gap) -> Html:
    chapter = gap.found.scenario.chapter
    return link(f"{chapter}.html", chapter_titles().get(chapter, chapter))


def times_elsewhere(chapter: str, over: str, under: str, *, at: float) -> str:
    """How many times the goodput of ``under`` that of ``over`` is in the newest published run of another chapter, for
    its prose."""
    found = _published(chapter)
    ratio = found.ratio(over, under, at) if found else None
    return format_factor(ratio.estimate) if ratio else Said().instead


def growth_elsewhere(chapter: str, over: str, under: str, *, at: float, base: float) -> str:
    """By how much that ratio grows from one value of the treatment there to another, with its interval."""
    found = _published(chapter)
    growth = found.ratio_of_ratios(over, under, at, base) if found else None
    return growth.as_factor() if growth else Said().instead


def _gap(found: Findings, source: Worth) -> _Gap | None:
    """None where the gap does not close, or its residual is too uncertain to be named."""
    start, end = found.ends_of(source.factors)
    contrast = contrast_of(source, found)
    if start is None or end is None or contrast is None:
        return None
    named = contrast.interval.tells or not found.run.published
    return _Gap(found, source, contrast, (start, end)) if named else None


def _elsewhere(chapter: str, residual: Factor) -> Iterator[_Gap]:
    """Residuals of other chapters that begin at the same system, each where least want the same account."""
    sources: dict[str, Worth] = {}
    for known in known_numbers().numbers.values():
        source, own = known.source, known.page == known.chapter and known.chapter != chapter
        if not own or not isinstance(source, Worth) or source.to is not None:
            continue
        if any(one.name == source.factor and _is_like(one, residual) for one in source.factors):
            kept = sources.setdefault(known.chapter, source)
            sources[known.chapter] = min(kept, source, key=lambda one: one.treatment)
    for name, source in sources.items():
        found = _published(name)
        if found is not None and (gap := _gap(found, source)):
            yield gap


def _is_like(one: Factor, other: Factor) -> bool:
    return (one.family, one.dimension, one.before) == (other.family, other.dimension, other.before)


@cache
def _published(chapter: str) -> Findings | None:
    try:
        return Findings(latest_published(chapter), chapter)
    except RecordError:
        return None


def _differences(there: _Gap, here: _Gap) -> list[str]:
    """How the other gap is set where this one is not: ``one request at a time``; its end, its slow end, then the load and
    the machine."""
    return [
        *_otherwise(*((*_end_words(one, one.ends[1]),) for one in (there, here))),
        *(
            f"at the slow end {words}"
            for words in _otherwise(*((*_levels(one.ends[0]),) for one in (there, here)))
        ),
        *_otherwise(*((*one.load, processor_name(one.found.run.manifest.machine)) for one in (there, here))),
    ]


def _otherwise(there: Sequence[str], here: Sequence[str]) -> list[str]:
    return [now for now, was in zip(there, here, strict=True) if now != was]


def _end_words(gap: _Gap, end: RecordedContestant) -> Iterator[str]:
    yield versioned_label(gap.found, end)
    yield Durability.parse(end.durability).words
    yield from _levels(end)


def _levels(one: RecordedContestant) -> Iterator[str]:
    for dimension in _COMPARED:
        yield f"{level_in_words(dimension, one.level(dimension))}{_NAMED_AFTER.get(dimension, '')}"
