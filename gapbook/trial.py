"""One trial: reset, load, drain, wait until the server is idle, audit, judge."""

from __future__ import annotations

import base64
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hdrh.histogram import HdrHistogram

from gapbook import gates
from gapbook.accounting import MachineCpu, cpu_s, machine_cpu, proportional_memory_bytes
from gapbook.audit import reconcile
from gapbook.clients import CONTRACT_VERSION, ClientRun
from gapbook.deployment import Deployment
from gapbook.errors import ClientError, StackError
from gapbook.plan import PlannedTrial
from gapbook.scenario import Contestant, Scenario
from gapbook.stacks import Stack
from gapbook.work import AliasTable

__all__ = ["PERCENTILES", "decode_histogram", "run_trial"]

PERCENTILES = (50.0, 75.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99)
_CLIENT_THREADS = 1
_IDLE_POLL_S = 0.1
_IDLE_CPU_FRAC = 0.05
_IDLE_POLLS = 3
_IDLE_TIMEOUT_S = 60.0


@dataclass
class _Edges:
    """Counters read at the moments the client calls the window's edges."""

    server_roots: Sequence[int]
    tier_roots: Sequence[int]
    samples: dict[str, tuple[float, float, MachineCpu, float]] = field(default_factory=dict)

    def on_event(self, event: dict[str, Any]) -> None:
        name = event.get("event")
        if name in {"window_start", "window_end"}:
            self.samples[name] = (
                cpu_s(self.server_roots),
                cpu_s(self.tier_roots) if self.tier_roots else 0.0,
                machine_cpu(),
                time.process_time(),
            )

    def differences(self) -> dict[str, float]:
        """CPU inside the window by who used it; empty when the client never told both edges."""
        if len(self.samples) < 2:
            return {}
        (server_0, tier_0, machine_0, own_0) = self.samples["window_start"]
        (server_1, tier_1, machine_1, own_1) = self.samples["window_end"]
        return {
            "server_cpu_s": server_1 - server_0,
            "tier_cpu_s": tier_1 - tier_0,
            "machine_busy_s": machine_1.busy_s - machine_0.busy_s,
            "steal_s": machine_1.steal_s - machine_0.steal_s,
            "harness_cpu_s": own_1 - own_0,
        }


def run_trial(
    planned: PlannedTrial,
    scenario: Scenario,
    stack: Stack,
    *,
    deployment: Deployment,
    tables: Path,
    ceiling_per_s: float | None,
) -> dict[str, Any]:
    """Run one trial and return its record row; a trial that broke is a refused row, not an exception.

    Raises StackError only when the stack cannot be brought back for the next trial.
    """
    contestant = scenario.contestant(planned.contestant)
    row: dict[str, Any] = {
        "trial": planned.number,
        "block": planned.block,
        "contestant": contestant.name,
        "alpha": planned.alpha,
        "work_seed": planned.work_seed,
        "started_unix_s": time.time(),
    }
    started = time.monotonic()
    try:
        row |= _measure(planned, scenario, contestant, stack, deployment, tables, ceiling_per_s)
    except (StackError, ClientError) as error:
        row |= {"valid": False, "refused_because": str(error), "labels": [], "gates": []}
        _restart(stack)
    row["took_s"] = time.monotonic() - started
    return row


