"""Chat rooms: messages that only a member may send, and messages that are found by their id.

A message carries its identity (connection and index), so that the audit is set equality: what was lost, made
twice, made up or let in against the rule is read off.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from gapbook.model import workload
from gapbook.model.reported import Indices, IssuedWork, Reported
from gapbook.model.work import blocks_of, letters, scaled
from gapbook.model.workload import AuditResult, Operations, RowDifferences, State, Survived

__all__ = ["FIRST_ID", "STORED_BY", "Workload"]

FIRST_ID = 100_000_000_000_000
"""The least id of a room, and of a message that is there from the beginning: it has this and its index."""
STORED_BY = 2**31 - 1
"""The connection of messages that are there from the beginning: no load has it."""
_SENDER, _STRANGER = 1, 2
_SPREAD = 2_654_435_769
"""2^32 over the golden ratio: the multiples of it spread evenly, however many they are."""
_MESSAGE_KEY = ["connection", "index"]
_SENT = {"room": pl.Int64, "connection": pl.Int64, "index": pl.Int64, "body": pl.String}


@dataclass(frozen=True)
class _Sent:
    """Messages that operations make: those that are allowed, and how many are not."""

    allowed: pl.DataFrame
    forbidden: int


class Workload(workload.Workload):
    """See :class:`gapbook.model.workload.Workload`."""

    @property
    def rooms(self) -> int:
        return int(self.parameters["rooms"])

    @property
    def closed_room(self) -> int:
        """The room whose member the sender is not."""
        return FIRST_ID + self.rooms

    def initial_state(self) -> State:
        rooms = FIRST_ID + np.arange(self.rooms + 1, dtype=np.int64)
        members = np.full(self.rooms + 1, _SENDER, dtype=np.int64)
        members[-1] = _STRANGER
        number = np.arange(int(self.parameters["stored"]), dtype=np.int64)
        bodies = letters(
            number.astype(np.uint32),
            np.ones(len(number), dtype=np.uint32),
            int(self.parameters["message_bytes"]),
        )
        return {
            "rooms": pl.DataFrame({"id": rooms}),
            "members": pl.DataFrame({"room": rooms, "member": members}),
            "messages": pl.DataFrame(
                {
                    "room": FIRST_ID + number % self.rooms,
                    "connection": np.full(len(number), STORED_BY, dtype=np.int64),
                    "index": number,
                    "body": pl.Series(bodies, dtype=pl.String),
                }
            ),
        }

    def draw(self, seed: int, connection: int, indices: Indices) -> Operations:
        places = np.arange(len(indices))
        r0, r1, r2, r3 = blocks_of(seed, connection, indices)(places, 0)
        # Below 2^32 also where the share is 1, so that 64 bits compare.
        threshold = np.uint64(math.floor(float(self.parameters["read_share"]) * 2**32))
        reads = r0.astype(np.uint64) < threshold
        sent = ~reads
        stored = scaled(r1[reads], int(self.parameters["stored"])).astype(np.int64)
        return {
            "post": pl.DataFrame(
                {
                    "place": places[sent],
                    "room": self._rooms_of(connection, indices[sent], r1[sent]),
                    "connection": np.full(int(sent.sum()), connection, dtype=np.int64),
                    "index": indices[sent].astype(np.int64),
                    "body": pl.Series(
                        letters(r2[sent], r3[sent], int(self.parameters["message_bytes"])),
                        dtype=pl.String,
                    ),
                }
            ),
            "read": pl.DataFrame({"place": places[reads], "id": FIRST_ID + stored}),
        }

    def _rooms_of(self, connection: int, indices: Indices, r1: NDArray[np.uint32]) -> NDArray[np.int64]:
        rooms = FIRST_ID + scaled(r1, self.rooms).astype(np.int64)
        every = int(self.parameters["forbidden_every"])
        if every:
            # Connections take turns: of a load that is too short for one turn of each, some are closed too.
            ahead = connection * _SPREAD % 2**32 * every >> 32
            turns = (indices % np.uint64(every) + np.uint64(ahead)) % np.uint64(every)
            rooms[turns == np.uint64(every - 1)] = self.closed_room
        return rooms

    # --- audit --------------------------------------------------------------------------------
    def audit(self, seed: int, reported: Reported, state: State) -> AuditResult:
        told = self._sent(seed, [(one.connection, one.acknowledged) for one in reported.listed])
        # Of a client that only counts any operation that it drew may be in the state, within its sum.
        untold = self._sent(
            seed,
            [
                *((one.connection, one.in_doubt) for one in reported.listed),
                *((one.connection, np.arange(one.issued, dtype=np.uint64)) for one in reported.counted),
            ],
        )
        summed = sum(one.acknowledged.get("post", 0) for one in reported.counted)
        sent, stored = self._parted(state["messages"])
        once = sent.unique(_MESSAGE_KEY, keep="first")
        there, maybe = (one.allowed.join(once, on=list(_SENT), how="semi").height for one in (told, untold))
        lost, unexpected = told.allowed.height - there, once.height - there - maybe
        if reported.counted:
            lost += max(0, summed - maybe)
            unexpected += max(0, maybe - summed - reported.in_doubt)
        again = sent.height - once.height
        changed = self._changed(stored, state)
        messages = told.allowed.height + summed
        problems = {
            f"{lost:,} acknowledged messages lost": lost,
            f"{again:,} messages stored again": again,
            f"{unexpected:,} unexpected": unexpected,
            f"{told.forbidden:,} messages acknowledged that the sender may not send": told.forbidden,
            f"{changed:,} rows differ that were there from the beginning": changed,
        }
        seeded = sum(rows.height for rows in self.initial_state().values())
        return AuditResult(
            compared=f"{messages:,} messages and {seeded:,} rows from the beginning",
            rows=messages + seeded,
            differing=lost + unexpected + again + changed,
            in_doubt=reported.in_doubt,
            lost=lost,
            duplicated=again,
            unexpected=unexpected + told.forbidden,
            problems=tuple(clause for clause, count in problems.items() if count),
        )

    def _sent(self, seed: int, operations: Iterable[tuple[int, Indices]]) -> _Sent:
        allowed, forbidden = [pl.DataFrame(schema=_SENT)], 0
        for connection, indices in operations:
            posts = self.draw(seed, connection, indices)["post"].drop("place")
            may = posts.filter(pl.col("room") != self.closed_room)
            forbidden += posts.height - may.height
            allowed.append(may)
        return _Sent(pl.concat(allowed), forbidden)

    def _parted(self, messages: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
        """The messages that were sent, and those from the beginning."""
        from_beginning = pl.col("connection") == STORED_BY
        return messages.filter(~from_beginning), messages.filter(from_beginning)

    def _changed(self, stored: pl.DataFrame, state: State) -> int:
        """Rows from the beginning that are not as they were."""
        initial, keys = self.initial_state(), self.declaration.state
        read = {**state, "messages": stored}
        return sum(
            RowDifferences.between(rows, read[name], keys[name].key).total for name, rows in initial.items()
        )

    # --- after a kill -------------------------------------------------------------------------
    def survived(self, seed: int, work: Sequence[IssuedWork], state: State) -> Survived | None:
        """Read off: each message has its identity."""
        told = self._sent(seed, [(one.connection, one.indices[one.acknowledged]) for one in work]).allowed
        untold = self._sent(seed, [(one.connection, one.indices[~one.acknowledged]) for one in work]).allowed
        messages = state["messages"]
        return Survived(
            lost=told.join(messages, on=list(_SENT), how="anti").height,
            in_doubt_committed=untold.join(messages, on=list(_SENT), how="semi").height,
        )

    def committed(self, seed: int, connections: int, about: int, state: State) -> int | None:
        del seed, connections, about
        return self._parted(state["messages"])[0].height
