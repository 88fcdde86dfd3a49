"""Sessions of a campaign that are measured on other machines: what the campaign asks of whoever has them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from gapbook.book.together import Unit
from gapbook.trial.campaign import SessionFiles

__all__ = ["Ended", "Hosts", "Wanted"]


@dataclass(frozen=True)
class Wanted:
    """A session, from 0, of a unit, for the run of a kind of machine (:func:`gapbook.record.kind.kind_of`)."""

    unit: Unit
    session: int
    plan_key: str
    kind: str


@dataclass(frozen=True)
class Ended:
    """How a session ended: with its files, or in an error of one line."""

    wanted: Wanted
    seconds: float = 0.0
    files: SessionFiles | None = None
    error: str = ""


class Hosts(Protocol):
    """Machines that measure sessions, each machine one at a time."""

    def measured(self, wanted_on: Callable[[str], Sequence[Wanted]]) -> Iterator[Ended]:
        """Each session as it ends, until the kinds of machines that are there have nothing left.

        ``wanted_on`` tells what a kind has left; it is asked when a machine of that kind is there and what it was given is
        done. What a kind has left of which no machine is there any more is given up. Raises GapbookError where the
        machines cannot be reached any more.
        """
