"""Numbers of Fibonacci that a script inside the server computes: work without a state."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from gapbook.model import workload
from gapbook.model.reported import Indices, IssuedWork, Reported
from gapbook.model.workload import AuditResult, Operations, State, Survived

__all__ = ["Workload", "fibonacci"]


def fibonacci(n: int) -> int:
    """Number ``n``, where numbers 0 and 1 are themselves."""
    low, high = 0, 1
    for _ in range(n):
        low, high = high, low + high
    return low


class Workload(workload.Workload):
    """See :class:`gapbook.model.workload.Workload`."""

    def initial_state(self) -> State:
        return {}

    def draw(self, seed: int, connection: int, indices: Indices) -> Operations:
        del seed, connection
        n, count = int(self.parameters["n"]), len(indices)
        return {
            "compute": pl.DataFrame(
                {
                    "place": np.arange(count),
                    "n": np.full(count, n, dtype=np.int64),
                    "value": np.full(count, fibonacci(n), dtype=np.int64),
                }
            )
        }

    def audit(self, seed: int, reported: Reported, state: State) -> AuditResult:
        del seed, state
        return AuditResult(
            compared=f"{reported.acknowledged:,} answers",
            rows=reported.acknowledged,
            differing=0,
            in_doubt=reported.in_doubt,
        )

    def survived(self, seed: int, work: Sequence[IssuedWork], state: State) -> Survived | None:
        """Nothing is stored, so nothing can be lost."""
        del seed, work, state
        return Survived(lost=0, in_doubt_committed=0)

    def committed(self, seed: int, connections: int, about: int, state: State) -> int | None:
        del seed, connections, about, state
        return None
