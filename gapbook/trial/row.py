"""The row of a trial: what was seen of server and client, flat, under the names of the record."""

from __future__ import annotations

import math
from dataclasses import dataclass

from gapbook.model.report import Report
from gapbook.record.durability import Durability
from gapbook.record.histograms import decode_histogram
from gapbook.record.own_metric import OwnMetric
from gapbook.record.row import Counted, FromHost, Latency, Measured, Watched
from gapbook.trial.audit import Audit
from gapbook.trial.backlog import Backlog
from gapbook.trial.window_cpu import WindowCpu

__all__ = ["Loaded", "as_counted", "as_measured"]

_PERCENTILES = (50.0, 75.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99)


@dataclass(frozen=True)
class Loaded:
    """What a trial saw of server and client, before anybody judged it."""

    settings: dict[str, str]
    proven: Durability | None
    report: Report
    cpu: WindowCpu
    from_hosts: list[FromHost]
    backlog: Backlog
    server_memory_bytes: int | None
    log_bytes: int | None
    audit: Audit
    metric_transactions: int | None
    watched: list[Watched]
    metrics: dict[str, OwnMetric]
    remarks: list[str]

    @property
    def client_cpu_s(self) -> float:
        return self.report.window.cpu_user_s + self.report.window.cpu_system_s

    @property
    def client_cpu_here_s(self) -> float:
        """The part of it that the server's machine spent: all, or that of those load hosts that are this machine."""
        if not self.from_hosts:
            return self.client_cpu_s
        return sum(part.cpu_s for part in self.from_hosts if part.here)


def as_measured(loaded: Loaded) -> Measured:
    """What was measured, as the record has it."""
    report, cpu = loaded.report, loaded.cpu
    return Measured(
        committed=loaded.audit.committed,
        metric_transactions=loaded.metric_transactions,
        mismatched_accounts=loaded.audit.found.differing,
        latency_ms=_percentiles(report.service_time_ns),
        service_time_histogram=report.service_time_ns,
        response_time_histogram=report.response_time_ns,
        client_cpu_s=loaded.client_cpu_s,
        client_peak_memory_bytes=report.peak_memory_bytes,
        client_build_id=report.client.build_id,
        server_cpu_s=_readable(cpu.server_s),
        tier_cpu_s=_readable(cpu.tier_s),
        steal_s=_readable(cpu.steal_s),
        other_cpu_s=_readable(cpu.other_s(loaded.client_cpu_here_s)),
        kernel_cpu_s=_readable(cpu.kernel_s),
        throttled_s=_readable(cpu.throttled_s),
        server_memory_bytes=loaded.server_memory_bytes,
        log_bytes=loaded.log_bytes,
        watched=loaded.watched,
        from_hosts=loaded.from_hosts,
        catch_up_s=loaded.backlog.catch_up_s,
        catch_up_cpu_s=loaded.backlog.catch_up_cpu_s,
        catch_up_log_bytes=loaded.backlog.catch_up_log_bytes,
        settings=loaded.settings,
        durability=None if loaded.proven is None else str(loaded.proven),
        remarks=loaded.remarks,
        metrics=loaded.metrics,
    )


def as_counted(report: Report) -> Counted:
    """What the client counted: by our rule, and by each rule of its flaws."""
    window = report.window
    return Counted(
        window_s=report.window_s,
        goodput_per_s=window.acknowledged / report.window_s,
        acknowledged_in_window=window.acknowledged,
        completed_in_window=window.completed,
        mean_in_flight=window.mean_in_flight,
        mean_service_time_s=window.mean_service_time_s,
        attempted=report.attempted,
        acknowledged=report.acknowledged,
        failed=report.failed,
        retried=report.retried,
        in_doubt=report.in_doubt,
        lost_connections=report.lost_connections,
        per_second=report.per_second,
        per_100ms=report.per_100ms,
        flawed=report.flawed,
    )


def _readable(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _percentiles(encoded: str) -> list[Latency]:
    """Latency in ms at fixed percentiles, with how many operations lie above each."""
    histogram = decode_histogram(encoded)
    total = histogram.get_total_count()
    return [
        Latency(
            percentile,
            histogram.get_value_at_percentile(percentile) / 1e6,
            round(total * (1 - percentile / 100)),
        )
        for percentile in _PERCENTILES
    ]
