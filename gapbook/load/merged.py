"""The reports of clients on several hosts as that of one client, without loss (clients/CONTRACT.md).

Each was checked against its own share. What comes out is held against the configuration of the whole like the report of
any client (:func:`gapbook.load.report.checked_report`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import Any, TypeVar

import msgspec

from gapbook.errors import ClientError
from gapbook.load.contract import CONTRACT_VERSION
from gapbook.load.report import BINS_PER_SECOND
from gapbook.model.report import Connection, Kind, KindWindow, Report, Reporter, Window
from gapbook.record.histograms import added_histograms

__all__ = ["merged", "written"]

_Told = TypeVar("_Told")


def merged(reports: Sequence[Report]) -> Report:
    """One report of those of all hosts, in the order of their hosts.

    Counts, series, histograms and processor seconds are added, and so is the memory, which is that of all clients
    together. The drain lasted as long as the longest. Raises ClientError, for the caller to say where, for reports that
    are not of one load: of different clients, kinds, lengths or agreements with the server.
    """
    first = reports[0]
    window_s = _same("window_s", (report.window_s for report in reports))
    total = _added(reports)
    kinds = _same("kinds", (sorted(report.kinds) for report in reports))
    tenths = _series(report.per_100ms for report in reports)
    starts = range(0, len(tenths), BINS_PER_SECOND)
    memory = [report.peak_memory_bytes for report in reports]
    known = [peak for peak in memory if peak is not None]
    return Report(
        attempted=total.attempted,
        acknowledged=total.acknowledged,
        in_doubt=total.in_doubt,
        failed=total.failed,
        service_time_ns=total.service_time_ns,
        response_time_ns=total.response_time_ns,
        client=_client(reports),
        warmup_s=_same("warmup_s", (report.warmup_s for report in reports)),
        window_s=window_s,
        drained_s=max(report.drained_s for report in reports),
        retried=sum(report.retried for report in reports),
        first_error=next((report.first_error for report in reports if report.first_error is not None), None),
        lost_connections=sum(report.lost_connections for report in reports),
        window=_window([report.window for report in reports], window_s),
        kinds={name: _added([report.kinds[name] for report in reports]) for name in kinds},
        connections=_connections(reports),
        per_second=[sum(tenths[start : start + BINS_PER_SECOND]) for start in starts],
        per_100ms=tenths,
        cpu_user_s=sum(report.cpu_user_s for report in reports),
        cpu_system_s=sum(report.cpu_system_s for report in reports),
        peak_memory_bytes=sum(known) if len(known) == len(memory) else None,
        engine=_same("engine", (report.engine for report in reports)),
        agreed=_same("agreed", (report.agreed for report in reports)),
        flawed=first.flawed,
    )


def written(report: Report, started_unix_s: float) -> bytes:
    """A report as a client writes it, of a load whose clock started at that moment."""
    told: dict[str, Any] = msgspec.to_builtins(report)
    absent = {name for name in ("engine", "agreed") if told[name] is None}
    kept = {name: value for name, value in told.items() if name not in absent}
    rows = [_row(row) for row in report.connections]
    return msgspec.json.encode(
        {**kept, "contract": CONTRACT_VERSION, "started_unix_s": started_unix_s, "connections": rows}
    )


def _row(row: Connection) -> dict[str, Any]:
    """A connection has counts, or lists what was not acknowledged."""
    told: dict[str, Any] = msgspec.to_builtins(row)
    left_out = {"counts"} if row.counts is None else {"failed", "in_doubt", "retried"}
    return {name: value for name, value in told.items() if name not in left_out}


def _added(kinds: Sequence[Kind]) -> Kind:
    failed: Counter[str] = Counter()
    for kind in kinds:
        failed.update(kind.failed)
    return Kind(
        attempted=sum(kind.attempted for kind in kinds),
        acknowledged=sum(kind.acknowledged for kind in kinds),
        in_doubt=sum(kind.in_doubt for kind in kinds),
        # Counted, not added: a name that nobody met stays with its 0.
        failed={name: failed[name] for kind in kinds for name in kind.failed},
        window=KindWindow(
            acknowledged=sum(kind.window.acknowledged for kind in kinds),
            completed=sum(kind.window.completed for kind in kinds),
        ),
        service_time_ns=added_histograms([kind.service_time_ns for kind in kinds]),
        response_time_ns=added_histograms([kind.response_time_ns for kind in kinds]),
    )


def _window(windows: Sequence[Window], window_s: float) -> Window:
    acknowledged = sum(window.acknowledged for window in windows)
    completed = sum(window.completed for window in windows)
    served_s = sum((window.mean_service_time_s or 0.0) * window.completed for window in windows)
    return Window(
        acknowledged=acknowledged,
        completed=completed,
        goodput_per_s=acknowledged / window_s,
        mean_in_flight=sum(window.mean_in_flight for window in windows),
        mean_service_time_s=served_s / completed if completed else None,
        cpu_user_s=sum(window.cpu_user_s for window in windows),
        cpu_system_s=sum(window.cpu_system_s for window in windows),
    )


def _connections(reports: Sequence[Report]) -> list[Connection]:
    return sorted(
        (connection for report in reports for connection in report.connections),
        key=lambda connection: connection.connection,
    )


def _series(several: Iterable[list[int]]) -> list[int]:
    """Bins added one by one; a series that ends before another has nothing there."""
    return [sum(bins) for bins in zip_longest(*several, fillvalue=0)]


def _client(reports: Sequence[Report]) -> Reporter:
    """The program that all are of. What it was built into may differ from host to host: then no one build made it."""
    clients = [report.client for report in reports]
    named = _same("client", ((one.name, one.language, one.version) for one in clients))
    builds = {one.build_id for one in clients}
    return Reporter(*named, build_id=builds.pop() if len(builds) == 1 else None)


def _same(what: str, values: Iterable[_Told]) -> _Told:
    first, *others = values
    for other in others:
        if other != first:
            raise ClientError(f"the load hosts disagree on {what}: {first} and {other}")
    return first
