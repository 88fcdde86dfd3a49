"""One trial: reset, load, drain, wait until the server is idle, audit, judge."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from gapbook.deploy.backend import memory_bytes_of
from gapbook.deploy.delay import delay_proxy
from gapbook.deploy.deployment import Deployment
from gapbook.deploy.endpoint import Endpoint
from gapbook.deploy.limits import allowed_processors
from gapbook.deploy.probe import Probe, probe_of_machine
from gapbook.deploy.process import Process
from gapbook.deploy.stack import Ahead, Stack
from gapbook.errors import ClientError, StackError
from gapbook.load.client import configure_load
from gapbook.load.configuration import LoadConfiguration
from gapbook.load.maker import BESIDE_THE_SERVER, LoadMaker
from gapbook.model.event import Event
from gapbook.model.plan import PlannedTrial
from gapbook.model.report import Report
from gapbook.model.workload import Workload
from gapbook.record.describe import ENGINE_SETTING
from gapbook.record.durability import Durability
from gapbook.record.labels import labels_of
from gapbook.record.row import Headed, Judged, TrialRow
from gapbook.trial import gates
from gapbook.trial.audit import reconcile
from gapbook.trial.backlog import wait_until_idle
from gapbook.trial.contestant import Contestant
from gapbook.trial.kill_timer import KillTimer
from gapbook.trial.row import Loaded, as_counted, as_measured
from gapbook.trial.scenario import Scenario
from gapbook.trial.target import Target, target_of
from gapbook.trial.window_cpu import WindowSampler

__all__ = ["run_trial"]

_REPLAYED = "replayed-pairs"
_AGREED_SETTING = "agreed: "
_LINGER_S = 0.25
"""For so long after the window clients keep their connections, so that a server that has a process for each is read with
these processes and without their ends, which are no part of the load."""


def run_trial(
    planned: PlannedTrial,
    scenario: Scenario,
    stack: Stack,
    *,
    deployment: Deployment,
    tables: Path,
    ceiling_per_s: float | None,
    own_steal_frac: float = 0.0,
    maker: LoadMaker = BESIDE_THE_SERVER,
    host_ceilings: Sequence[float | None] = (),
) -> TrialRow:
    """Run one trial and return its record row; a trial that broke is a refused row, not an exception.

    ``maker`` makes its load; ``host_ceilings`` are those of the client of each host from which it comes.

    ``own_steal_frac`` is the share of the machine that the hypervisor takes on account of the contestant itself,
    as far as it is known (:mod:`gapbook.trial.own_steal`).

    Raises StackError only when the stack cannot be brought back for the next trial.
    """
    contestant = scenario.contestant(planned.contestant)
    headed = Headed(
        trial=planned.number,
        block=planned.block,
        contestant=contestant.name,
        treatment=planned.treatment,
        work_seed=planned.work_seed,
        started_unix_s=time.time(),
    )
    started = time.monotonic()
    reported: list[Report] = []
    try:
        loaded = _load(planned, scenario, contestant, stack, deployment, tables, maker, reported.append)
        for part, host_ceiling_per_s in zip(loaded.from_hosts, host_ceilings, strict=False):
            part.ceiling_per_s = host_ceiling_per_s
        row = TrialRow(
            headed=headed,
            judged=_judge(loaded, scenario, planned, stack, ceiling_per_s, own_steal_frac),
            counted=as_counted(loaded.report),
            measured=as_measured(loaded),
        )
        row.judged.labels = labels_of(
            row.columns(),
            loaded.report.warmup_s,
            loaded.report.window_s,
            client_threaded=contestant.load_client.threaded,
        )
    except (StackError, ClientError, OSError) as error:
        broken = Judged(valid=False, refused_because=str(error), gates=[])
        row = TrialRow(headed=headed, judged=broken, counted=as_counted(reported[0]) if reported else None)
        stack.stop()
        stack.start()
    row.took_s = time.monotonic() - started
    return row


def _load(
    planned: PlannedTrial,
    scenario: Scenario,
    contestant: Contestant,
    stack: Stack,
    deployment: Deployment,
    tables: Path,
    maker: LoadMaker,
    on_report: Callable[[Report], None],
) -> Loaded:
    """Reset, read settings back, load, wait until idle, audit.

    ``on_report`` gets the client's report as soon as it is there: it is told in the record also when
    the server cannot be read any more.
    """
    workload = scenario.workload_of(contestant, planned.treatment)
    connections = scenario.connections_at(planned.treatment)
    stack.prepare(_ahead(planned, scenario, contestant))
    stack.seed(workload)
    settings, proven = stack.settings(), stack.durability()
    committed_before, log_before = stack.committed_operations(), stack.log_bytes()
    metric_before = stack.metric_transactions()
    with (
        _between(contestant, stack, deployment, connections, maker.address) as (target, proxies),
        _probed(contestant, deployment) as probes,
    ):
        between, server = [*proxies, *target.processes, *stack.beside()], stack.processes()
        sampler = WindowSampler(
            None if stack.context.choice.endpoint else server,
            [*between, *(probe.process for probe in probes)],
            watches=contestant.watched,
            elsewhere=stack.context.choice.elsewhere,
        )
        configuration = _configuration(planned, scenario, contestant, target.endpoint, workload, tables)
        listeners: list[Callable[[Event], None]] = [
            sampler.on_event,
            *(probe.on_event for probe in probes),
            stack.on_event,
        ]
        load = maker.load(contestant.load_client, configuration, _all_hear(listeners))
        with _killed(contestant, stack, configuration["window_s"]) as on_event:
            listeners.append(on_event)
            with deployment.confining(contestant.client_processors):
                report = load.run(deployment)
        on_report(report)
        observed = stack.observe()
        metrics = dict(observed.metrics)
        for probe in probes:
            metrics |= probe.finish()
        backlog = wait_until_idle(stack, _flush_timer_s(proven))
        memory_bytes = memory_bytes_of([*server, *between])
    committed = stack.committed_operations()
    audit = reconcile(
        report,
        workload=workload,
        seed=planned.work_seed,
        state=stack.state(),
        committed=_since(committed_before, committed),
        counts_commits=stack.counts_commits,
        replayed_batch=next((f["batch"] for f in contestant.flaws if f["name"] == _REPLAYED), None),
    )
    settings |= target.settings
    for what, told in ((ENGINE_SETTING, report.engine), (_AGREED_SETTING, report.agreed)):
        settings |= {f"{what}{key}": value for key, value in (told or {}).items()}
    counted = _since(metric_before, stack.metric_transactions())
    grown = _since(log_before, stack.log_bytes())
    return Loaded(
        settings,
        proven,
        report,
        sampler.window_cpu(),
        list(load.parts),
        backlog,
        memory_bytes,
        grown,
        audit,
        counted,
        sampler.watched,
        metrics,
        list(observed.remarks),
    )


def _since(before: int | None, after: int | None) -> int | None:
    """By how much a count grew; None where nobody can read it."""
    return None if before is None or after is None else after - before


def _flush_timer_s(proven: Durability | None) -> float:
    """How much later than its acknowledgement a commit may be on disk, as far as that is known."""
    return 0.0 if proven is None else (proven.max_ms or 0.0) / 1000


def _ahead(planned: PlannedTrial, scenario: Scenario, contestant: Contestant) -> Ahead:
    return Ahead(
        contestant.module.levels[contestant.access],
        scenario.databases_at(planned.treatment),
        scenario.warmup_s,
        scenario.window_of(contestant),
    )


def _configuration(
    planned: PlannedTrial,
    scenario: Scenario,
    contestant: Contestant,
    endpoint: Endpoint,
    workload: Workload,
    tables: Path,
) -> LoadConfiguration:
    """What the client is told; see clients/CONTRACT.md."""
    return configure_load(
        endpoint,
        workload,
        tables,
        seed=planned.work_seed,
        connections=scenario.connections_at(planned.treatment),
        in_flight=contestant.in_flight,
        warmup_s=scenario.warmup_s,
        window_s=scenario.window_of(contestant),
        drain_s=scenario.drain_s,
        request_timeout_s=scenario.request_timeout_s,
        max_retries=contestant.client_retries,
        flaws=contestant.flaws,
        rate_per_s=contestant.rate_per_s,
        linger_s=_LINGER_S if contestant.load_client.lingers else 0.0,
    )


@contextmanager
def _between(
    contestant: Contestant, stack: Stack, deployment: Deployment, connections: int, listen: str
) -> Iterator[tuple[Target, list[Process]]]:
    """What the client calls, and the proxies before it: all that stands between client and server."""
    with ExitStack() as started:
        with deployment.confining(contestant.processors_between):
            endpoint, proxies = started.enter_context(_delayed(contestant, stack, deployment))
            target = started.enter_context(
                target_of(contestant, endpoint, deployment, pool_size=connections, listen=listen)
            )
        yield target, proxies


@contextmanager
def _delayed(
    contestant: Contestant, stack: Stack, deployment: Deployment
) -> Iterator[tuple[Endpoint, list[Process]]]:
    if contestant.round_trip_ms is None:
        yield stack.endpoint(), []
        return
    with delay_proxy(deployment, stack.endpoint(), contestant.round_trip_ms) as (proxy, endpoint):
        yield endpoint, [proxy]


@contextmanager
def _probed(contestant: Contestant, deployment: Deployment) -> Iterator[list[Probe]]:
    """The probe of the machine where the contestant asks for it; its CPU is counted as a tier's."""
    if not contestant.probed:
        yield []
        return
    with probe_of_machine(deployment) as probe:
        yield [probe]


