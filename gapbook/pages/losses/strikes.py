"""What the tables of kills and of power cuts say alike."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gapbook.method.interval import format_percent
from gapbook.method.proportions import proportion_bound
from gapbook.record.cuts import CutCheck
from gapbook.record.losses import KillCheck

__all__ = ["bound_words", "left_nothing", "of_all", "reasons", "total"]


def total(counts: Iterable[int | None]) -> str:
    """The sum of what is known, as it is printed."""
    known = [count for count in counts if count is not None]
    return f"{sum(known):,}" if known else "unknown"


def of_all(some: int, count: int, what: str) -> str:
    """``2 of 3 kills``, ``the one kill``"""
    return f"the one {what}" if count == 1 else f"{some} of {count} {what}s"


def left_nothing(some: int, count: int, what: str) -> str:
    """``left nothing usable in 1 of 3 kills``"""
    return f"left nothing usable in {of_all(some, count, what)}"


def bound_words(count: int, what: str) -> str:
    """What was seen in none of so many strikes may still happen: how often at most, where that says anything."""
    if count < 2:
        return f"one {what} proves nothing"
    return f"at 95 % confidence, at most {format_percent(proportion_bound(count))} % of {what}s lose anything"


def reasons(rows: Sequence[CutCheck] | Sequence[KillCheck]) -> str:
    """Why checks have no answer, or no count, each reason once."""
    return "; ".join(dict.fromkeys(str(row.note) for row in rows))
