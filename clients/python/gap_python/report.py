"""The report of the client contract: every key that it names, no other."""

from __future__ import annotations

from typing import Any

from gap_python import CONTRACT_VERSION
from gap_python.identity import identity
from gap_python.load import Load
from gap_python.schedule import NANOSECONDS_PER_SECOND
from gap_python.tally import encode_histogram
from gap_python.usage import cpu, peak_memory_bytes


def create_report(load: Load) -> dict[str, Any]:
    config, tally = load.config, load.tally
    goodput = len(tally.service_ns)
    whole = cpu()
    service_time_ns = encode_histogram(tally.service_ns)
    agreed = load.connections[0].connection.agreed()
    return {
        "contract": CONTRACT_VERSION,
        "client": identity(),
        "started_unix_s": load.started_unix_s,
        "warmup_s": config.warmup_s,
        "window_s": config.window_s,
        "drained_s": load.drained_s,
        "attempted": tally.acknowledged + tally.failed + tally.in_doubt,
        "acknowledged": tally.acknowledged,
        "retried": tally.retried,
        "in_doubt": tally.in_doubt,
        "failed": {"insufficient": tally.insufficient, "error": tally.error, "timeout": 0},
        "first_error": tally.first_error,
        "lost_connections": tally.lost_connections,
        "window": {
            "acknowledged": goodput,
            "goodput_per_s": goodput / config.window_s,
            "completed": tally.window_completed,
            "mean_in_flight": tally.window_out_ns / NANOSECONDS_PER_SECOND / config.window_s,
            "mean_service_time_s": (
                tally.window_service_ns / NANOSECONDS_PER_SECOND / tally.window_completed
                if tally.window_completed
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
        "response_time_ns": service_time_ns
        if config.rate_per_s is None
        else encode_histogram(tally.response_ns),
        "cpu_user_s": whole.user_s,
        "cpu_system_s": whole.system_s,
        "peak_memory_bytes": peak_memory_bytes(),
        **({"agreed": agreed} if agreed else {}),
    }
