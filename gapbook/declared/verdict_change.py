"""``book/verdict-changes.toml``: verdicts of this book that were printed otherwise."""

from __future__ import annotations

from datetime import date
from typing import Literal, TypeAlias

from gapbook.declared.reading import Declared

__all__ = ["VerdictChange", "VerdictChanges", "WordChange"]


PrintedWord: TypeAlias = Literal[
    "Confirmed",
    "Confirmed with conditions",
    "Refuted",
    "Not resolved",
    "No verdict: measured on a version that may differ",
    "Not measurable here",
    "Confirmed, but only",
    "Not here",
    "Cannot be decided here",
]
"""Every word that this book ever printed for a verdict; those without a key of today were given up."""
VerdictKey: TypeAlias = Literal["confirmed", "conditions", "not-here", "refuted", "undecided", "note"]


class VerdictChange(Declared, frozen=True, kw_only=True):
    """A verdict that changed on a day: what it was, in the word that stood there, what it became, by its key of today,
    and why."""

    claim: str
    on: date
    was: PrintedWord
    now: VerdictKey
    why: str


class WordChange(Declared, frozen=True, kw_only=True):
    """A word for a verdict that was given up on a day, and the key of the word that stands in its place."""

    was: PrintedWord
    on: date
    now: VerdictKey
    why: str


class VerdictChanges(Declared, frozen=True, kw_only=True):
    """All of them, oldest first."""

    word: tuple[WordChange, ...]
    change: tuple[VerdictChange, ...]
