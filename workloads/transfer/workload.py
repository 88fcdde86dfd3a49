"""Bank transfers: one amount moves between two accounts drawn from Zipf(alpha).

As the bank test of Jepsen and TigerBeetle's checkers do, the audit replays every acknowledged transfer and
compares every account: a count can agree by luck, a hundred thousand balances cannot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from gapbook.model import workload
from gapbook.model.declaration import Declaration
from gapbook.model.reported import Counted, Indices, IssuedWork, Listed, Reported
from gapbook.model.work import EVEN_EXPONENT, EXPONENT, AliasTable
from gapbook.model.workload import AuditResult, DataFile, Operations, RowDifferences, State, Survived

from .draw import Transfers, draw_transfers
from .prefixes import Surviving, surviving_prefixes
from .subset import surviving_subset

__all__ = ["Workload"]

_MARGIN_OF_WORK = 1000
_WIDENINGS = 3


class Workload(workload.Workload):
    """See :class:`gapbook.model.workload.Workload`."""

    def __init__(self, declaration: Declaration, parameters: Mapping[str, Any]) -> None:
        super().__init__(declaration, parameters)
        self.accounts = int(self.parameters["accounts"])
        self.initial_balance = int(self.parameters["initial_balance"])
        self.table = AliasTable.zipf_cached(self.accounts, float(self.parameters[EXPONENT]))

    def files(self, directory: Path) -> Mapping[str, DataFile]:
        return {"alias_table": DataFile(*self.table.write(directory))}

    def initial_state(self) -> State:
        return self._accounts(np.full(self.accounts, self.initial_balance, dtype=np.int64))

    def draw(self, seed: int, connection: int, indices: Indices) -> Operations:
        drawn = self.transfers(seed, connection, indices)
        columns = {"from": drawn.source, "to": drawn.destination, "amount": drawn.amount}
        return {"transfer": pl.DataFrame({"place": np.arange(len(indices)), **columns})}

    def transfers(self, seed: int, connection: int, indices: Indices) -> Transfers:
        """As :meth:`draw`, in arrays."""
        return draw_transfers(
            self.table,
            seed=seed,
            connection=connection,
            indices=indices,
            amount_max=int(self.parameters["amount_max"]),
            redraw=str(self.parameters["redraw"]),
        )

    # --- audit --------------------------------------------------------------------------------
    def audit(self, seed: int, reported: Reported, state: State) -> AuditResult:
        listed = [*reported.listed, *(_whole(one) for one in reported.counted)]
        expected = self._accounts(self.expected_balances(seed, listed))["accounts"]
        differences = RowDifferences.between(expected, state["accounts"], ["id"])
        moved = int(state["accounts"]["balance"].sum()) - self.accounts * self.initial_balance
        problems = {
            f"{reported.in_doubt:,} requests in doubt": reported.in_doubt,
            f"{_unlisted(reported):,} transfers only counted, and not known one by one": _unlisted(reported),
            f"{differences.total:,} of {self.accounts:,} balances differ": differences.total,
            f"the sum of all balances moved by {moved:,}": moved,
        }
        sound = None if any(problems.values()) else 0
        return AuditResult(
            compared=f"{self.accounts:,} balances",
            rows=self.accounts,
            differing=differences.total,
            in_doubt=reported.in_doubt,
            lost=sound,
            duplicated=sound,
            unexpected=sound,
            problems=tuple(clause for clause, count in problems.items() if count),
        )

    def expected_balances(self, seed: int, listed: Sequence[Listed]) -> NDArray[np.int64]:
        """Every balance after the transfers that were acknowledged."""
        balances = np.full(self.accounts, self.initial_balance, dtype=np.int64)
        for one in listed:
            balances += self.transfers(seed, one.connection, one.acknowledged).moved(self.accounts)
        return balances

    def _accounts(self, balances: NDArray[np.int64]) -> State:
        return {
            "accounts": pl.DataFrame({"id": np.arange(self.accounts, dtype=np.int64), "balance": balances})
        }

    # --- after a kill -------------------------------------------------------------------------
    def told_apart(self) -> Self:
        """Evenly spread over the accounts."""
        return type(self)(self.declaration, {**self.parameters, EXPONENT: EVEN_EXPONENT})

    def survived(self, seed: int, work: Sequence[IssuedWork], state: State) -> Survived | None:
        moved = self._moved(state)
        if moved is None:
            return None
        found = self._prefixes(seed, [(one.connection, one.indices) for one in work], moved)
        if found is None:
            return self._all_kept(seed, work, moved)
        if not found.unique:
            return None
        ended = list(zip(work, found.prefixes, strict=True))
        return Survived(
            lost=sum(one.lost(prefix) for one, prefix in ended),
            in_doubt_committed=sum(one.committed_in_doubt(prefix) for one, prefix in ended),
        )

    def _all_kept(self, seed: int, work: Sequence[IssuedWork], moved: NDArray[np.int64]) -> Survived | None:
        """The answer where every acknowledged transfer is there, and the balances decide which of those in doubt."""
        in_doubt = []
        for one in work:
            moved = moved - self.transfers(seed, one.connection, one.indices[one.acknowledged]).moved(
                self.accounts
            )
            in_doubt.append(self.transfers(seed, one.connection, one.indices[~one.acknowledged]))
        happened = surviving_subset(in_doubt, moved)
        return None if happened is None else Survived(0, int(happened.sum()))

    def impossible(self, state: State) -> str | None:
        accounts = state["accounts"]
        if not np.array_equal(accounts["id"].sort().to_numpy(), np.arange(self.accounts)):
            return f"{accounts.height:,} accounts are left, not each of {self.accounts:,} once"
        moved = int(accounts["balance"].sum()) - self.accounts * self.initial_balance
        return f"the sum of all balances moved by {moved:,}" if moved else None

    def committed(self, seed: int, connections: int, about: int, state: State) -> int | None:
        moved = self._moved(state)
        if moved is None:
            return None
        most = 2 * about // connections + _MARGIN_OF_WORK
        for _ in range(_WIDENINGS):
            every = np.arange(most, dtype=np.uint64)
            found = self._prefixes(seed, [(number, every) for number in range(connections)], moved)
            if found is not None and found.unique:
                return sum(found.prefixes)
            most *= 2
        return None

    def _prefixes(
        self, seed: int, work: Sequence[tuple[int, Indices]], moved: NDArray[np.int64]
    ) -> Surviving | None:
        drawn = [self.transfers(seed, connection, indices) for connection, indices in work]
        return surviving_prefixes(drawn, moved)

    def _moved(self, state: State) -> NDArray[np.int64] | None:
        """By how much each balance changed; None where not every account is there once."""
        accounts = state["accounts"].sort("id")
        if not np.array_equal(accounts["id"].to_numpy(), np.arange(self.accounts)):
            return None
        moved: NDArray[np.int64] = accounts["balance"].to_numpy() - self.initial_balance
        return moved


def _whole(one: Counted) -> Listed:
    """The transfers of a connection that only counts, as if all that it drew had been acknowledged."""
    return Listed(one.connection, np.arange(one.issued, dtype=np.uint64), np.array([], dtype=np.uint64))


def _unlisted(reported: Reported) -> int:
    """Transfers of clients that only count, of which nobody knows which were acknowledged."""
    return sum(one.issued for one in reported.counted if one.issued != sum(one.acknowledged.values()))
