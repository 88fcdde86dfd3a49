"""The audit of a trial: every acknowledged transfer replayed, every account's balance compared.

As the bank test of Jepsen and TigerBeetle's checkers do: a count can agree by luck, a hundred
thousand balances cannot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gapbook.model.work import REDRAW_BOTH, AliasTable, draw_transfers
from gapbook.record.gates import why_uncounted

__all__ = ["Audit", "expected_balances", "reconcile"]


@dataclass(frozen=True)
class Audit:
    """Counts that must agree to the unit, and the accounts whose balance does not.

    ``acknowledged`` is what the client says it was told, ``replayed`` what it lists of its connections:
    these operations are in the balances that are expected. ``committed`` is None where the trial has no
    count of transfers alone, and ``uncounted`` says why (:func:`gapbook.record.gates.why_uncounted`).
    """

    acknowledged: int
    replayed: int
    committed: int | None
    in_doubt: int
    mismatched_accounts: int
    accounts: int
    money_before: int
    money_after: int
    uncounted: str = ""

    @property
    def agrees(self) -> bool:
        return (
            self.replayed == self.acknowledged
            and self.committed in (None, self.acknowledged)
            and self.in_doubt == 0
            and self.mismatched_accounts == 0
            and self.money_before == self.money_after
        )

    def explain(self) -> str:
        """One clause on what differs, or on what was checked."""
        if self.agrees:
            counted = (
                f"acknowledged, not compared with commits {self.uncounted}"
                if self.committed is None
                else "acknowledged = committed"
            )
            return f"{self.acknowledged:,} {counted}; {self.accounts:,} balances agree"
        parts = []
        if self.in_doubt:
            parts.append(f"{self.in_doubt:,} requests in doubt")
        if self.replayed != self.acknowledged:
            parts.append(f"{self.acknowledged:,} acknowledged but {self.replayed:,} listed by connection")
        if self.committed not in (None, self.acknowledged):
            parts.append(f"{self.acknowledged:,} acknowledged but {self.committed:,} committed")
        if self.mismatched_accounts:
            parts.append(f"{self.mismatched_accounts:,} of {self.accounts:,} balances differ")
        if self.money_before != self.money_after:
            parts.append(f"the sum of all balances moved by {self.money_after - self.money_before:,}")
        return "; ".join(parts)


def expected_balances(
    table: AliasTable,
    *,
    seed: int,
    amount_max: int,
    initial_balance: int,
    connections: Sequence[Mapping[str, Any]],
    replayed_batch: int | None = None,
    redraw: str = REDRAW_BOTH,
) -> NDArray[np.int64]:
    """Every balance after the transfers that the client says were acknowledged.

    ``connections`` are the rows of the client's report: ``connection``, ``issued``, ``failed``
    (pairs of index and class), ``in_doubt`` (indices). ``replayed_batch`` is the length after which
    a client with that flaw draws the same transfers again.
    """
    moved = np.zeros(table.accounts, dtype=np.float64)
    for row in connections:
        indices = np.arange(int(row["issued"]), dtype=np.uint64)
        left_out = [index for index, _ in row["failed"]] + list(row["in_doubt"])
        if left_out:
            indices = np.delete(indices, np.array(left_out, dtype=np.intp))
        if replayed_batch is not None:
            indices %= np.uint64(replayed_batch)
        drawn = draw_transfers(
            table,
            seed=seed,
            connection=int(row["connection"]),
            indices=indices,
            amount_max=amount_max,
            redraw=redraw,
        )
        # Sums stay far below 2^53, so that doubles are exact.
        amounts = drawn.amount.astype(np.float64)
        moved -= np.bincount(drawn.source, weights=amounts, minlength=table.accounts)
        moved += np.bincount(drawn.destination, weights=amounts, minlength=table.accounts)
    return moved.astype(np.int64) + initial_balance


def reconcile(
    report: Mapping[str, Any],
    *,
    committed: int | None,
    counts_commits: bool = True,
    balances: NDArray[np.int64],
    table: AliasTable,
    seed: int,
    amount_max: int,
    initial_balance: int,
    replayed_batch: int | None = None,
    redraw: str = REDRAW_BOTH,
) -> Audit:
    """Hold the client's report against the server's commit count and every balance.

    ``counts_commits`` says whether the engine keeps a count, so that a trial without one tells why.
    """
    expected = expected_balances(
        table,
        seed=seed,
        amount_max=amount_max,
        initial_balance=initial_balance,
        connections=report["connections"],
        replayed_batch=replayed_batch,
        redraw=redraw,
    )
    complete = len(balances) == len(expected)
    mismatched = int((balances != expected).sum()) if complete else abs(len(balances) - len(expected))
    return Audit(
        acknowledged=int(report["acknowledged"]),
        replayed=sum(
            int(row["issued"]) - len(row["failed"]) - len(row["in_doubt"]) for row in report["connections"]
        ),
        committed=committed,
        in_doubt=int(report["in_doubt"]),
        mismatched_accounts=mismatched,
        accounts=len(expected),
        money_before=initial_balance * len(expected),
        money_after=int(balances.sum()),
        uncounted=why_uncounted(counts_commits=counts_commits) if committed is None else "",
    )
