"""Rows that a database holds besides those of its workload, and a checkpoint that is timed."""

from __future__ import annotations

import contextlib
import sqlite3
import statistics
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from gapbook.deploy.observed import told
from gapbook.record.own_metric import OwnMetric

__all__ = ["KEYS", "checkpoint_metrics", "fill"]

KEYS: Mapping[str, Sequence[str]] = {"ballast": ["id"]}
"""The tables of ballast, with what tells their rows apart."""
_ROW_BYTES = 4000
_COMMITS = 200


def fill(database: Path, size_bytes: int) -> None:
    """Make the table and fill it to about that size, with bytes that cannot be compressed; then all of the log is
    in the database."""
    with contextlib.closing(_open(database)) as connection:
        connection.execute("CREATE TABLE ballast (id INTEGER PRIMARY KEY, body BLOB NOT NULL)")
        connection.execute(
            "WITH RECURSIVE n(i) AS (SELECT 1 WHERE ?1 > 0 UNION ALL SELECT i + 1 FROM n WHERE i < ?1) "
            "INSERT INTO ballast SELECT i, randomblob(?2) FROM n",
            (size_bytes // _ROW_BYTES, _ROW_BYTES),
        )
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def checkpoint_metrics(database: Path, synchronous: str) -> dict[str, OwnMetric]:
    """The time of a commit before and after a checkpoint and of the checkpoint itself, a passive one as SQLite makes
    by itself, with the log that it had to copy; the replicator runs meanwhile."""
    with contextlib.closing(_open(database)) as connection:
        connection.execute(f"PRAGMA synchronous = {synchronous}")
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        before_ms = _commit_ms(connection, 1_000_000_000)
        log_mb = database.with_name(f"{database.name}-wal").stat().st_size / 1e6
        started = time.perf_counter()
        _, frames, copied = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        checkpoint_ms = 1e3 * (time.perf_counter() - started)
        after_ms = _commit_ms(connection, 1_000_001_000)
    return {
        **told("commit before a checkpoint", before_ms, "ms"),
        **told("commit after a checkpoint", after_ms, "ms"),
        **told("commit after ÷ before a checkpoint", after_ms / before_ms, "times"),
        **told("commits that a checkpoint lasts", checkpoint_ms / before_ms, "commits"),
        **told("checkpoint", checkpoint_ms, "ms"),
        **told("log at the checkpoint", log_mb, "MB"),
        **told("log copied", copied / frames if frames > 0 else 0.0, "of its frames", "higher"),
    }


def _commit_ms(connection: sqlite3.Connection, first: int) -> float:
    """The mean over some commits of a kibibyte each."""
    times = []
    for number in range(_COMMITS):
        started = time.perf_counter()
        connection.execute("INSERT INTO ballast VALUES (?, zeroblob(1024))", (first + number,))
        times.append(1e3 * (time.perf_counter() - started))
    return statistics.fmean(times)


def _open(database: Path) -> sqlite3.Connection:
    return sqlite3.connect(database, isolation_level=None, timeout=30.0)