def _measure(
    planned: PlannedTrial,
    scenario: Scenario,
    contestant: Contestant,
    stack: Stack,
    deployment: Deployment,
    tables: Path,
    ceiling_per_s: float | None,
) -> dict[str, Any]:
    workload = scenario.workload
    table = AliasTable.zipf_cached(workload.accounts, planned.alpha)
    table_path, table_sha256 = table.write(tables)
    stack.seed(workload.accounts, workload.initial_balance)
    settings, proven = stack.settings(), stack.durability()
    committed_before = stack.committed_transfers()
    tier = contestant.module.start_tier(
        deployment,
        tier=contestant.tier,
        access=contestant.access,
        endpoint=stack.endpoint(),
        pool_size=scenario.connections,
    )
    try:
        edges = _Edges([p.pid for p in stack.processes()], [tier.process.pid] if tier else [])
        configuration: dict[str, Any] = {
            "contract": CONTRACT_VERSION,
            "endpoint": tier.endpoint if tier else stack.endpoint(),
            "workload": {
                "name": workload.name,
                "seed": planned.work_seed,
                "accounts": workload.accounts,
                "alpha": planned.alpha,
                "amount_max": workload.amount_max,
                "alias_table": str(table_path),
                "alias_table_sha256": table_sha256,
            },
            "connections": scenario.connections,
            "in_flight": contestant.in_flight,
            "loop": {"kind": "closed"},
            "threads": _CLIENT_THREADS,
            "warmup_s": scenario.warmup_s,
            "window_s": scenario.window_s,
            "drain_s": scenario.drain_s,
            "request_timeout_s": scenario.request_timeout_s,
        }
        log_before = stack.log_bytes()
        report = ClientRun(contestant.load_client, configuration, edges.on_event).run(deployment)
        backlog = _wait_until_idle(stack, (proven.max_ms or 0.0) / 1000)
        memory_bytes = proportional_memory_bytes([*edges.server_roots, *edges.tier_roots])
    finally:
        if tier is not None:
            deployment.stop(tier.process)
    committed = stack.committed_transfers() - committed_before
    audit = reconcile(
        report,
        committed=committed,
        balances=stack.balances(),
        table=table,
        seed=planned.work_seed,
        amount_max=workload.amount_max,
        initial_balance=workload.initial_balance,
    )
    window = report["window"]
    differences = edges.differences()
    client_cpu_s = window["cpu_user_s"] + window["cpu_system_s"]
    other_cpu_s = differences.get("machine_busy_s", 0.0) - sum(
        (differences.get(name, 0.0) for name in ("server_cpu_s", "tier_cpu_s", "harness_cpu_s")), client_cpu_s
    )
    judged = [
        gates.reconciled(audit),
        gates.littles_law(window, report["window_s"]),
        gates.settings_as_declared(
            stack.declared_settings(),
            settings,
            proven.satisfies(scenario.durability),
            f"durability {proven}, declared {scenario.durability}",
        ),
        gates.within_failures(report),
        gates.steady(report["per_second"], report["warmup_s"], report["window_s"]),
        gates.noise(other_cpu_s, differences.get("steal_s", 0.0), report["window_s"], os.cpu_count() or 1),
    ]
    refused = [f"{gate.name}: {gate.text}" for gate in judged if not gate.passed]
    return {
        "valid": not refused,
        "refused_because": "; ".join(refused) or None,
        "labels": gates.labels(
            goodput_per_s=window["goodput_per_s"],
            ceiling_per_s=ceiling_per_s,
            client_cpu_s=client_cpu_s,
            client_threads=_CLIENT_THREADS,
            window_s=report["window_s"],
            catch_up_s=backlog["catch_up_s"],
            loaded_s=report["warmup_s"] + report["window_s"],
            durability_s=(proven.max_ms or 0.0) / 1000,
        ),
        "gates": [gate.as_dict() for gate in judged],
        "goodput_per_s": window["goodput_per_s"],
        "completed_in_window": window["completed"],
        "mean_in_flight": window["mean_in_flight"],
        "mean_service_time_s": window["mean_service_time_s"],
        "attempted": report["attempted"],
        "acknowledged": report["acknowledged"],
        "failed": report["failed"],
        "retried": report["retried"],
        "in_doubt": report["in_doubt"],
        "committed": audit.committed,
        "mismatched_accounts": audit.mismatched_accounts,
        "per_second": report["per_second"],
        "latency_ms": _percentiles(report["service_time_ns"]),
        "service_time_histogram": report["service_time_ns"],
        "response_time_histogram": report["response_time_ns"],
        "client_cpu_s": client_cpu_s,
        "client_peak_memory_bytes": report["peak_memory_bytes"],
        "client_build_id": report["client"]["build_id"],
        **{name: differences.get(name) for name in ("server_cpu_s", "tier_cpu_s", "steal_s")},
        "other_cpu_s": other_cpu_s if differences else None,
        "server_memory_bytes": memory_bytes,
        "log_bytes": stack.log_bytes() - log_before,
        **backlog,
        "settings": settings | ({f"tier: {k}": v for k, v in tier.settings.items()} if tier else {}),
        "durability": str(proven),
        "ceiling_per_s": ceiling_per_s,
    }


def _percentiles(encoded: str) -> list[dict[str, float]]:
    """Latency in ms at fixed percentiles, with how many operations lie above each."""
    histogram = decode_histogram(encoded)
    total = histogram.get_total_count()
    return [
        {
            "percentile": percentile,
            "latency_ms": histogram.get_value_at_percentile(percentile) / 1e6,
            "operations_above": round(total * (1 - percentile / 100)),
        }
        for percentile in PERCENTILES
    ]


def decode_histogram(encoded: str) -> HdrHistogram:
    """An HdrHistogram V2 (deflate, base64) as clients report it, values in ns."""
    base64.b64decode(encoded, validate=True)
    return HdrHistogram.decode(encoded)


def _wait_until_idle(stack: Stack, flush_timer_s: float) -> dict[str, float]:
    """Wait until the log stopped growing and the server uses no CPU; how long that took and cost.

    An acknowledgement can run ahead of the log: where commits are flushed by a timer, quiet must last
    longer than the timer. Raises StackError after a bound, for a server that
    never gets idle makes the next trial its victim.
    """
    roots = [process.pid for process in stack.processes()]
    for process in stack.processes():
        process.require_running()
    started = time.monotonic()
    cpu_start = cpu_last = cpu_s(roots)
    log_start = log_last = stack.log_bytes()
    last_active = started
    quiet = 0
    while quiet < _IDLE_POLLS or time.monotonic() - last_active < flush_timer_s + _IDLE_POLL_S:
        time.sleep(_IDLE_POLL_S)
        cpu_now, log_now = cpu_s(roots), stack.log_bytes()
        now = time.monotonic()
        if log_now == log_last and cpu_now - cpu_last <= _IDLE_CPU_FRAC * _IDLE_POLL_S:
            quiet += 1
        else:
            quiet, last_active = 0, now
        cpu_last, log_last = cpu_now, log_now
        if now - started > _IDLE_TIMEOUT_S:
            raise StackError(f"{stack.name}: not idle {_IDLE_TIMEOUT_S:.0f} s after the last acknowledgement")
    return {
        "catch_up_s": last_active - started,
        "catch_up_cpu_s": cpu_last - cpu_start,
        "catch_up_log_bytes": log_last - log_start,
    }


def _restart(stack: Stack) -> None:
    stack.stop()
    stack.start()
