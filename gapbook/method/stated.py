"""The numbers that have an address, as ``book/numbers.json`` keeps them: of any run a reader can tell which it has.

:mod:`gapbook.book.numbers` writes the file.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from gapbook.errors import GapbookError
from gapbook.method.findings import Findings
from gapbook.method.source import Rate, Source, Worth, cells_in
from gapbook.paths import CHECKOUT

__all__ = [
    "NUMBERS",
    "WRITE_NUMBERS",
    "KnownNumber",
    "KnownNumbers",
    "Withdrawn",
    "cells_behind",
    "known_numbers",
    "stated_numbers",
]

NUMBERS = CHECKOUT / "book" / "numbers.json"
WRITE_NUMBERS = "python -m gapbook.book.numbers"


class KnownNumber(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is kept of a number: enough to cite it and to make it again from its run, without the book.

    ``page`` prints it, ``chapter`` is that of its run, ``source`` where it comes from, where that can be told,
    ``between`` what other runs made of it, and ``of_blocks`` how many blocks its run has, where not all hold it.
    """

    page: str
    chapter: str
    sentence: str
    quantity: str
    value: str
    n: int
    run: str
    date: str
    source: Source | None = None
    between: str = ""
    of_blocks: int = 0


class Withdrawn(msgspec.Struct, frozen=True, omit_defaults=True):
    """An address whose number is gone: why, and the address of what stands in its place, if anything does."""

    why: str
    replaced_by: str = ""


class KnownNumbers(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Every address that was ever published."""

    numbers: dict[str, KnownNumber]
    withdrawn: dict[str, Withdrawn]


def known_numbers(path: Path = NUMBERS) -> KnownNumbers:
    """The numbers as they are kept; raises GapbookError for a file that is not as it must be."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=KnownNumbers)
    except FileNotFoundError:
        return KnownNumbers({}, {})
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise GapbookError(f"{path.name}: {error}; write it anew: {WRITE_NUMBERS}") from None


def stated_numbers(chapter: str) -> Mapping[str, KnownNumber]:
    """By its address, each number of a chapter that is compared as ratios are and can be made again; raises GapbookError
    as :func:`known_numbers` does."""
    return {
        address: known
        for address, known in known_numbers().numbers.items()
        if known.page == known.chapter == chapter
        and known.source is not None
        and not isinstance(known.source, Rate)
    }


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
