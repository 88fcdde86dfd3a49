"""The report of the client contract: every key that it names, no other."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from itertools import zip_longest
from typing import Literal, TypedDict

from hdrh.histogram import HdrHistogram

from gap_k6 import CONTRACT_VERSION, LANGUAGE, NAME, VERSION
from gap_k6.clock import own_cpu
from gap_k6.config import Configuration
from gap_k6.load import Observed
from gap_k6.program import k6_path, k6_version
from gap_k6.tally import Tally
from gap_k6.workload import SCRIPTS, Workload

_LOWEST_NS = 1_000
_HIGHEST_NS = 600_000_000_000
_SIGNIFICANT_DIGITS = 3
_BINS_PER_SECOND = 10
_MS = 1000.0


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


def create_report(configuration: Configuration, workload: Workload, observed: Observed) -> Report:
    tallies = observed.tallies
    kinds = {kind: _kind(kind, tallies, workload) for kind in workload.fields}
    tenths = [sum(bins) for bins in zip_longest(*(tally["per_100ms"] for tally in tallies), fillvalue=0)]
    whole = observed.cpu.plus(own_cpu())
    return {
        "contract": CONTRACT_VERSION,
        "client": identity(),
        "started_unix_s": observed.starts_unix_s,
        "warmup_s": configuration.warmup_s,
        "window_s": configuration.window_s,
        "drained_s": _drained_s(configuration, tallies),
        "attempted": sum(kind["attempted"] for kind in kinds.values()),
        "acknowledged": sum(kind["acknowledged"] for kind in kinds.values()),
        "in_doubt": sum(kind["in_doubt"] for kind in kinds.values()),
        "retried": sum(tally["retried_times"] for tally in tallies),
        "failed": {name: sum(kind["failed"][name] for kind in kinds.values()) for name in workload.failures},
        "first_error": _first_error(tallies),
        "lost_connections": sum(tally["lost"] is not None for tally in tallies),
        "window": _window(configuration, observed, kinds),
        "kinds": kinds,
        "connections": [
            {
                "connection": tally["connection"],
                "issued": tally["issued"],
                "failed": tally["failed"],
                "in_doubt": tally["in_doubt"],
                "retried": tally["retried"],
            }
            for tally in tallies
        ],
        "per_second": [
            sum(tenths[first : first + _BINS_PER_SECOND]) for first in range(0, len(tenths), _BINS_PER_SECOND)
        ],
        "per_100ms": tenths,
        "service_time_ns": _histogram(_times(tallies, workload.fields, "service_times")),
        "response_time_ns": _histogram(_times(tallies, workload.fields, "response_times")),
        "cpu_user_s": whole.user_s,
        "cpu_system_s": whole.system_s,
        "peak_memory_bytes": observed.peak_memory_bytes,
    }


def identity() -> dict[str, str]:
    """The build is the client's sources, the versions of its libraries and the bytes of k6."""
    digest = hashlib.sha256(k6_path().read_bytes())
    for library in ("hdrhistogram", "msgspec"):
        digest.update(f"{library}=={version(library)}\0".encode())
    folder = SCRIPTS.parent
    for path in sorted([*folder.rglob("*.py"), *SCRIPTS.rglob("*.js")]):
        digest.update(f"{path.relative_to(folder)}\0".encode() + path.read_bytes() + b"\0")
    return {**described(), "build_id": digest.hexdigest()}


def described() -> dict[str, str]:
    """Name, language, and our version with that of k6."""
    return {"name": NAME, "language": LANGUAGE, "version": f"{VERSION}, {k6_version()}"}


def _kind(kind: str, tallies: Sequence[Tally], workload: Workload) -> KindReport:
    rows = [tally["kinds"][kind] for tally in tallies]
    failures: Counter[str] = sum((Counter(row["failed"]) for row in rows), Counter())
    failed = {name: failures[name] for name in workload.failures}
    acknowledged = sum(row["acknowledged"] for row in rows)
    in_doubt = sum(row["in_doubt"] for row in rows)
    return {
        "attempted": acknowledged + sum(failed.values()) + in_doubt,
        "acknowledged": acknowledged,
        "failed": failed,
        "in_doubt": in_doubt,
        "window": {
            "acknowledged": _times(tallies, [kind], "service_times").total(),
            "completed": sum(row["window_completed"] for row in rows),
        },
        "service_time_ns": _histogram(_times(tallies, [kind], "service_times")),
        "response_time_ns": _histogram(_times(tallies, [kind], "response_times")),
    }


def _window(
    configuration: Configuration, observed: Observed, kinds: Mapping[str, KindReport]
) -> WindowReport:
    acknowledged = sum(kind["window"]["acknowledged"] for kind in kinds.values())
    completed = sum(kind["window"]["completed"] for kind in kinds.values())
    rows = [row for tally in observed.tallies for row in tally["kinds"].values()]
    service_ms = sum(row["window_service_ms"] for row in rows)
    out_ms = sum(tally["out_ms"] for tally in observed.tallies)
    return {
        "acknowledged": acknowledged,
        "goodput_per_s": acknowledged / configuration.window_s,
        "completed": completed,
        "mean_in_flight": out_ms / _MS / configuration.window_s,
        "mean_service_time_s": service_ms / _MS / completed if completed else None,
        "cpu_user_s": observed.window_cpu.user_s,
        "cpu_system_s": observed.window_cpu.system_s,
    }


def _drained_s(configuration: Configuration, tallies: Sequence[Tally]) -> float:
    last_s = max(tally["last_end_ms"] for tally in tallies) / _MS
    return max(0.0, last_s - configuration.warmup_s - configuration.window_s)


def _first_error(tallies: Sequence[Tally]) -> str | None:
    errors = [tally["first_error"] for tally in tallies if tally["first_error"] is not None]
    return min(errors, key=lambda error: error["at_ms"])["text"] if errors else None


def _times(
    tallies: Sequence[Tally], kinds: Iterable[str], which: Literal["service_times", "response_times"]
) -> Counter[int]:
    """How often each time was seen, in ns."""
    counted: Counter[int] = Counter()
    for kind in kinds:
        for tally in tallies:
            for time_ns, times in tally["kinds"][kind][which]:
                counted[time_ns] += times
    return counted


def _histogram(times: Counter[int]) -> str:
    """HdrHistogram V2, deflate, base64."""
    histogram = HdrHistogram(_LOWEST_NS, _HIGHEST_NS, _SIGNIFICANT_DIGITS)
    for time_ns, count in times.items():
        histogram.record_value(time_ns, count)
    return str(histogram.encode().decode())
