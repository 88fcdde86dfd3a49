"""How fast this disk keeps what it is told to keep: a small fixed piece of work before the servers of a session start.

A block of a file that was laid out before is overwritten and ``fdatasync`` is waited for, one after the other: what a
log does that answers only when a commit is on disk (as ``pg_test_fsync`` of PostgreSQL does it). It takes part in no
rate of the book; it is there to explain why ratios move between machines.
"""

from __future__ import annotations

import math
import os
import statistics
import tempfile
import time
from pathlib import Path

from gapbook.record.fsync import FsyncTest

__all__ = ["fsync_test"]

_BLOCK_BYTES = 8192
_BLOCKS = 256
_MOST_S = 2.0
_FEWEST = 3


def fsync_test(folder: Path) -> FsyncTest | None:
    """The latency of a synced write in ``folder``; None where no file can be written there, of which servers tell."""
    block, took_s = os.urandom(_BLOCK_BYTES), list[float]()
    try:
        with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
            file.write(bytes(_BLOCK_BYTES * _BLOCKS))
            os.fsync(file.fileno())
            began = time.perf_counter()
            for number in range(_BLOCKS):
                written = time.perf_counter()
                if written - began > _MOST_S and number >= _FEWEST:
                    break
                os.pwrite(file.fileno(), block, number * _BLOCK_BYTES)
                os.fdatasync(file.fileno())
                took_s.append(time.perf_counter() - written)
    except OSError:
        return None
    return FsyncTest(
        writes=len(took_s),
        block_bytes=_BLOCK_BYTES,
        median_s=statistics.median(took_s),
        p99_s=sorted(took_s)[math.ceil(0.99 * len(took_s)) - 1],
        rate_per_s=len(took_s) / sum(took_s),
    )
