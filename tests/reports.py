"""Reports of clients as tests make them up: what they do not say is nothing."""

from __future__ import annotations

from typing import Any

import msgspec

from gapbook.model.report import Connection, Report

__all__ = ["connection_of", "report_of"]

_KIND = {"attempted": 0, "acknowledged": 0, "in_doubt": 0, "failed": {}}
_TIMES = {"service_time_ns": "", "response_time_ns": ""}
_WINDOW = {
    "acknowledged": 0,
    "completed": 0,
    "goodput_per_s": 0.0,
    "mean_in_flight": 0.0,
    "mean_service_time_s": None,
    "cpu_user_s": 0.0,
    "cpu_system_s": 0.0,
}
_REPORT = {
    **_KIND,
    **_TIMES,
    "client": {"name": "made-up", "language": "none", "version": "0", "build_id": None},
    "warmup_s": 0.0,
    "window_s": 1.0,
    "drained_s": 0.0,
    "retried": 0,
    "first_error": None,
    "lost_connections": 0,
    "kinds": {},
    "connections": [],
    "per_second": [],
    "per_100ms": [],
    "cpu_user_s": 0.0,
    "cpu_system_s": 0.0,
    "peak_memory_bytes": None,
}


def report_of(*connections: Connection, window: dict[str, Any] | None = None, **said: Any) -> Report:
    """A report of these connections, with what is said besides."""
    whole = {**_REPORT, "window": {**_WINDOW, **(window or {})}, **said}
    return msgspec.structs.replace(msgspec.convert(whole, Report), connections=list(connections))


def connection_of(connection: int, issued: int, **said: Any) -> Connection:
    """A connection of a client that reports indices, unless it says ``counts``."""
    return msgspec.convert({"connection": connection, "issued": issued, **said}, Connection)