def _all_hear(listeners: Sequence[Callable[[Event], None]]) -> Callable[[Event], None]:
    """Each event of a client goes to all, in this order."""

    def on_event(event: Event) -> None:
        for listener in listeners:
            listener(event)

    return on_event


@contextmanager
def _killed(contestant: Contestant, stack: Stack, window_s: float) -> Iterator[Callable[[Event], None]]:
    """Where the contestant asks for it, the server is ended in the middle of the window that the events tell; raises
    StackError where the load was over before."""
    if not contestant.server_killed:
        yield lambda event: None
        return
    with KillTimer(stack.kill, window_s / 2) as timer:
        yield timer.on_event
        timer.require_killed(stack.name)


def _judge(
    loaded: Loaded,
    scenario: Scenario,
    planned: PlannedTrial,
    stack: Stack,
    ceiling_per_s: float | None,
    own_steal_frac: float,
) -> Judged:
    """The gates, in the words of the record."""
    report, proven = loaded.report, loaded.proven
    contestant, connections = (
        scenario.contestant(planned.contestant),
        scenario.connections_at(planned.treatment),
    )
    declared = scenario.durability_of(contestant)
    processors = len(allowed_processors())
    window = report.window
    judged = [
        gates.reconciled(loaded.audit),
        gates.depth(window.mean_in_flight, _expected_depth(report, connections, contestant)),
        gates.settings_as_declared(
            stack.declared_settings(),
            loaded.settings,
            None if proven is None else proven.satisfies(declared),
            f"durability {proven or 'cannot be read over the network'}, declared {declared}",
        ),
        gates.within_failures(report),
        gates.steady(report.per_100ms, report.warmup_s, report.window_s),
        gates.quiet(loaded.cpu.other_s(loaded.client_cpu_here_s), report.window_s, processors),
        gates.steal(loaded.cpu.steal_s, report.window_s, processors, own_steal_frac),
    ]
    if stack.context.choice.elsewhere:
        judged = [gates.of_client_alone(gate) for gate in judged]
    if loaded.cpu.throttled_s:
        # Without a quota nothing is ever throttled, and there is nothing to judge.
        judged.append(gates.throttled(loaded.cpu.throttled_s, report.window_s, processors))
    refused = [f"{gate.name}: {gate.text}" for gate in judged if gate.passed is False]
    return Judged(
        valid=not refused,
        refused_because="; ".join(refused) or None,
        gates=judged,
        ceiling_per_s=ceiling_per_s,
    )


def _expected_depth(report: Report, connections: int, contestant: Contestant) -> float | None:
    """How many requests should be out: connections × in flight, one where the engine is inside the client."""
    if contestant.rate_per_s is not None:
        return None
    return 1.0 if report.engine is not None else float(connections * contestant.in_flight)
