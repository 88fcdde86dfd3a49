"""Which transfers a recovered server still holds, found from its balances alone.

The transfers of a connection commit in the order in which they were issued, so what survives of them
is a prefix. The prefixes that explain every balance to the unit are searched for; nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from gapbook.model.work import AliasTable, draw_transfers

__all__ = ["IssuedWork", "issued_work", "surviving_prefixes"]

_SWEEPS = 60


@dataclass(frozen=True)
class IssuedWork:
    """What a connection may have committed, in its order; ``acknowledged`` says of each whether the
    client was told so."""

    connection: int
    indices: NDArray[np.uint64]
    acknowledged: NDArray[np.bool_]

    def lost(self, prefix: int) -> int:
        """Acknowledged transfers beyond the prefix."""
        return int(self.acknowledged[prefix:].sum())

    def committed_in_doubt(self, prefix: int) -> int:
        """Transfers in the prefix of which the client was told nothing."""
        return int((~self.acknowledged[:prefix]).sum())


def issued_work(row: Mapping[str, Any], in_flight: int) -> IssuedWork:
    """The work of one row of a report's ``connections``.

    A refused transfer was not committed. But where a tier answers for a server that has just died, its
    ``error`` means as little as no answer: the first ``in_flight`` of them after the last
    acknowledgement were out when it happened and are in doubt.
    """
    failed = {int(index): str(kind) for index, kind in row["failed"]}
    doubtful = {int(index) for index in row["in_doubt"]}
    told = [index for index in range(int(row["issued"])) if index not in failed and index not in doubtful]
    last_told = told[-1] if told else -1
    late_errors = sorted(index for index, kind in failed.items() if kind == "error" and index > last_told)
    unknown = sorted(doubtful | set(late_errors[:in_flight]))
    return IssuedWork(
        int(row["connection"]),
        np.array([*told, *unknown], dtype=np.uint64),
        np.array([True] * len(told) + [False] * len(unknown), dtype=np.bool_),
    )


def surviving_prefixes(
    work: Sequence[IssuedWork],
    balances: NDArray[np.int64],
    table: AliasTable,
    *,
    seed: int,
    amount_max: int,
    initial_balance: int,
) -> list[int] | None:
    """For each connection how many of its transfers survived, or None where no answer is exact.

    Coordinate descent on the sum of squared differences of balances: with the other prefixes held, the
    best prefix of a connection is found exactly in one pass, as the change point of a running sum. The
    answer counts only if every balance is then explained to the unit and no connection has a second
    prefix that is as good. Transfers spread over many accounts (alpha 0) are what makes it converge.
    """
    touches = [_Touches.of(one, table, seed=seed, amount_max=amount_max) for one in work]
    prefixes = [len(one.indices) for one in work]
    unexplained = balances - initial_balance
    for touched, prefix in zip(touches, prefixes, strict=True):
        unexplained -= touched.moved(prefix, table.accounts)
    for _ in range(_SWEEPS):
        moved_on, unique = False, True
        for place, touched in enumerate(touches):
            without = unexplained + touched.moved(prefixes[place], table.accounts)
            squares = touched.squares(without)
            best = int(squares.argmin())
            unique = unique and int((squares == squares[best]).sum()) == 1
            if best != prefixes[place]:
                moved_on, prefixes[place] = True, best
                unexplained = without - touched.moved(best, table.accounts)
        if not moved_on:
            return prefixes if unique and not unexplained.any() else None
    return None


@dataclass(frozen=True)
class _Touches:
    """The balance changes of one connection, two for each transfer: account, change, and what earlier
    transfers of the connection had changed there."""

    account: NDArray[np.int64]
    change: NDArray[np.int64]
    before: NDArray[np.int64]

    @classmethod
    def of(cls, work: IssuedWork, table: AliasTable, *, seed: int, amount_max: int) -> Self:
        drawn = draw_transfers(
            table, seed=seed, connection=work.connection, indices=work.indices, amount_max=amount_max
        )
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
