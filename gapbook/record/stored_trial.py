"""A trial as pages read it: a row of the table of trials, by its columns (:data:`gapbook.record.tables.TRIAL_COLUMNS`).

What a trial did not tell is None. Nested values are JSON text.
"""

from __future__ import annotations

from typing import TypedDict

__all__ = ["StoredTrial", "ValidTrial"]


class _Trial(TypedDict):
    trial: int
    block: int
    session: int
    contestant: str
    treatment: float
    work_seed: int
    started_unix_s: float
    took_s: float
    valid: bool
    refused_because: str | None
    labels: str
    gates: str
    ceiling_per_s: float | None
    window_s: float | None
    acknowledged_in_window: int | None
    lost_connections: int | None
    per_100ms: str | None
    flawed: str | None
    committed: int | None
    metric_transactions: int | None
    client_peak_memory_bytes: int | None
    client_build_id: str | None
    server_cpu_s: float | None
    tier_cpu_s: float | None
    steal_s: float | None
    other_cpu_s: float | None
    kernel_cpu_s: float | None
    throttled_s: float | None
    server_memory_bytes: int | None
    log_bytes: int | None
    watched: str | None
    from_hosts: str | None
    remarks: str | None
    catch_up_log_bytes: int | None
    settings: str | None
    durability: str | None


class StoredTrial(_Trial):
    """A trial that may have been refused, or may have broken before its client or its server told anything."""

    goodput_per_s: float | None
    completed_in_window: int | None
    mean_in_flight: float | None
    mean_service_time_s: float | None
    attempted: int | None
    acknowledged: int | None
    failed: str | None
    retried: int | None
    in_doubt: int | None
    per_second: str | None
    mismatched_accounts: int | None
    latency_ms: str | None
    client_cpu_s: float | None
    catch_up_s: float | None
    catch_up_cpu_s: float | None


class ValidTrial(_Trial):
    """A trial that counts: without these it would have been refused."""

    goodput_per_s: float
    completed_in_window: int
    mean_in_flight: float
    mean_service_time_s: float
    attempted: int
    acknowledged: int
    failed: str
    retried: int
    in_doubt: int
    per_second: str
    mismatched_accounts: int
    latency_ms: str
    client_cpu_s: float
    catch_up_s: float
    catch_up_cpu_s: float
