"""``book/verdict-changes.toml``: verdicts of this book that were printed otherwise."""

from __future__ import annotations

from datetime import date
from typing import Literal, TypeAlias

from gapbook.declared.reading import Declared

__all__ = ["VerdictChange", "VerdictChanges"]


VerdictKey: TypeAlias = Literal["confirmed", "conditions", "refuted", "version", "unresolved", "unmeasurable"]


class VerdictChange(Declared, frozen=True, kw_only=True):
    """A verdict that changed on a day: what it was, what it is now, both by their key, and why."""

    claim: str
    on: date
    was: VerdictKey
    now: VerdictKey
    why: str


class VerdictChanges(Declared, frozen=True, kw_only=True):
    """All of them, oldest first."""

    change: tuple[VerdictChange, ...]
