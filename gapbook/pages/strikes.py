"""What the tables of kills and of power cuts say alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gapbook.method.interval import format_percent
from gapbook.method.proportions import proportion_bound

__all__ = ["bound_words", "of_all", "reasons", "total"]


def total(counts: Iterable[int]) -> str:
    """The sum of what is known, as it is printed."""
    known = list(counts)
    return f"{sum(known):,}" if known else "unknown"


def of_all(some: int, count: int, what: str) -> str:
    """``2 of 3 kills``, ``the one kill``"""
    return f"the one {what}" if count == 1 else f"{some} of {count} {what}s"


def bound_words(count: int, what: str) -> str:
    """What was seen in none of so many strikes may still happen: how often at most, where that says anything."""
    if count < 2:
        return f"one {what} proves nothing"
    return f"at 95 % confidence, at most {format_percent(proportion_bound(count))} % of {what}s lose anything"


def reasons(unresolved: Sequence[Mapping[str, Any]]) -> str:
    """Why checks have no answer, each reason once."""
    return "; ".join(dict.fromkeys(str(row["note"]) for row in unresolved))
