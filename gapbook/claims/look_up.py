"""The register on the command line: the same claims for the same words as on its page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from gapbook.claims.entries import EVIDENCE, Entry
from gapbook.claims.search import found, slug
from gapbook.claims.verdicts import WORDS
from gapbook.errors import ParameterError, nearest

__all__ = ["CHOICES", "as_lines", "choices_of", "looked_up"]

CHOICES: Mapping[str, Callable[[Entry], Sequence[str]]] = {
    "source": lambda one: (one.source,),
    "system": lambda one: one.systems,
    "verdict": lambda one: (one.verdict,),
    "evidence": lambda one: (one.evidence,),
}
"""What claims can be narrowed by: a name, and what a claim has of it."""
_LABELS: Mapping[str, Mapping[str, str]] = {
    "verdict": {str(value): label for value, label in WORDS.items()},
    "evidence": {str(value): label for value, label in EVIDENCE.items()},
}


def choices_of(name: str, claims: Sequence[Entry]) -> Mapping[str, str]:
    """Each value that claims have of a choice, with its label: verdicts and evidence in the order of their words, all
    else by name."""
    values = {value for one in claims for value in CHOICES[name](one)}
    labels = _LABELS.get(name, {value: value for value in sorted(values, key=str.lower)})
    return {value: label for value, label in labels.items() if value in values}


def looked_up(words: str, chosen: Mapping[str, str], claims: Sequence[Entry]) -> list[Entry]:
    """The claims that have all the words and what was chosen, best first.

    Raises ParameterError for a choice that no claim has, and for words that no claim has.
    """
    left = list(claims)
    for name, asked in chosen.items():
        known = {slug(value) for value in choices_of(name, claims)}
        if slug(asked) not in known:
            raise ParameterError(
                f"claims: no claim has the {name} {asked!r}{nearest(slug(asked), known)}; there are {', '.join(sorted(known))}"
            )
        left = [one for one in left if slug(asked) in map(slug, CHOICES[name](one))]
    famous_first = sorted(left, key=lambda one: one.famous or len(claims))
    by_id = {one.id: one for one in famous_first}
    hits = [by_id[name] for name in found(words, {one.id: one.texts() for one in famous_first})]
    if not hits:
        asked = " and ".join(
            [
                *([f"the words {words!r}"] if words else []),
                *(f"{name} {value}" for name, value in chosen.items()),
            ]
        )
        raise ParameterError(f"claims: none of {len(claims)} has {asked}; take fewer words, or other ones")
    return hits


def as_lines(hits: Sequence[Entry], of: int) -> str:
    """Claims for a terminal: verdict and number, the claim, ours, and where both are read."""
    return "\n".join([*map(_told, hits), f"{len(hits)} of {of} claims"])


def _told(one: Entry) -> str:
    published = f", published {one.published}" if one.value is not None else ""
    lines = (
        f"{one.word}{published}",
        f"  {one.says}",
        f"  ours: {one.ours or 'not measured here'}",
        f"  {one.source}, {one.where}, {one.date}: {one.address}",
        f"  {one.page}   chapter {one.chapter}",
    )
    return "\n".join((*lines, ""))
