"""A number of Fibonacci that the server computes, and what it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import msgspec

from gap_python.decode import decode
from gap_python.workload import Kind, Operation, WorkloadConfig


class _Parameters(msgspec.Struct):
    n: int = 30


class Workload:
    """See :class:`gap_python.workload.Workload`."""

    kinds: ClassVar[Mapping[str, Kind]] = {"compute": {"n": "u32", "value": "u64"}}
    refusals = ()

    def __init__(self, config: WorkloadConfig) -> None:
        n = decode(config.parameters, _Parameters, "workload.parameters").n
        low, high = 0, 1
        for _ in range(n):
            low, high = high, low + high
        self._operation = Operation("compute", (n, low))

    def draw(self, connection: int, first_index: int, count: int) -> list[Operation]:
        del connection, first_index
        return [self._operation] * count
