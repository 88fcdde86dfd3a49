"""Counters that are incremented and messages that are stored.

A message carries its identity (connection and index), so that the audit is set equality: what was lost, made
twice or made up is read off. Increments are summed, as increments of one counter are alike.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from gapbook.model import workload
from gapbook.model.reported import Counted, Indices, IssuedWork, Reported
from gapbook.model.work import blocks_of, letters, scaled
from gapbook.model.workload import AuditResult, Operations, State, Survived

__all__ = ["Workload"]

_MESSAGE_KEY = ["connection", "index"]
_MESSAGE = {"connection": pl.Int64, "index": pl.Int64, "body": pl.String}


@dataclass(frozen=True)
class _Work:
    """What operations make of the state: increments of each counter, and messages."""

    increments: NDArray[np.int64]
    messages: pl.DataFrame


@dataclass(frozen=True)
class _Count:
    """Operations that are missing in the state, that are in it again, and that nobody asked for."""

    lost: int
    duplicated: int
    unexpected: int
    differing_rows: int


class Workload(workload.Workload):
    """See :class:`gapbook.model.workload.Workload`."""

    @property
    def counters(self) -> int:
        return int(self.parameters["counters"])

    def initial_state(self) -> State:
        return {
            "counters": self._counters(np.zeros(self.counters, dtype=np.int64)),
            "messages": pl.DataFrame(schema=_MESSAGE),
        }

    def draw(self, seed: int, connection: int, indices: Indices) -> Operations:
        places = np.arange(len(indices))
        r0, r1, r2, r3 = blocks_of(seed, connection, indices)(places, 0)
        # Below 2^32 also where the share is 1, so that 64 bits compare.
        threshold = np.uint64(math.floor(float(self.parameters["increment_share"]) * 2**32))
        increments = r0.astype(np.uint64) < threshold
        sent = ~increments
        return {
            "increment": pl.DataFrame(
                {
                    "place": places[increments],
                    "counter": scaled(r1[increments], self.counters),
                    "amount": np.ones(int(increments.sum()), dtype=np.uint32),
                }
            ),
            "message": pl.DataFrame(
                {
                    "place": places[sent],
                    "connection": np.full(int(sent.sum()), connection, dtype=np.int64),
                    "index": indices[sent].astype(np.int64),
                    "body": pl.Series(
                        letters(r2[sent], r3[sent], int(self.parameters["message_bytes"])), dtype=pl.String
                    ),
                }
            ),
        }

    # --- audit --------------------------------------------------------------------------------
    def audit(self, seed: int, reported: Reported, state: State) -> AuditResult:
        # Of a client that only counts any operation that it drew may be in the state, within its sums.
        acknowledged = self._work(seed, [(one.connection, one.acknowledged) for one in reported.listed])
        possible = self._work(
            seed,
            [
                *((one.connection, one.in_doubt) for one in reported.listed),
                *((one.connection, np.arange(one.issued, dtype=np.uint64)) for one in reported.counted),
            ],
        )
        sums = _sums(reported.counted)
        in_doubt = reported.in_doubt if reported.counted else None
        found = (
            _count_increments(acknowledged, possible, sums["increment"], in_doubt, state["counters"]),
            _count_messages(acknowledged, possible, sums["message"], in_doubt, state["messages"]),
        )
        acknowledged_messages = acknowledged.messages.height + sums["message"]
        lost, duplicated, unexpected = (
            sum(getattr(one, name) for one in found) for name in ("lost", "duplicated", "unexpected")
        )
        problems = {
            f"{lost:,} acknowledged operations lost": lost,
            f"{duplicated:,} messages stored again": duplicated,
            f"{unexpected:,} unexpected": unexpected,
        }
        return AuditResult(
            compared=f"{self.counters:,} counters and {acknowledged_messages:,} messages",
            rows=self.counters + acknowledged_messages,
            differing=sum(one.differing_rows for one in found),
            in_doubt=reported.in_doubt,
            lost=lost,
            duplicated=duplicated,
            unexpected=unexpected,
            problems=tuple(clause for clause, count in problems.items() if count),
        )

    def _work(self, seed: int, operations: Iterable[tuple[int, Indices]]) -> _Work:
        increments = np.zeros(self.counters, dtype=np.int64)
        messages = [pl.DataFrame(schema=_MESSAGE)]
        for connection, indices in operations:
            drawn = self.draw(seed, connection, indices)
            increments += np.bincount(drawn["increment"]["counter"].to_numpy(), minlength=self.counters)
            messages.append(drawn["message"].drop("place"))
        return _Work(increments, pl.concat(messages))

    def _counters(self, values: NDArray[np.int64]) -> pl.DataFrame:
        return pl.DataFrame({"id": np.arange(self.counters, dtype=np.int64), "value": values})

    # --- after a kill -------------------------------------------------------------------------
    def survived(self, seed: int, work: Sequence[IssuedWork], state: State) -> Survived | None:
        """Read off for messages. Increments are alike: of those the fewest lost and the fewest in doubt that
        explain the values."""
        told = self._work(seed, [(one.connection, one.indices[one.acknowledged]) for one in work])
        untold = self._work(seed, [(one.connection, one.indices[~one.acknowledged]) for one in work])
        values = _values(state["counters"], self.counters)
        if values is None:
            return None
        increments = values - told.increments
        messages = state["messages"]
        return Survived(
            lost=told.messages.join(messages, on=list(_MESSAGE), how="anti").height
            + int(-increments[increments < 0].sum()),
            in_doubt_committed=untold.messages.join(messages, on=list(_MESSAGE), how="semi").height
            + int(increments[increments > 0].sum()),
        )

    def committed(self, seed: int, connections: int, about: int, state: State) -> int | None:
        del seed, connections, about
        return int(state["counters"]["value"].sum()) + state["messages"].height


def _sums(counted: Sequence[Counted]) -> dict[str, int]:
    """How many operations of each kind were acknowledged to clients that only count."""
    return {kind: sum(one.acknowledged.get(kind, 0) for one in counted) for kind in ("increment", "message")}


def _values(counters: pl.DataFrame, expected: int) -> NDArray[np.int64] | None:
    """The value of each counter, or None where the counters are not those that there were."""
    ordered = counters.sort("id")
    if not np.array_equal(ordered["id"].to_numpy(), np.arange(expected)):
        return None
    return ordered["value"].to_numpy()


def _count_increments(
    acknowledged: _Work, possible: _Work, summed: int, in_doubt: int | None, counters: pl.DataFrame
) -> _Count:
    """Each counter between what was acknowledged on it and what may have been; where a client only counts, all
    counters together between its sum and that with all that is ``in_doubt``."""
    values = _values(counters, len(acknowledged.increments))
    if values is None:
        return _Count(0, 0, 1, len(acknowledged.increments))
    above = values - acknowledged.increments
    below_least, above_most = np.minimum(above, 0), np.maximum(above - possible.increments, 0)
    lost, unexpected = int(-below_least.sum()), int(above_most.sum())
    if in_doubt is not None:
        rest = int(above.sum())
        lost, unexpected = max(lost, summed - rest), max(unexpected, rest - summed - in_doubt)
    differing = np.count_nonzero((below_least < 0) | (above_most > 0))
    return _Count(lost, 0, unexpected, int(differing))


def _count_messages(
    acknowledged: _Work, possible: _Work, summed: int, in_doubt: int | None, messages: pl.DataFrame
) -> _Count:
    """Set equality with what was acknowledged, but for what may be there; where a client only counts, as many
    of these as it counted and at most those ``in_doubt`` besides."""
    once = messages.unique(_MESSAGE_KEY, keep="first")
    there, maybe = (
        work.messages.join(once, on=list(_MESSAGE), how="semi").height for work in (acknowledged, possible)
    )
    lost, unexpected = acknowledged.messages.height - there, once.height - there - maybe
    if in_doubt is not None:
        lost += max(0, summed - maybe)
        unexpected += max(0, maybe - summed - in_doubt)
    again = messages.height - once.height
    return _Count(lost, again, unexpected, lost + unexpected + again)
