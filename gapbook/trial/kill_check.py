"""The kill -9 check: a declared durability class is not trusted.

Seed, load, SIGKILL inside the window, start again on the same data, and count to the unit which
acknowledged transfers are gone. SIGKILL keeps the operating system's page cache, so that this shows
what a server has not handed to the kernel; it is not the loss of power.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import psutil

from gapbook.deploy.deployment import Deployment
from gapbook.deploy.server import ServerChoice
from gapbook.deploy.stack import Stack
from gapbook.deploy.warden import kill_tree
from gapbook.errors import ClientError, StackError
from gapbook.load.client import ClientRun
from gapbook.model.event import Event, Progress
from gapbook.model.report import Report
from gapbook.model.workload import State
from gapbook.record.losses import KillCheck
from gapbook.trial.contestant import Contestant, Variant
from gapbook.trial.kill_outcome import KillOutcome
from gapbook.trial.scenario import Scenario
from gapbook.trial.servers import choice_of
from gapbook.trial.struck_load import (
    UNEXPLAINED,
    Restarted,
    StruckLoad,
    is_cut_off,
    is_struck,
    load_of_round_s,
)

__all__ = ["kill_check", "kill_servers", "kills_left"]

_JITTER_S = 1.0


def kill_servers(
    scenario: Scenario,
    stacks: Mapping[Variant, Stack],
    deployment: Deployment,
    rounds: int,
    rows: list[KillCheck],
    *,
    keep: Callable[[], None],
    say: Callable[[str], None] = print,
) -> None:
    """Kill each contestant's server ``rounds`` times, save what is among ``rows`` already, and add a row for each
    kill; ``keep`` is called after each, so that an interrupted run goes on where it stopped."""
    for contestant in _killed(scenario):
        stack = stacks[contestant.variant(scenario.durability)]
        left = _rounds_left(contestant, stack.context.choice, rounds, rows)
        if not left:
            continue
        say(f"killing the server of {contestant.name}, {len(left)} times")
        with deployment.declaring(contestant.environment):
            for row in kill_check(contestant, scenario, stack, deployment, rounds=left):
                rows.append(row)
                keep()


def kills_left(
    scenario: Scenario, choices: Mapping[str, ServerChoice], rounds: int, rows: Sequence[KillCheck]
) -> bool:
    """Whether servers are still to be killed, when each contestant's is killed ``rounds`` times in a run."""
    return any(
        _rounds_left(contestant, choice_of(choices, contestant), rounds, rows)
        for contestant in _killed(scenario)
    )


def _killed(scenario: Scenario) -> list[Contestant]:
    return list(filter(is_struck, scenario.contestants))


def _rounds_left(
    contestant: Contestant, choice: ServerChoice, rounds: int, rows: Sequence[KillCheck]
) -> list[int]:
    """The numbers of the rounds that have no row yet; a server that the reader named has one, which says why."""
    done = {row.round for row in rows if row.contestant == contestant.name}
    return [number for number in range(min(rounds, 1) if choice.endpoint else rounds) if number not in done]


def kill_check(
    contestant: Contestant,
    scenario: Scenario,
    stack: Stack,
    deployment: Deployment,
    *,
    rounds: Iterable[int] = range(3),
    load_s: float = 3.0,
    seed: int | None = None,
) -> Iterator[KillCheck]:
    """Kill the contestant's engine under load in each of the numbered ``rounds``; a row for the record for each.

    The window is that of this check (``load_s`` until the kill and up to a second more), the load that of
    the contestant without added round trip and without flaws, at the middle value of the treatment; its seed and
    the moment of the kill follow from the number of the round. A check that broke is a row that is not
    resolved, and the next has a fresh server. For a server that the reader named there is one row, without a kill.
    Raises StackError only when the stack cannot be brought back, after the row of that round.
    """
    durability, work_seed = stack.context.durability, scenario.seed if seed is None else seed
    if stack.context.choice.endpoint:
        unkilled = KillOutcome(note="a server that the reader named is not killed")
        yield unkilled.as_check(contestant.name, durability, 0)
        return
    for number in rounds:
        kill_after_s = load_of_round_s(load_s, _JITTER_S, work_seed, number)
        check = _Check(contestant, scenario, stack, deployment, work_seed + number, kill_after_s)
        try:
            outcome = check.run()
        except (StackError, ClientError, OSError) as error:
            outcome = KillOutcome(load_s=kill_after_s, note=str(error))
        # First of all the row: what a kill showed holds, whatever becomes of the server afterwards.
        yield outcome.as_check(contestant.name, durability, number)
        if outcome.lost is None:
            # What nobody could count in may be no server any more.
            stack.stop()
            stack.start()


class _Check(StruckLoad):
    """One kill of one contestant."""

    def run(self) -> KillOutcome:
        self.stack.seed(self.workload)
        report = self._load_until_killed()
        found = self.restarted()
        outcome = self._outcome(report, found)
        outcome.load_s = self.strike_after_s
        outcome.recovered_in_s = found.recovered_in_s
        outcome.goodput_per_s = self._goodput_per_s()
        return outcome

    # --- load and kill ------------------------------------------------------------------------
    def _load_until_killed(self) -> Report | None:
        """The client's report; None when it was the client that had to be killed."""
        with self.target() as target:
            configuration = self.configuration(target.endpoint)
            if self.stack.processes():
                return self.run_until(self.stack.kill, self.strike_after_s, configuration)
            if target.processes:
                return self.run_until(target.processes[0].kill, self.strike_after_s, configuration)
            self._kill_with_client(configuration)
            return None

    def _kill_with_client(self, configuration: Mapping[str, Any]) -> None:
        """Kill the client, and the engine inside it, the moment it has said how much was acknowledged."""
        others = {child.pid for child in psutil.Process().children()}
        killed = False

        def on_event(event: Event) -> None:
            nonlocal killed
            if killed:
                return
            self.note_progress(event)
            if isinstance(event, Progress) and self.progress[-1][0] >= self.struck_at_s:
                killed = True
                for child in psutil.Process().children():
                    if child.pid not in others:
                        kill_tree(child.pid)

        # The last progress line comes with the next whole second after the kill is due.
        longer = {**configuration, "window_s": self.strike_after_s + 2.0}
        try:
            ClientRun(self.contestant.load_client, longer, on_event).run(self.deployment)
        except ClientError:
            if not killed:
                raise
        if not killed:
            raise StackError(f"{self.stack.name}: the load ended before its client was killed")

    def _goodput_per_s(self) -> float | None:
        """Acknowledgements a second between the end of the warm-up and the last progress before the kill."""
        counted = [row for row in self.progress if row[0] >= self.warmup_s]
        if len(counted) < 2:
            return None
        (begin_s, before), (end_s, after) = counted[0], counted[-1]
        return (after - before) / (end_s - begin_s)

    # --- what is gone -------------------------------------------------------------------------
    def _outcome(self, report: Report | None, found: Restarted) -> KillOutcome:
        if found.state is None:
            acknowledged = self.progress[-1][1] if report is None else report.acknowledged
            # A server that nobody killed may be gone for reasons of ours.
            is_killed = report is None or is_cut_off(report)
            return KillOutcome(acknowledged=acknowledged, unreadable=is_killed, note=found.why)
        return self._of_dead_client(found.state) if report is None else self.of_report(report, found.state)

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
            outcome.note = UNEXPLAINED
            return outcome
        outcome.lost = max(0, acknowledged - survived)
        outcome.in_doubt_committed = max(0, survived - acknowledged)
        return outcome
