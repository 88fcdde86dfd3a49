"""The numbers that have an address, as they are now: kept in ``book/numbers.json``, so that an address lasts.

    python -m gapbook.book.numbers

writes the file anew from the pages that were executed last. A number that is gone, and an address that would lead to
another number, are refused: name what is gone under ``withdrawn`` there, with what replaced it.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from gapbook.book.lasting import Addresses, written_anew
from gapbook.book.told_numbers import Addressed, numbers_told
from gapbook.errors import ParameterError, cut
from gapbook.method.stated import NUMBERS, WRITE_NUMBERS, KnownNumber, KnownNumbers, known_numbers
from gapbook.pages.short_citation import Citable
from gapbook.paths import CHECKOUT

__all__ = ["citable", "kept_of", "known_number", "require_lasting", "updated"]

_OFFERED = 3
_ADDRESSES = Addresses(NUMBERS.name, WRITE_NUMBERS, "number")


def known_number(identifier: str) -> KnownNumber:
    """The number of an address; raises ParameterError for one that is not known, with the nearest, and for one that was
    withdrawn, with what replaced it."""
    known = known_numbers()
    if found := known.numbers.get(identifier):
        return found
    if gone := known.withdrawn.get(identifier):
        instead = f"; in its place: {gone.replaced_by}" if gone.replaced_by else ""
        raise ParameterError(f"number {identifier}: withdrawn, {gone.why}{instead}")
    like = difflib.get_close_matches(identifier[:100], known.numbers, n=_OFFERED, cutoff=0.3)
    offered = f"; the nearest: {', '.join(like)}" if like else ""
    raise ParameterError(f"number {cut(identifier)}: no number has this address{offered}")


def citable(identifier: str, number: KnownNumber) -> Citable:
    """What its citation needs of a number."""
    return Citable(
        identifier,
        number.page,
        number.sentence,
        number.value,
        number.n,
        number.run,
        number.date,
        number.between,
        number.of_blocks,
    )


def updated(told: Sequence[Addressed], known: KnownNumbers) -> KnownNumbers:
    """What is to be kept of the numbers that a build has.

    Raises GapbookError where one is gone and not withdrawn, or an address leads to another number than before.
    """
    now = {one.identifier: kept_of(one) for one in told}
    _ADDRESSES.require_lasting(now, known.numbers, known.withdrawn, another=_another)
    return KnownNumbers(dict(sorted(now.items())), known.withdrawn)


def require_lasting(told: Sequence[Addressed]) -> None:
    """Raise GapbookError where what is kept is not what this build has; see :func:`updated`."""
    known = known_numbers()
    _ADDRESSES.require_same(updated(told, known).numbers, known.numbers)


def _another(before: KnownNumber, now: KnownNumber) -> str:
    return before.quantity if before.source and now.source != before.source else ""


def kept_of(one: Addressed) -> KnownNumber:
    """What is kept of a number that a page prints."""
    number = one.number
    return KnownNumber(
        one.page,
        number.chapter,
        one.sentence,
        number.quantity,
        number.value,
        number.n,
        number.run,
        number.date,
        number.source,
        number.between_runs,
        number.of_blocks,
    )


def _write(executed: Mapping[str, Path]) -> None:
    kept = updated(numbers_told(executed), known_numbers())
    text = msgspec.json.format(msgspec.json.encode(kept), indent=1) + b"\n"
    NUMBERS.write_bytes(text)
    print(f"{NUMBERS.relative_to(CHECKOUT)}: {len(kept.numbers)} numbers, {len(kept.withdrawn)} withdrawn")


if __name__ == "__main__":
    raise SystemExit(written_anew(_write))
