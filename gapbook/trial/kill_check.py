"""The kill -9 check: a declared durability class is not trusted.

Seed, load, SIGKILL inside the window, start again on the same data, and count to the unit which
acknowledged transfers are gone. SIGKILL keeps the operating system's page cache, so that this shows
what a server has not handed to the kernel; it is not the loss of power.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import psutil

from gapbook.deploy import warden
from gapbook.deploy.deployment import Deployment
from gapbook.deploy.stack import Stack
from gapbook.errors import ClientError, StackError
from gapbook.load.client import ClientRun, configure_load
from gapbook.model.reported import issued_work
from gapbook.model.workload import State, Workload
from gapbook.trial.contestant import Contestant
from gapbook.trial.kill_outcome import KillOutcome, killed_no_earlier_s, oldest_age_s
from gapbook.trial.kill_timer import KillTimer
from gapbook.trial.scenario import Scenario
from gapbook.trial.target import target_of

__all__ = ["kill_check"]

_WARMUP_S = 1.0
_JITTER_S = 1.0
"""Kills are spread over at least one period of every known flush timer, or they could all hit one phase."""
_AFTER_KILL_S = 0.5
_DRAIN_S = 5.0
_REQUEST_TIMEOUT_S = 5.0
_UNEXPLAINED = "no prefixes of the connections' operations explain the whole state"


def kill_check(
    contestant: Contestant,
    scenario: Scenario,
    stack: Stack,
    deployment: Deployment,
    *,
    rounds: int = 3,
    load_s: float = 3.0,
    seed: int | None = None,
) -> list[dict[str, Any]]:
    """Kill the contestant's engine ``rounds`` times under load; one row for the record for each.

    The window is that of this check (``load_s`` until the kill and up to a second more), the load that of
    the contestant without added round trip and without flaws, at the middle value of the treatment. A check that broke is a row that is not
    resolved. For a server that the reader named there is one row, without a kill.
    Raises StackError only when the stack cannot be brought back.
    """
    durability, work_seed = stack.context.durability, scenario.seed if seed is None else seed
    named = {"contestant": contestant.name, "durability": str(durability)}
    if stack.context.choice.endpoint:
        unkilled = KillOutcome(note="a server that the reader named is not killed")
        return [{**named, "round": 0, **unkilled.as_dict(durability)}]
    rows = []
    for number in range(rounds):
        kill_after_s = load_s + _JITTER_S * float(np.random.default_rng([work_seed, number]).random())
        check = _Check(contestant, scenario, stack, deployment, work_seed + number, kill_after_s)
        try:
            outcome = check.run()
        except (StackError, ClientError, OSError) as error:
            outcome = KillOutcome(load_s=kill_after_s, note=str(error))
            stack.stop()
            stack.start()
        rows.append({**named, "round": number, **outcome.as_dict(durability)})
    return rows


@dataclass
class _Check:
    """One kill of one contestant."""

    contestant: Contestant
    scenario: Scenario
    stack: Stack
    deployment: Deployment
    seed: int
    kill_after_s: float
    workload: Workload = field(init=False)
    connections: int = field(init=False)
    progress: list[tuple[float, int]] = field(default_factory=list)
    """Seconds since the load began and acknowledgements so far, as the client said once a second."""

    def __post_init__(self) -> None:
        values = self.scenario.treatment.values
        value = values[len(values) // 2]
        self.workload = self.scenario.workload.at(**self.scenario.treatment.parameters(value)).told_apart()
        self.connections = self.scenario.connections_at(value)

    def run(self) -> KillOutcome:
        self.stack.seed(self.workload)
        report = self._load_until_killed()
        started = time.monotonic()
        self.stack.recover()
        recovered_in_s = time.monotonic() - started
        state = self.stack.state()
        outcome = self._of_dead_client(state) if report is None else self._of_report(report, state)
        outcome.load_s = self.kill_after_s
        outcome.recovered_in_s = recovered_in_s if self.stack.processes() else None
        outcome.goodput_per_s = self._goodput_per_s()
        return outcome

    # --- load and kill ------------------------------------------------------------------------
    def _load_until_killed(self) -> dict[str, Any] | None:
        """The client's report; None when it was the client that had to be killed."""
        with target_of(
            self.contestant, self.stack.endpoint(), self.deployment, pool_size=self.connections
        ) as target:
            configuration = self._configuration(target.endpoint)
            if self.stack.processes():
                return self._loaded(configuration, self.stack.kill)
            if target.processes:
                return self._loaded(configuration, target.processes[0].kill)
            self._kill_with_client(configuration)
            return None

    def _configuration(self, endpoint: Mapping[str, Any]) -> dict[str, Any]:
        return configure_load(
            endpoint,
            self.workload,
            self.deployment.directory,
            seed=self.seed,
            connections=self.connections,
            in_flight=self.contestant.in_flight,
            warmup_s=_WARMUP_S,
            window_s=self.kill_after_s + _AFTER_KILL_S,
            drain_s=_DRAIN_S,
            request_timeout_s=_REQUEST_TIMEOUT_S,
            max_retries=self.contestant.client_retries,
        )

    def _loaded(self, configuration: Mapping[str, Any], kill: Callable[[], None]) -> dict[str, Any]:
        """Run the client to its end and kill what it calls meanwhile; raises StackError when that failed."""
        with KillTimer(kill, self.kill_after_s) as timer:

            def on_event(event: dict[str, Any]) -> None:
                timer.on_event(event)
                if not timer.struck:
                    self._note_progress(event)

            report = ClientRun(self.contestant.load_client, configuration, on_event).run(self.deployment)
            timer.require_killed(self.stack.name)
        return report

    def _kill_with_client(self, configuration: Mapping[str, Any]) -> None:
        """Kill the client, and the engine inside it, the moment it has said how much was acknowledged."""
        others = {child.pid for child in psutil.Process().children()}
        killed = False

        def on_event(event: dict[str, Any]) -> None:
            nonlocal killed
            if killed:
                return
            self._note_progress(event)
            if event.get("event") == "progress" and self.progress[-1][0] >= _WARMUP_S + self.kill_after_s:
                killed = True
                for child in psutil.Process().children():
                    if child.pid not in others:
                        _kill_tree(child.pid)

        # The last progress line comes with the next whole second after the kill is due.
        longer = {**configuration, "window_s": self.kill_after_s + 2.0}
        try:
            ClientRun(self.contestant.load_client, longer, on_event).run(self.deployment)
        except ClientError:
            if not killed:
                raise
        if not killed:
            raise StackError(f"{self.stack.name}: the load ended before its client was killed")

    def _note_progress(self, event: Mapping[str, Any]) -> None:
        if event.get("event") == "progress":
            self.progress.append((float(event["elapsed_s"]), int(event["acknowledged"])))

    def _goodput_per_s(self) -> float | None:
        """Acknowledgements a second between the end of the warm-up and the last progress before the kill."""
        counted = [row for row in self.progress if row[0] >= _WARMUP_S]
        if len(counted) < 2:
            return None
        (begin_s, before), (end_s, after) = counted[0], counted[-1]
        return (after - before) / (end_s - begin_s)

    # --- what is gone -------------------------------------------------------------------------
    def _of_report(self, report: Mapping[str, Any], state: State) -> KillOutcome:
        outcome = KillOutcome(acknowledged=int(report["acknowledged"]))
        # A server can die between its last answer and the next request: only connections are lost then.
        signs = (report["in_doubt"], report["failed"]["error"], report["lost_connections"])
        if not any(map(int, signs)):
            outcome.note = "no request was cut off, so the server was not killed under this load"
            return outcome
        if all(table.is_empty() for table in state.values()):
            outcome.lost, outcome.in_doubt_committed = outcome.acknowledged, 0
            outcome.note = f"nothing is left, not even the {' and '.join(state)}"
            return outcome
        work = [issued_work(row, self.contestant.in_flight) for row in report["connections"]]
        survived = self.workload.survived(self.seed, work, state)
        if survived is None:
            outcome.note = _UNEXPLAINED
            return outcome
        outcome.lost, outcome.in_doubt_committed = survived.lost, survived.in_doubt_committed
        killed_at_s = killed_no_earlier_s(report["per_100ms"], _WARMUP_S + self.kill_after_s)
        outcome.oldest_lost_s = oldest_age_s(report["per_second"], killed_at_s, outcome.lost)
        return outcome

    def _of_dead_client(self, state: State) -> KillOutcome:
        """Without a report: what survived is counted, and held against the client's last progress line."""
        acknowledged = self.progress[-1][1]
        outcome = KillOutcome(acknowledged=acknowledged)
        outcome.note = (
            "the engine ran inside the client: acknowledged is the client's last word before both were "
            "killed, and a loss of what came after it does not show"
        )
        survived = self.workload.committed(self.seed, self.connections, acknowledged, state)
        if survived is None:
            outcome.note = _UNEXPLAINED
            return outcome
        outcome.lost = max(0, acknowledged - survived)
        outcome.in_doubt_committed = max(0, survived - acknowledged)
        return outcome


def _kill_tree(root: int) -> None:
    ticks = warden.process_start_ticks(root)
    alive = {} if ticks is None else {root: ticks}
    warden.end_processes(alive | warden.descendants(alive), signal.SIGKILL)
