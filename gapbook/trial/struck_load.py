"""A load that is struck: a client at work while its server is ended without warning, and what is then gone.

What strikes is up to the check: a signal, or the loss of power.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from gapbook.deploy.deployment import Deployment
from gapbook.deploy.endpoint import Endpoint
from gapbook.deploy.stack import Stack
from gapbook.errors import StackError
from gapbook.load.client import ClientRun, configure_load
from gapbook.load.configuration import LoadConfiguration
from gapbook.model.event import Event, Progress
from gapbook.model.report import Report
from gapbook.model.reported import issued_work
from gapbook.model.workload import State, Workload
from gapbook.record.schema import one_line
from gapbook.trial.contestant import Contestant
from gapbook.trial.kill_outcome import KillOutcome, killed_no_earlier_s, oldest_age_s
from gapbook.trial.kill_timer import KillTimer
from gapbook.trial.scenario import Scenario
from gapbook.trial.target import Target, target_of

__all__ = ["UNEXPLAINED", "Restarted", "StruckLoad", "is_cut_off", "is_struck", "load_of_round_s"]

UNEXPLAINED = "the operations that may have survived explain the whole state in no way, or in several"
_AFTER_STRIKE_S = 0.5
_DRAIN_S = 5.0
_REQUEST_TIMEOUT_S = 5.0


def is_struck(contestant: Contestant) -> bool:
    """Whether a contestant's server is struck at all: what is simulated promises nothing, and of one that only runs
    for longer its twin is struck."""
    return not contestant.stack.facts.simulated and contestant.window_s is None


def load_of_round_s(load_s: float, jitter_s: float, seed: int, number: int) -> float:
    """How long a round loads before its strike: ``load_s`` and, by its number, up to ``jitter_s`` more.

    Strikes are to be spread over at least one period of every known flush timer, or they could all hit one phase.
    """
    return load_s + jitter_s * float(np.random.default_rng([seed, number]).random())


def is_cut_off(report: Report) -> bool:
    """Whether a client's requests or connections were: else its server was not struck under its load."""
    # A server can die between its last answer and the next request: only connections are lost then.
    return any(map(int, (report.in_doubt, report.failed["error"], report.lost_connections)))


@dataclass(frozen=True)
class Restarted:
    """What a server held that was started again after a strike: ``state`` None where it did not start, or where that
    could not be read, and then ``why``. ``recovered_in_s`` None: it did not start, or has no process of its own."""

    state: State | None
    recovered_in_s: float | None
    why: str | None = None


@dataclass
class StruckLoad:
    """The load of one check: that of the contestant without added round trip and without flaws, at the middle
    value of the treatment, with parameters under which the state tells which operations survived.

    ``strike_after_s`` counts from the opening of the window, ``warmup_s`` lies before it.
    """

    contestant: Contestant
    scenario: Scenario
    stack: Stack
    deployment: Deployment
    seed: int
    strike_after_s: float
    warmup_s: float = 1.0
    workload: Workload = field(init=False)
    connections: int = field(init=False)
    progress: list[tuple[float, int]] = field(default_factory=list)
    """Seconds since the load began and acknowledgements so far, as the client said once a second."""

    def __post_init__(self) -> None:
        values = self.scenario.treatment.values
        value = values[len(values) // 2]
        self.workload = self.scenario.workload.at(**self.scenario.treatment.parameters(value)).told_apart()
        self.connections = self.scenario.connections_at(value)

    @property
    def struck_at_s(self) -> float:
        """When the strike is due, from the beginning of the load."""
        return self.warmup_s + self.strike_after_s

    def target(self) -> AbstractContextManager[Target]:
        """What the client calls, while it is there."""
        return target_of(self.contestant, self.stack.endpoint(), self.deployment, pool_size=self.connections)

    def configuration(self, endpoint: Endpoint) -> LoadConfiguration:
        return configure_load(
            endpoint,
            self.workload,
            self.deployment.directory,
            seed=self.seed,
            connections=self.connections,
            in_flight=self.contestant.in_flight,
            warmup_s=self.warmup_s,
            window_s=self.strike_after_s + _AFTER_STRIKE_S,
            drain_s=_DRAIN_S,
            request_timeout_s=_REQUEST_TIMEOUT_S,
            max_retries=self.contestant.client_retries,
        )

    def run_until(self, strike: Callable[[], None], due_s: float, configuration: Mapping[str, Any]) -> Report:
        """Run the client to its end and strike what it calls ``due_s`` after its window opened; the client's
        report. Raises StackError when the strike failed."""
        with KillTimer(strike, due_s) as timer:

            def on_event(event: Event) -> None:
                timer.on_event(event)
                if not timer.struck:
                    self.note_progress(event)

            report = ClientRun(self.contestant.load_client, configuration, on_event).run(self.deployment)
            timer.require_killed(self.stack.name)
        return report

    def note_progress(self, event: Event) -> None:
        if isinstance(event, Progress):
            self.progress.append((event.elapsed_s, event.acknowledged))

    def restarted(self) -> Restarted:
        """Start on what is left and read it. A server that cannot is a finding, not a failure of the check."""
        started, recovered_in_s = time.monotonic(), None
        try:
            self.stack.recover()
            recovered_in_s = time.monotonic() - started if self.stack.processes() else None
            return Restarted(self.stack.state(), recovered_in_s)
        except (StackError, pl.exceptions.PolarsError, TypeError, ValueError) as error:
            # What a torn file holds need not even be of the types that its tables declare.
            return Restarted(None, recovered_in_s, one_line(error))

    def of_report(self, report: Report, state: State) -> KillOutcome:
        """What is gone of the work that the client reports, by the state that was read back."""
        outcome = KillOutcome(acknowledged=report.acknowledged)
        if not is_cut_off(report):
            outcome.note = "no request was cut off, so the server was not killed under this load"
            return outcome
        if all(table.is_empty() for table in state.values()):
            outcome.lost, outcome.in_doubt_committed = outcome.acknowledged, 0
            outcome.note = f"nothing is left, not even the {' and '.join(state)}"
            return outcome
        work = [issued_work(row, self.contestant.in_flight) for row in report.connections]
        survived = self.workload.survived(self.seed, work, state)
        if survived is None:
            outcome.note = UNEXPLAINED
            return outcome
        outcome.lost, outcome.in_doubt_committed = survived.lost, survived.in_doubt_committed
        killed_at_s = killed_no_earlier_s(report.per_100ms, self.struck_at_s)
        outcome.oldest_lost_s = oldest_age_s(report.per_second, killed_at_s, outcome.lost)
        return outcome
