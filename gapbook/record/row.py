"""The row of a trial as it is made, in parts that are known one after the other; its columns are flat."""

from __future__ import annotations

from typing import Any

import msgspec

from gapbook.record.gates import Gate
from gapbook.record.own_metric import OwnMetric

__all__ = ["Counted", "FromHost", "Headed", "Judged", "Latency", "Measured", "TrialRow", "Watched"]


class Headed(msgspec.Struct, kw_only=True):
    """Which trial it is, and when it began."""

    trial: int
    block: int
    contestant: str
    treatment: float
    work_seed: int
    started_unix_s: float


class Judged(msgspec.Struct, kw_only=True):
    """Whether the trial counts; the ceiling of its client is known only where it was loaded."""

    valid: bool
    refused_because: str | None
    gates: list[Gate]
    labels: list[str] = []
    ceiling_per_s: float | None = None


class Counted(msgspec.Struct, kw_only=True):
    """What the client counted: by our rule, and by each rule of its flaws."""

    window_s: float
    goodput_per_s: float
    acknowledged_in_window: int
    completed_in_window: int
    mean_in_flight: float
    mean_service_time_s: float | None
    attempted: int
    acknowledged: int
    failed: dict[str, int]
    retried: int
    in_doubt: int
    lost_connections: int
    per_second: list[int]
    per_100ms: list[int]
    flawed: dict[str, Any]


class Latency(msgspec.Struct):
    """Latency at a percentile, and how many operations lie above it."""

    percentile: float
    latency_ms: float
    operations_above: int


class Watched(msgspec.Struct):
    """The server at one moment of a load: seconds since the clock started, its CPU so far, its memory; None where
    nobody can read it."""

    elapsed_s: float
    cpu_s: float | None
    memory_bytes: int | None


class FromHost(msgspec.Struct, kw_only=True):
    """What one host made of a trial whose load came from several, in the order of the run's ``load_hosts``.

    ``cpu_s`` is the processor time of its client inside the window. Its clock was known within ``clock_bound_s`` when
    the load began. ``ceiling_per_s`` is what its client reaches there with as many connections against a server that
    does nothing; None where nobody could measure it. ``here``: it is the server's own machine, by its boot.
    """

    connections: int
    acknowledged_in_window: int
    cpu_s: float
    clock_bound_s: float
    ceiling_per_s: float | None = None
    here: bool = False


class Measured(msgspec.Struct, kw_only=True):
    """What was seen of server, client and machine; None where nobody could read it."""

    committed: int | None
    metric_transactions: int | None
    mismatched_accounts: int
    latency_ms: list[Latency]
    service_time_histogram: str
    response_time_histogram: str
    client_cpu_s: float
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
    watched: list[Watched]
    catch_up_s: float
    catch_up_cpu_s: float
    catch_up_log_bytes: int | None
    from_hosts: list[FromHost]
    settings: dict[str, str]
    durability: str | None
    remarks: list[str]
    metrics: dict[str, OwnMetric]


class TrialRow(msgspec.Struct, kw_only=True):
    """A trial: what broke has no measurement, and what broke before the client's report no counts either."""

    headed: Headed
    judged: Judged
    counted: Counted | None = None
    measured: Measured | None = None
    took_s: float = 0.0
    session: int = 0

    def columns(self) -> dict[str, Any]:
        """The row as a journal keeps it, under the names of the columns."""
        flat: dict[str, Any] = {"took_s": self.took_s, "session": self.session}
        for part in (self.headed, self.judged, self.counted, self.measured):
            flat |= {} if part is None else msgspec.to_builtins(part)
        return flat
