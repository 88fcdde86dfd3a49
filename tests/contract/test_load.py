"""Every load client over every way that it can speak: its report agrees with the state, also after a kill."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from gapbook.deploy import warden
from gapbook.deploy.stack import Stack
from gapbook.load.client import Client, ClientRun, configure_load, discover_clients
from gapbook.model.event import Event
from gapbook.model.report import Report
from gapbook.model.reported import issued_work
from gapbook.model.workload import Workload
from gapbook.trial.audit import reconcile
from gapbook.trial.workloads import find_workload
from tests.contract.ways import Way, clients_of, discovered_ways
from tests.drawn import drawn
from tests.hostile import hostile_names

_SEED = 11
_ACCOUNTS = 20_000
_SMALL: Mapping[str, Mapping[str, Any]] = {"transfer": {"accounts": _ACCOUNTS}, "fibonacci": {"n": 12}}
"""Parameters under which seeding and an operation take little of a test."""
_SHOWING: Mapping[str, Mapping[str, Any]] = {**_SMALL, "chat": {"forbidden_every": 2}}
"""Parameters under which a defect of a workload shows in a short load."""
_CONNECTIONS = 4
_AMPLE, _SCARCE = 10_000_000, 200
_WINDOW_S = 0.5
_LOOK_EVERY_S = 0.1
_KILL_AFTER_S = 0.4
_KILLED_WINDOW_S = 3.0
"""Long enough for the kill to fall into it on a machine that does other work."""


@cache
def _workloads_of(*command: str) -> frozenset[str]:
    """The workloads that a client says it knows."""
    described = subprocess.run(
        [*command, "--describe"],
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
        encoding="utf-8",
        env=warden.bare_environment(),
    )
    return frozenset(json.loads(described.stdout).get("workloads", ["transfer"]))


_PAIRS = [(way, client) for way in discovered_ways() for client in clients_of(way)]
_SOUND = [(way, client) for way, client in _PAIRS if way.is_sound]
_DEFECTS = [(way, client) for way, client in _PAIRS if not way.is_sound]


def _name(one: object) -> str:
    return one.language if isinstance(one, Client) else str(one)


def test_every_client_is_held_to_a_way() -> None:
    assert {client.folder for _, client in _PAIRS} == {client.folder for client in discover_clients()}


def _require(client: Client, way: Way) -> None:
    known = _workloads_of(*client.resolved_command())
    if not {"*", way.workload} & known:
        pytest.skip(f"the {client.language} client knows {', '.join(sorted(known))} only")


@contextmanager
def _looked_at(stack: Stack) -> Iterator[None]:
    """Processes are at work meanwhile, and variables of the shell reached none of them. They are looked at again and
    again: on a busy machine, a short load can be over before an event of it is read."""
    seen, altered, over = set[int](), dict[int, set[str]](), threading.Event()

    def look() -> None:
        before = dict[int, set[str]]()
        while not over.wait(_LOOK_EVERY_S):
            at_work = warden.processes_of(stack.deployment.token, stack.deployment.directory)
            seen.update(at_work)
            found = {pid: names for pid in at_work if (names := hostile_names(pid))}
            # A child of ours that has not begun its program yet still has what we have, at one look and not at two.
            altered.update({pid: names for pid, names in found.items() if before.get(pid) == names})
            before = found

    looking = threading.Thread(target=look)
    looking.start()
    try:
        yield
    finally:
        over.set()
        looking.join()
    assert seen
    assert not altered, "variables of the shell reached them"


def _run(
    way: Way,
    client: Client,
    stack: Stack,
    workload: Workload,
    tables: Path,
    kill: Callable[[int | None], None] | None = None,
) -> Report:
    """The report of a short closed loop. ``kill`` is called once within the window, with the process of the
    tier, if there is one."""
    address = stack.endpoint()
    tier = way.module.start_tier(
        stack.deployment, tier=way.tier, access=way.access, endpoint=address, pool_size=_CONNECTIONS
    )
    endpoint = way.module.client_endpoint(way.access, way.tier, address) if tier is None else tier.endpoint
    configuration = configure_load(
        endpoint,
        workload,
        tables,
        seed=_SEED,
        connections=_CONNECTIONS,
        in_flight=int(endpoint.get("batch_size", 1)),
        warmup_s=0.1,
        window_s=_WINDOW_S if kill is None else _KILLED_WINDOW_S,
        drain_s=5.0,
        request_timeout_s=5.0,
    )
    process = None if tier is None else tier.process.pid
    timer = threading.Timer(_KILL_AFTER_S, kill or (lambda _: None), [process])

    def on_event(event: Event) -> None:
        if event.name == "window_start" and kill is not None:
            timer.start()

    try:
        with nullcontext() if kill else _looked_at(stack):
            return ClientRun(client, configuration, on_event).run(stack.deployment)
    finally:
        timer.cancel()
        if tier is not None:
            stack.deployment.stop(tier.process)


_CLIENTS_SCARCE = 2
"""What a refused transfer leaves is the way's own affair, and each client's tests have it refused: each day others ask."""
_BALANCES = [(way, client, _AMPLE) for way, client in _SOUND] + [
    (way, client, _SCARCE)
    for way in dict.fromkeys(way for way, _ in _SOUND if way.workload == "transfer")
    for client in drawn([client for of, client in _SOUND if of == way], _CLIENTS_SCARCE, of=f"scarce {way}")
]


@pytest.mark.parametrize(("way", "client", "balance"), _BALANCES, ids=_name)
def test_the_state_is_that_of_the_operations_that_the_client_reports(
    stack_for: Callable[[Way], Stack], way: Way, client: Client, balance: int, tmp_path: Path
) -> None:
    _require(client, way)
    stack = stack_for(way)
    skewed = {"alpha": 1.5, "initial_balance": balance} if way.workload == "transfer" else {}
    workload = find_workload(way.workload, {**_SMALL.get(way.workload, {}), **skewed})
    stack.seed(workload)
    before = stack.committed_operations()
    report = _run(way, client, stack, workload, tmp_path)
    after = stack.committed_operations()
    # A transfer that is refused may be made and taken back within its transaction, which is counted too.
    counted = None not in (before, after) and not report.failed.get("insufficient", 0)
    audit = reconcile(
        report,
        workload=workload,
        seed=_SEED,
        state=stack.state(),
        committed=(after or 0) - (before or 0) if counted else None,
        counts_commits=stack.counts_commits,
    )
    assert audit.agrees, audit.explain()
    assert audit.acknowledged > 0
    assert report.failed["error"] == 0, report.first_error
    if balance == _SCARCE:
        assert report.failed["insufficient"] > 0


@pytest.mark.parametrize(("way", "client"), _DEFECTS, ids=_name)
def test_a_defect_is_refused_by_the_audit(
    stack_for: Callable[[Way], Stack], way: Way, client: Client, tmp_path: Path
) -> None:
    stack = stack_for(way)
    workload = find_workload(way.workload, _SHOWING[way.workload])
    stack.seed(workload)
    report = _run(way, client, stack, workload, tmp_path)
    assert report.acknowledged > 0
    assert not reconcile(report, workload=workload, seed=_SEED, state=stack.state(), committed=None).agrees


_CLIENTS_A_KILL = 1
"""How an engine dies and comes back is its own affair: each day another holds the load meanwhile."""
_KILLABLE = [
    (way, client)
    for way in dict.fromkeys(way for way, _ in _SOUND)
    if not way.stack.facts.simulated and (not way.stack.facts.in_process or way.module.is_process(way.tier))
    for client in drawn([client for of, client in _SOUND if of == way], _CLIENTS_A_KILL, of=way)
]


@pytest.mark.parametrize(("way", "client"), _KILLABLE, ids=_name)
def test_a_killed_engine_leaves_doubt_and_comes_back_with_what_it_kept(
    stack_for: Callable[[Way], Stack], way: Way, client: Client, tmp_path: Path
) -> None:
    _require(client, way)
    stack = stack_for(way)
    workload = find_workload(way.workload, _SMALL.get(way.workload, {})).told_apart()
    stack.seed(workload)

    def kill(tier: int | None) -> None:
        # An engine inside its tier dies with it.
        if stack.processes():
            stack.kill()
        elif tier is not None:
            warden.kill_tree(tier)

    report = _run(way, client, stack, workload, tmp_path, kill)
    stack.recover()
    listed = [len(row.in_doubt) for row in report.connections]
    assert sum(listed) == report.in_doubt
    # A tier that outlives its database answers for it: then it is refused as an error, not in doubt.
    # And one that dies between its last answer and the next request leaves lost connections only.
    assert report.in_doubt + report.failed["error"] + report.lost_connections > 0
    depth = way.module.levels[way.access].endpoint.batch_size or 1
    assert max(listed) <= depth
    work = [issued_work(row, depth) for row in report.connections]
    survived = workload.survived(_SEED, work, stack.state())
    assert survived is not None
    assert survived.lost <= report.acknowledged
    stack.seed(workload)
    again = _run(way, client, stack, workload, tmp_path)
    refused = sum(again.failed[name] for name in workload.declaration.refusals)
    assert again.acknowledged == again.attempted - refused > 0
