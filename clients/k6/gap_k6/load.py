"""Runs k6 through one configuration and takes what its users counted."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypedDict

from gap_k6.clock import Clock, RunningCounts
from gap_k6.config import CompiledRequest, Configuration, Endpoint, ToldWork, compiled, told_work
from gap_k6.failure import EXIT_ENDPOINT, EXIT_INTEGRITY, ClientError, message_of
from gap_k6.program import MARK, Cpu, free_port, started
from gap_k6.progress import emit
from gap_k6.tally import Tally
from gap_k6.workload import Workload

_HANDSHAKE_TIMEOUT_S = 10.0
_MS = 1000.0
# Users look at the clock between requests. After the window each must be given a processor once more to see its
# end; k6 begins nothing after the end of its scenario, and a user that it did not begin again says nothing.
_MARGIN_MS = 200.0
_MARGIN_OF_EACH_USER_MS = 2.0
# k6 refuses a scenario that is shorter.
_SHORTEST_SCENARIO_MS = 1000.0
_GRACE_MS = 5000.0
_KEPT_LOG_LINES = 20


class Window(TypedDict):
    start: float
    end: float


class Told(TypedDict):
    """The configuration as the script takes it: all times in ms since the clock's start."""

    mark: str
    summary_path: str
    base: str
    requests: dict[str, CompiledRequest]
    workload: ToldWork
    connections: int
    first_connection: int
    rate_per_s: float | None
    window_ms: Window
    drain_end_ms: float
    request_timeout_ms: float
    scenario_end_ms: float
    grace_ms: float


@dataclass
class Observed:
    """What a run of k6 left: what each user counted, in the order of connections, and what k6 took."""

    starts_unix_s: float
    tallies: list[Tally]
    window_cpu: Cpu
    cpu: Cpu
    peak_memory_bytes: int


@dataclass
class _Run:
    """What is known while k6 runs."""

    clock: Clock | None = None
    tallies: dict[int, Tally] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)


def run_load(configuration: Configuration, workload: Workload) -> Observed:
    """Raises ClientError when the endpoint cannot be used, or when k6 cannot be believed."""
    require_listening(configuration.endpoint)
    signal.signal(signal.SIGTERM, _end)
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="gap-k6-") as folder:
        summary = Path(folder) / "summary.json"
        run = _Run()
        with started("main.js", _told(configuration, workload, summary), port) as process:
            try:
                _follow(process, run, configuration, RunningCounts(port, list(workload.fields)))
            finally:
                if run.clock is not None:
                    run.clock.stop()
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        return _observed(run, configuration, summary, process.returncode, used)


def require_listening(endpoint: Endpoint) -> None:
    """Connect once; raises ClientError where nobody answers."""
    try:
        socket.create_connection((endpoint.host, endpoint.port), _HANDSHAKE_TIMEOUT_S).close()
    except OSError as error:
        where = f"http at {endpoint.host}:{endpoint.port}"
        raise ClientError(EXIT_ENDPOINT, f"{where}: {message_of(error)}") from error


def _told(configuration: Configuration, workload: Workload, summary: Path) -> Told:
    endpoint = configuration.endpoint
    host = f"[{endpoint.host}]" if ":" in endpoint.host else endpoint.host
    window_end_ms = (configuration.warmup_s + configuration.window_s) * _MS
    margin_ms = _MARGIN_MS + _MARGIN_OF_EACH_USER_MS * configuration.connections
    return {
        "mark": MARK,
        "summary_path": str(summary),
        "base": f"http://{host}:{endpoint.port}",
        "requests": {
            kind: compiled(endpoint.requests[kind], fields, kind) for kind, fields in workload.fields.items()
        },
        "workload": told_work(configuration.workload),
        "connections": configuration.connections,
        "first_connection": configuration.first_connection,
        "rate_per_s": configuration.loop.rate_per_s,
        "window_ms": {"start": configuration.warmup_s * _MS, "end": window_end_ms},
        "drain_end_ms": window_end_ms + configuration.drain_s * _MS,
        "request_timeout_ms": configuration.request_timeout_s * _MS,
        "scenario_end_ms": max(window_end_ms + margin_ms, _SHORTEST_SCENARIO_MS),
        "grace_ms": configuration.drain_s * _MS + _GRACE_MS,
    }


def _follow(
    process: subprocess.Popen[str], run: _Run, configuration: Configuration, counts: RunningCounts
) -> None:
    """Read what k6 and its users say until they have ended."""
    assert process.stderr is not None
    for line in process.stderr:
        if not line.startswith(MARK):
            _keep_log(run, line.strip())
            continue
        said = json.loads(line.removeprefix(MARK))
        if "clock_starts_unix_ms" in said:
            run.clock = Clock(
                configuration,
                starts_unix_s=said["clock_starts_unix_ms"] / _MS,
                pid=process.pid,
                counts=counts,
            )
            continue
        run.tallies[said["connection"]] = said
        if said["lost"] is not None:
            emit("connection_lost", connection=said["connection"], reason=said["lost"])


def _keep_log(run: _Run, line: str) -> None:
    """The first lines of k6's own log; a failing server makes one a request."""
    if line and len(run.log) < _KEPT_LOG_LINES:
        run.log.append(line)
        emit("log", message=line)


def _observed(run: _Run, configuration: Configuration, summary: Path, code: int, used: Any) -> Observed:
    window_cpu = run.clock.window_cpu if run.clock is not None else None
    if code != 0 or run.clock is None or window_cpu is None:
        last = f": {run.log[-1]}" if run.log else ""
        raise ClientError(EXIT_INTEGRITY, f"k6 ended with code {code} before the load did{last}")
    numbers = range(
        configuration.first_connection, configuration.first_connection + configuration.connections
    )
    if missing := [number for number in numbers if number not in run.tallies]:
        raise ClientError(
            EXIT_INTEGRITY, f"k6 never ran, or cut off, {len(missing)} users, first number {missing[0]}"
        )
    tallies = [run.tallies[number] for number in numbers]
    issued = sum(tally["issued"] for tally in tallies)
    counted = int(json.loads(summary.read_text(encoding="utf-8"))["http_reqs"])
    if counted != issued:
        raise ClientError(EXIT_INTEGRITY, f"k6 counts {counted:,} requests, its users {issued:,}")
    return Observed(
        starts_unix_s=run.clock.starts_unix_s,
        tallies=tallies,
        window_cpu=window_cpu,
        cpu=Cpu(used.ru_utime, used.ru_stime),
        peak_memory_bytes=used.ru_maxrss * 1024,
    )


def _end(_signal: int, _frame: Any) -> None:
    """The end of this program ends k6."""
    raise SystemExit(128 + signal.SIGTERM)
