"""Messages to rooms whose member the sender must be, and messages that are found by their id."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

import msgspec
import numpy as np

from gap_python.decode import decode
from gap_python.letters import Letters
from gap_python.philox import Blocks, scale
from gap_python.workload import Kind, Operation, WorkloadConfig

_FIRST_ID = 100_000_000_000_000
_SPREAD = 2_654_435_769
"""2^32 over the golden ratio: its multiples spread the turns of connections evenly."""


class _Parameters(msgspec.Struct):
    rooms: int = 1
    read_share: float = 0.0
    forbidden_every: int = 2000
    stored: int = 10_000
    message_bytes: int = 16


class Workload:
    """See :class:`gap_python.workload.Workload`."""

    kinds: ClassVar[Mapping[str, Kind]] = {
        "post": {"room": "u64", "connection": "u32", "index": "u64", "body": "text"},
        "read": {"id": "u64"},
    }
    refusals = ("forbidden",)

    def __init__(self, config: WorkloadConfig) -> None:
        self._parameters = decode(config.parameters, _Parameters, "workload.parameters")
        self._blocks = Blocks(config.seed)
        self._reads_below = np.uint64(math.floor(self._parameters.read_share * 2**32))
        self._letters = Letters(self._parameters.message_bytes)

    def draw(self, connection: int, first_index: int, count: int) -> list[Operation]:
        indices = np.arange(first_index, first_index + count, dtype=np.uint64)
        r0, r1, r2, r3 = self._blocks.draw(indices, connection, 0)
        is_read = r0 < self._reads_below
        bodies = iter(self._letters.spelled(r2[~is_read], r3[~is_read]))
        stored = scale(r1, self._parameters.stored).tolist()
        rooms = scale(r1, self._parameters.rooms).tolist()
        return [
            Operation("read", (_FIRST_ID + message,))
            if read
            else Operation("post", (self._room(connection, index, room), connection, index, next(bodies)))
            for read, message, room, index in zip(
                is_read.tolist(), stored, rooms, indices.tolist(), strict=True
            )
        ]

    def _room(self, connection: int, index: int, drawn: int) -> int:
        every = self._parameters.forbidden_every
        ahead = connection * _SPREAD % 2**32 * every >> 32
        closed = every > 0 and (index + ahead) % every == every - 1
        return _FIRST_ID + (self._parameters.rooms if closed else drawn)
