"""Which transfers a recovered server still holds, found from its balances alone.

The transfers of a connection commit in the order in which they were issued, so what survives of them
is a prefix. The prefixes that explain every balance to the unit are searched for; nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from .draw import Transfers

__all__ = ["Surviving", "surviving_prefixes"]

_SWEEPS = 60
_STARTS = (1.0, 0.0, 0.5)
"""Shares of each connection's transfers from which the search begins: most survived, or hardly any."""


class Surviving(NamedTuple):
    """For each connection how many of its transfers survived; not ``unique`` where others explain as much."""

    prefixes: list[int]
    unique: bool


def surviving_prefixes(drawn: Sequence[Transfers], moved: NDArray[np.int64]) -> Surviving | None:
    """For each connection how many of its transfers survived, or None where no answer is exact.

    ``drawn`` are the transfers of each connection in their order, ``moved`` is by how much each balance
    changed.

    Coordinate descent on the sum of squared differences of balances: with the other prefixes held, the
    best prefix of a connection is found exactly in one pass, as the change point of a running sum. The
    answer is exact if every balance is then explained to the unit, and unique if no connection has a second
    prefix that is as good. Transfers spread over many accounts (alpha 0) are what makes it converge.
    """
    touches = [_Touches.of(one) for one in drawn]
    exact = None
    for share in _STARTS:
        found = _descended(touches, [round(share * len(one.source)) for one in drawn], moved)
        if found is not None and found.unique:
            return found
        exact = exact or found
    return exact


def _descended(
    touches: Sequence[_Touches], prefixes: list[int], moved: NDArray[np.int64]
) -> Surviving | None:
    """The exact answer that these prefixes lead to, if they do."""
    accounts, unexplained = len(moved), moved.copy()
    for touched, prefix in zip(touches, prefixes, strict=True):
        unexplained -= touched.moved(prefix, accounts)
    for _ in range(_SWEEPS):
        moved_on, unique = False, True
        for place, touched in enumerate(touches):
            without = unexplained + touched.moved(prefixes[place], accounts)
            squares = touched.squares(without)
            best = int(squares.argmin())
            unique = unique and int((squares == squares[best]).sum()) == 1
            if best != prefixes[place]:
                moved_on, prefixes[place] = True, best
                unexplained = without - touched.moved(best, accounts)
        if not moved_on:
            return None if unexplained.any() else Surviving(prefixes, unique)
    return None


@dataclass(frozen=True)
class _Touches:
    """The balance changes of one connection, two for each transfer: account, change, and what earlier
    transfers of the connection had changed there."""

    account: NDArray[np.int64]
    change: NDArray[np.int64]
    before: NDArray[np.int64]

    @classmethod
    def of(cls, drawn: Transfers) -> Self:
        amount = drawn.amount.astype(np.int64)
        account = np.column_stack([drawn.source, drawn.destination]).astype(np.int64).ravel()
        change = np.column_stack([-amount, amount]).ravel()
        order = np.argsort(account, kind="stable")
        running = np.cumsum(change[order]) - change[order]
        starts = np.flatnonzero(np.diff(account[order], prepend=-1))
        repeats = np.diff(starts, append=len(account))
        before = np.empty_like(change)
        before[order] = running - np.repeat(running[starts], repeats)
        return cls(account, change, before)

    def moved(self, prefix: int, accounts: int) -> NDArray[np.int64]:
        """Change of every balance by the first transfers."""
        upto = 2 * prefix
        # Sums stay far below 2^53, so that doubles are exact.
        weights = self.change[:upto].astype(np.float64)
        return np.bincount(self.account[:upto], weights=weights, minlength=accounts).astype(np.int64)

    def squares(self, wanted: NDArray[np.int64]) -> NDArray[np.int64]:
        """For each prefix the sum of (wanted - moved)^2 over all accounts, less that of the empty one."""
        left = wanted[self.account] - self.before
        step = self.change * (self.change - 2 * left)
        return np.concatenate([[0], np.cumsum(step)[1::2]])
