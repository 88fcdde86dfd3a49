"""The numbers of a chapter that have an address, as any run of the chapter has them: what a reader comes to compare."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import msgspec

from gapbook.errors import GapbookError
from gapbook.method.findings import Findings
from gapbook.method.source import Rate, Source, Worth, cells_in
from gapbook.paths import CHECKOUT

__all__ = ["NUMBERS", "Stated", "cells_behind", "stated_numbers"]

NUMBERS = CHECKOUT / "book" / "numbers.json"
"""Every number that has an address (:mod:`gapbook.book.numbers` writes it)."""


class Stated(msgspec.Struct, frozen=True):
    """A number that has an address: the page that prints it, the chapter of its run, what it is of, and where it comes from, where that can be told."""

    page: str
    chapter: str
    quantity: str
    source: Source | None = None


class _Numbers(msgspec.Struct, frozen=True):
    numbers: dict[str, Stated]


def stated_numbers(chapter: str) -> Mapping[str, Stated]:
    """By its address, each number of a chapter that is compared as ratios are and can be made again; raises GapbookError
    for a file of numbers that is not as it must be."""
    return {
        address: known
        for address, known in _known().items()
        if known.page == known.chapter == chapter
        and known.source is not None
        and not isinstance(known.source, Rate)
    }


@cache
def _known() -> Mapping[str, Stated]:
    try:
        return msgspec.json.decode(NUMBERS.read_bytes(), type=_Numbers).numbers
    except FileNotFoundError:
        return {}
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise GapbookError(f"{NUMBERS.name}: {error}") from None


def cells_behind(source: Source, found: Findings) -> frozenset[tuple[str, float]]:
    """The cells of a run that a number is made of: contestants, each at a value of the treatment."""
    if not isinstance(source, Worth):
        return frozenset(cells_in(source))
    start = found.end(source.factors, "before")
    if start is None:
        return frozenset()
    levels: dict[str, set[str]] = {}
    for factor in source.factors:
        for dimension, (before, after) in factor.changes.items():
            levels.setdefault(dimension, set()).update((before, after))
    names = [
        one.name
        for one in found.scenario.contestants
        if all(
            one.level(dimension) in levels.get(dimension, {level})
            for dimension, level in start.levels.items()
        )
    ]
    values = [source.treatment] if source.to is None else [source.treatment, source.to]
    return frozenset((name, value) for name in names for value in values)
