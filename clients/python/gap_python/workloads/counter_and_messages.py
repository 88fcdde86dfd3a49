"""Counters that are incremented, and messages that are stored."""

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

_AMOUNT = 1


class _Parameters(msgspec.Struct):
    counters: int = 1
    increment_share: float = 0.7
    message_bytes: int = 64


class Workload:
    """See :class:`gap_python.workload.Workload`."""

    kinds: ClassVar[Mapping[str, Kind]] = {
        "increment": {"counter": "u32", "amount": "u32"},
        "message": {"connection": "u32", "index": "u64", "body": "text"},
    }
    refusals = ()

    def __init__(self, config: WorkloadConfig) -> None:
        parameters = decode(config.parameters, _Parameters, "workload.parameters")
        self._blocks = Blocks(config.seed)
        self._counters = parameters.counters
        self._increments_below = np.uint64(math.floor(parameters.increment_share * 2**32))
        self._letters = Letters(parameters.message_bytes)

    def draw(self, connection: int, first_index: int, count: int) -> list[Operation]:
        indices = np.arange(first_index, first_index + count, dtype=np.uint64)
        r0, r1, r2, r3 = self._blocks.draw(indices, connection, 0)
        is_increment = r0 < self._increments_below
        counters = scale(r1, self._counters)
        bodies = iter(self._letters.spelled(r2[~is_increment], r3[~is_increment]))
        return [
            Operation("increment", (counter, _AMOUNT))
            if increment
            else Operation("message", (connection, index, next(bodies)))
            for increment, counter, index in zip(
                is_increment.tolist(), counters.tolist(), indices.tolist(), strict=True
            )
        ]
