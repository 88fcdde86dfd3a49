"""What a decomposition costs: time and memory by number of factors, every cell measured or one trial in ten refused."""

from __future__ import annotations

import itertools
import multiprocessing
import random
import time
from collections.abc import Iterator
from pathlib import Path

from gapbook.errors import GapbookError
from gapbook.method.factors import Cell, Factor, decompose

__all__ = ["lines"]

_BLOCKS = 10
_MOST_FACTORS = 12
_TIME_BAR_S = 2.0
_MEMORY_BAR_MB = 500
_BOUND_S = 120.0


def lines() -> Iterator[str]:
    """One line a number of factors and rate of refusal; each in a process of its own, for its own peak memory."""
    for refused in (0.0, 0.1):
        for count in range(2, _MOST_FACTORS + 1):
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                answer = pool.apply_async(_cost, (count, refused))
                answer.wait(_BOUND_S)
                if not answer.ready():  # as of a process that the kernel ended for its memory
                    raise GapbookError(f"{count} factors: no answer within {_BOUND_S:.0f} s")
                took_s, peak_mb = answer.get()
            bar = f"  (bar <= {_TIME_BAR_S:g} s, {_MEMORY_BAR_MB} MB)" if count == _MOST_FACTORS else ""
            yield (
                f"decomposition, {count:>2} factors, {1 << count:>4} cells × {_BLOCKS} blocks, "
                f"{refused:.0%} refused: {took_s * 1000:7.1f} ms, {peak_mb:.0f} MB{bar}"
            )


def _cost(count: int, refused: float) -> tuple[float, float]:
    """Seconds of one decomposition, and the peak memory of the process, libraries and cells included."""
    draw = random.Random(count)
    factors = [Factor(f"factor {i}", f"dimension {i}", "0", "1", "stack") for i in range(count)]
    cells: dict[Cell, dict[int, float]] = {
        cell: {block: draw.lognormvariate(9, 0.1) for block in range(_BLOCKS) if draw.random() >= refused}
        for cell in itertools.product("01", repeat=count)
    }
    started = time.perf_counter()
    parts = decompose(factors, cells)
    took_s = time.perf_counter() - started
    if parts is None or parts.closing_error_log > 1e-9:
        raise RuntimeError(f"decomposition of {count} factors does not close")
    # Not getrusage: its peak is inherited from the process that started this one.
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    peak_kb = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:"))
    return took_s, peak_kb / 1024
