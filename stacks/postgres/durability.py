"""Durability of Postgres: the settings that keep a class, and the class that settings prove."""

from __future__ import annotations

from typing import Any

import psycopg

from gapbook.errors import StackError
from gapbook.record.durability import Durability

from .sessions import show

__all__ = ["durability_settings", "proven_durability"]

_COMMITTED_WITHIN_WRITER_DELAYS = 3


def durability_settings(durability: Durability) -> dict[str, str]:
    """Server settings that keep a class; a delay without a bound leaves the log writer its default delay."""
    if durability.kind != "delayed":
        return {
            "none": {"fsync": "off", "synchronous_commit": "off"},
            "fsync-per-commit": {"fsync": "on", "synchronous_commit": "on"},
        }[durability.kind]
    unwaited = {"fsync": "on", "synchronous_commit": "off"}
    if durability.max_ms is None:
        return unwaited
    delay_ms = int(durability.max_ms // _COMMITTED_WITHIN_WRITER_DELAYS)
    if not 1 <= delay_ms <= 10_000:
        raise StackError(
            f"postgres: {durability} needs wal_writer_delay = {delay_ms} ms; allowed: 1 to 10000"
        )
    return {**unwaited, "wal_writer_delay": f"{delay_ms}ms"}


def proven_durability(connection: psycopg.Connection[Any]) -> Durability:
    """The class that the settings of a client's session keep."""
    if show(connection, "fsync") != "on" or show(connection, "full_page_writes") != "on":
        return Durability("none")
    if show(connection, "synchronous_commit") != "off":
        return Durability("fsync-per-commit")
    row = connection.execute(
        "SELECT setting::float8 FROM pg_settings WHERE name = 'wal_writer_delay'"
    ).fetchone()
    if row is None:
        raise StackError("postgres: pg_settings has no wal_writer_delay; its durability cannot be proven")
    return Durability("delayed", _COMMITTED_WITHIN_WRITER_DELAYS * float(row[0]))
