"""Sessions of a campaign that are measured on other machines: what the campaign asks of whoever has them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from gapbook.book.together import Unit
from gapbook.trial.campaign import SessionFiles

__all__ = ["Ended", "Hosts", "Wanted"]


@dataclass(frozen=True)
class Wanted:
    """A session, from 0, of a unit. ``kind`` is that of the machine upon which the run was begun; None before."""

    unit: Unit
    session: int
    plan_key: str
    kind: str | None


@dataclass(frozen=True)
class Ended:
    """How a session ended: with its files, or in an error of one line."""

    wanted: Wanted
    seconds: float = 0.0
    files: SessionFiles | None = None
    error: str = ""


class Hosts(Protocol):
    """Machines that measure sessions, each machine one at a time."""

    def measured(self, wanted: Sequence[Wanted]) -> Iterator[Ended]:
        """Each session as it ends; raises GapbookError where the machines cannot be reached any more."""
