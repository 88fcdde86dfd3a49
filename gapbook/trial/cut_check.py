"""The power cut check: a declared durability class held against a disk that forgets what was not synced.

The server's data lies on such a disk (:mod:`gapbook.deploy.power_cut`). Seed, make that durable, load, cut, give the
power back, start again on what is left, and count to the unit which acknowledged operations are gone. A full disk
and an fsync that fails come some time before the cut, so that it shows what a server made of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field

from gapbook.deploy.deployment import Deployment
from gapbook.deploy.power_cut import CutReport, DiskState, PowerCutDisk, Survivors, power_cut_disk
from gapbook.deploy.stack import Stack
from gapbook.errors import ClientError, SetupError, StackError
from gapbook.model.report import Report
from gapbook.record.cuts import COUNTED, FAULTS, CutCheck, Fault
from gapbook.trial.contestant import Contestant
from gapbook.trial.cut_outcome import CutOutcome
from gapbook.trial.scenario import Scenario
from gapbook.trial.struck_load import StruckLoad, load_of_round_s

__all__ = ["cut_after_fault_s", "cut_check", "fault_of", "uncut_row"]

_WARMUP_S = 0.5
_LOAD_S = 0.8
_JITTER_S = 0.6
_AFTER_FAULT_S = 2.0
"""The longest time from a full disk or a failed fsync until the cut, in which a server may go on acknowledging, or
stop and recover. Rounds spread over it: with one time for all, each cut would meet one phase of a recovery."""
_POLL_S, _POLLS_UNCHANGED, _LOGGED_WITHIN_S = 0.05, 4, 5.0
_SURVIVORS: Mapping[Fault, Survivors] = {"torn-pages": "pages", "torn-prefix": "prefix"}
_BREAKS: Mapping[Fault, Callable[[PowerCutDisk], None]] = {
    "disk-full": lambda disk: disk.fill(0),
    "fsync-error": lambda disk: disk.fail_fsync(),
}


def fault_of(number: int) -> Fault:
    """The fault of a round: they take turns."""
    return list(FAULTS)[number % len(FAULTS)]


def cut_after_fault_s(seed: int, number: int) -> float:
    """How long after its fault the power of a round fails: at once, unless the server goes on after the fault."""
    # Of another seed than the load, or early faults would be those that are followed by an early cut.
    return load_of_round_s(0.0, _AFTER_FAULT_S, seed + 1, number) if fault_of(number) in _BREAKS else 0.0


def cut_check(
    contestant: Contestant,
    scenario: Scenario,
    deployment: Deployment,
    start_stack: Callable[[PowerCutDisk], Stack],
    *,
    rounds: Collection[int],
) -> Iterator[CutCheck]:
    """Cut the power of the contestant's disk once in each of the numbered ``rounds``; a row for the record each.

    ``start_stack`` makes and starts the server with its data on the disk that it is given. The load is that of
    the contestant without added round trip and without flaws, at the middle value of the treatment; its seed and
    the moment of the cut follow from the number of the round. A round that broke is a row that is not resolved,
    and the next has a fresh server; where that does not come up, the rounds that are left have none. Where the disk
    cannot be mounted or the server not started, the first round has a row that is not resolved and the others have none.
    """
    left = sorted(rounds)
    try:
        with power_cut_disk(deployment) as disk:
            stack = start_stack(disk)
            try:
                while left:
                    outcome = _round(contestant, scenario, stack, deployment, disk, left[0])
                    # First of all the row: what a cut showed holds, whatever becomes of the server afterwards.
                    yield _row(contestant, scenario, left.pop(0), outcome)
                    if outcome.left not in COUNTED and not _is_fresh(stack, disk):
                        return
            finally:
                stack.stop()
    except (SetupError, StackError) as error:
        if left:
            yield uncut_row(contestant, scenario, left[0], str(error))


def uncut_row(contestant: Contestant, scenario: Scenario, number: int, why: str) -> CutCheck:
    """The row of a round that had no load."""
    return _row(contestant, scenario, number, CutOutcome(note=why))


def _row(contestant: Contestant, scenario: Scenario, number: int, outcome: CutOutcome) -> CutCheck:
    declared = scenario.durability_of(contestant)
    return outcome.as_check(contestant.name, declared, number, fault_of(number))


def _round(
    contestant: Contestant,
    scenario: Scenario,
    stack: Stack,
    deployment: Deployment,
    disk: PowerCutDisk,
    number: int,
) -> CutOutcome:
    """One cut; where it left something to count in, the stack can be seeded again."""
    fault = fault_of(number)
    load_s = load_of_round_s(_LOAD_S, _JITTER_S, scenario.seed, number)
    check = _Cut(
        contestant,
        scenario,
        stack,
        deployment,
        scenario.seed + number,
        load_s + cut_after_fault_s(scenario.seed, number),
        _WARMUP_S,
        disk=disk,
        fault=fault,
        fault_after_s=load_s,
    )
    try:
        return check.run()
    except (StackError, ClientError, OSError) as error:
        return CutOutcome(load_s=load_s, note=str(error))


def _is_fresh(stack: Stack, disk: PowerCutDisk) -> bool:
    """Start the server anew on its disk, with nothing of what it held; False where that does not come up."""
    try:
        # On a disk without power what a server left cannot be cleared away, and the next has no place.
        stack.kill()
        disk.restore()
        stack.stop()
        stack.start()
    except (SetupError, StackError):
        return False
    return True


@dataclass(kw_only=True)
class _Cut(StruckLoad):
    """One cut under the load of one contestant."""

    disk: PowerCutDisk
    fault: Fault
    fault_after_s: float
    at_cut: DiskState = field(init=False)
    report_of_cut: CutReport = field(init=False)

    def run(self) -> CutOutcome:
        self.stack.seed(self.workload)
        self._make_durable()
        before = self.disk.stats().totals
        outcome = CutOutcome(load_s=self.strike_after_s)
        report = self._load_until_cut()
        outcome.take_report(report, self.warmup_s, self.warmup_s + self.fault_after_s)
        outcome.take_disk(before, self.at_cut, self.report_of_cut)
        if self.report_of_cut.written_back:
            outcome.note = "the memory of the disk was full, so that more was durable than anybody had synced"
            return outcome
        self.disk.restore()
        self._find(report, outcome)
        return outcome

    def _make_durable(self) -> None:
        """Sync what was seeded, once it is all in the log: some servers answer before they write even that."""
        logged: int | None = -1
        unchanged, deadline = 0, time.monotonic() + _LOGGED_WITHIN_S
        while unchanged < _POLLS_UNCHANGED and time.monotonic() < deadline:
            time.sleep(_POLL_S)
            before, logged = logged, self.stack.log_bytes()
            unchanged = unchanged + 1 if logged == before else 0
        self.disk.sync()

    def _load_until_cut(self) -> Report:
        with self.target() as target:

            def end() -> None:
                # First who acknowledges, then what they had to be on: nothing is acknowledged without a disk. An
                # engine inside its client is told of the cut by its disk, and acknowledges nothing more either.
                for process in target.processes:
                    process.kill()
                self.stack.kill()

            return self.run_until(
                lambda: self._strike(end), self.fault_after_s, self.configuration(target.endpoint)
            )

    def _strike(self, end: Callable[[], None]) -> None:
        if self.fault in _BREAKS:
            _BREAKS[self.fault](self.disk)
            time.sleep(self.strike_after_s - self.fault_after_s)
        end()
        self.at_cut = self.disk.stats()
        self.report_of_cut = self.disk.cut(_SURVIVORS.get(self.fault, "none"), self.seed)

    def _find(self, report: Report, outcome: CutOutcome) -> None:
        """What is gone, by what the server holds that is started on what is left."""
        found = self.restarted()
        outcome.recovered_in_s = found.recovered_in_s
        if found.state is None:
            outcome.left, outcome.note = "unreadable", found.why
            return
        is_empty = all(table.is_empty() for table in found.state.values())
        impossible = None if is_empty else self.workload.impossible(found.state)
        outcome.take_state(self.of_report(report, found.state), is_empty=is_empty, impossible=impossible)
