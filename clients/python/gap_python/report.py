"""The report of the client contract: every key that it names, no other."""

from __future__ import annotations

from collections.abc import Collection
from typing import NotRequired, TypedDict

from gap_python import CONTRACT_VERSION
from gap_python.identity import identity
from gap_python.load import Load
from gap_python.schedule import NANOSECONDS_PER_SECOND
from gap_python.tally import Counts, encode_histogram
from gap_python.usage import cpu, peak_memory_bytes


class KindWindow(TypedDict):
    acknowledged: int
    completed: int


class KindReport(TypedDict):
    attempted: int
    acknowledged: int
    failed: dict[str, int]
    in_doubt: int
    window: KindWindow
    service_time_ns: str
    response_time_ns: str


class WindowReport(TypedDict):
    acknowledged: int
    goodput_per_s: float
    completed: int
    mean_in_flight: float
    mean_service_time_s: float | None
    cpu_user_s: float
    cpu_system_s: float


class ConnectionReport(TypedDict):
    """Indices of its operations, of what failed each with the name of the failure."""

    connection: int
    issued: int
    failed: list[tuple[int, str]]
    in_doubt: list[int]
    retried: list[int]


class Report(TypedDict):
    contract: int
    client: dict[str, str]
    started_unix_s: float
    warmup_s: float
    window_s: float
    drained_s: float
    attempted: int
    acknowledged: int
    retried: int
    in_doubt: int
    failed: dict[str, int]
    first_error: str | None
    lost_connections: int
    window: WindowReport
    kinds: dict[str, KindReport]
    connections: list[ConnectionReport]
    per_second: list[int]
    per_100ms: list[int]
    service_time_ns: str
    response_time_ns: str
    cpu_user_s: float
    cpu_system_s: float
    peak_memory_bytes: int
    agreed: NotRequired[dict[str, str]]


def create_report(load: Load) -> Report:
    config, tally = load.config, load.tally
    is_open = config.rate_per_s is not None
    total = tally.total()
    goodput = total.window_acknowledged
    kinds = {kind: _kind_report(counts, is_open) for kind, counts in tally.kinds.items()}
    service_time_ns, response_time_ns = _histograms(tally.kinds.values(), is_open)
    whole = cpu()
    agreed = load.connections[0].connection.agreed()
    report: Report = {
        "contract": CONTRACT_VERSION,
        "client": identity(),
        "started_unix_s": load.started_unix_s,
        "warmup_s": config.warmup_s,
        "window_s": config.window_s,
        "drained_s": load.drained_s,
        "attempted": total.attempted,
        "acknowledged": total.acknowledged,
        "retried": tally.retried,
        "in_doubt": total.in_doubt,
        "failed": total.failed,
        "first_error": tally.first_error,
        "lost_connections": tally.lost_connections,
        "window": {
            "acknowledged": goodput,
            "goodput_per_s": goodput / config.window_s,
            "completed": total.window_completed,
            "mean_in_flight": tally.window_out_ns / NANOSECONDS_PER_SECOND / config.window_s,
            "mean_service_time_s": (
                tally.window_service_ns / NANOSECONDS_PER_SECOND / total.window_completed
                if total.window_completed
                else None
            ),
            "cpu_user_s": load.window_cpu.user_s,
            "cpu_system_s": load.window_cpu.system_s,
        },
        "connections": [
            {
                "connection": connection.number,
                "issued": connection.issued,
                "failed": connection.failed,
                "in_doubt": sorted(connection.in_doubt),
                "retried": sorted(connection.retried),
            }
            for connection in load.connections
        ],
        "per_second": tally.per_second,
        "per_100ms": tally.per_100ms,
        "service_time_ns": service_time_ns,
        "response_time_ns": response_time_ns,
        "kinds": kinds,
        "cpu_user_s": whole.user_s,
        "cpu_system_s": whole.system_s,
        "peak_memory_bytes": peak_memory_bytes(),
    }
    if agreed:
        report["agreed"] = agreed
    return report


def _kind_report(counts: Counts, is_open: bool) -> KindReport:
    service_time_ns, response_time_ns = _histograms([counts], is_open)
    return {
        "attempted": counts.attempted,
        "acknowledged": counts.acknowledged,
        "failed": counts.failed,
        "in_doubt": counts.in_doubt,
        "window": {"acknowledged": counts.window_acknowledged, "completed": counts.window_completed},
        "service_time_ns": service_time_ns,
        "response_time_ns": response_time_ns,
    }


def _histograms(kinds: Collection[Counts], is_open: bool) -> tuple[str, str]:
    """Of service times and of response times; in the closed loop they are the same."""
    service = encode_histogram(counts.service_ns for counts in kinds)
    response = encode_histogram(counts.response_ns for counts in kinds) if is_open else service
    return service, response
