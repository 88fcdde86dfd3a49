"""The measurement of one scenario: its trials run live by its plan, here or a session elsewhere."""

from __future__ import annotations

import copy
import hashlib
import json
import time
from collections.abc import Callable, Collection, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from gapbook.deploy.deployment import Deployment
from gapbook.deploy.limits import allowed_processors
from gapbook.deploy.server import ServerChoice
from gapbook.deploy.stack import Stack
from gapbook.errors import ParameterError, RecordError, SessionsLeftError
from gapbook.interrupts import interrupts_stay
from gapbook.load.maker import BESIDE_THE_SERVER, LoadMaker
from gapbook.model.plan import make_plan
from gapbook.record.journal import Journal, journal_of
from gapbook.record.kind import kind_of, other_kind
from gapbook.record.load_hosts import with_clock_bounds
from gapbook.record.machine import Machine
from gapbook.record.row import TrialRow
from gapbook.record.run import Run, live_folder
from gapbook.record.schema import Deployed, Facts
from gapbook.trial.ceilings import Ceilings, median_ceilings
from gapbook.trial.contestant import Variant
from gapbook.trial.cuts import cut_disks
from gapbook.trial.disk_errors import disk_errors
from gapbook.trial.facts import code_version, deployed, described_server, machine, require_same_kind
from gapbook.trial.kill_check import kill_servers, kills_left
from gapbook.trial.load_hosts.splittable import require_splittable
from gapbook.trial.own_steal import own_steal_frac
from gapbook.trial.patience import Patience
from gapbook.trial.scenario import Scenario
from gapbook.trial.schedule import Schedule
from gapbook.trial.servers import (
    require_connections,
    require_kept,
    require_open_files,
    require_processors,
    require_servers,
    require_used,
    started_stacks,
    tier_versions,
)
from gapbook.trial.trial import run_trial

__all__ = ["Measurement", "SessionFiles", "measurement_of"]

SessionFiles: TypeAlias = dict[str, bytes]
"""A session that was measured elsewhere, as its journal keeps it: files by name, each with the hash of its content."""


def measurement_of(
    scenario: Scenario,
    *,
    blocks: int,
    choices: Mapping[str, ServerChoice],
    attempts: int = 1,
    kills: int = 0,
    cuts: int = 0,
    sessions: int = 1,
    trials_per_block: Mapping[str, float] | None = None,
    only_at: Mapping[str, Collection[float]] | None = None,
    parameters: Mapping[str, Any] | None = None,
    absent: Mapping[str, str] | None = None,
    say: Callable[[str], None] = print,
    maker: LoadMaker = BESIDE_THE_SERVER,
) -> Measurement:
    """What is to be measured, once it is known that it can be.

    A refused trial is run again at the end of its block, until it was tried ``attempts`` times, whatever refused
    it; every attempt is kept. Where the machine was not quiet, such a run waits before it goes on
    (:mod:`gapbook.trial.patience`). The blocks are spread evenly over ``sessions``, each with servers deployed anew.
    After the trials the server of each contestant is killed ``kills`` times, to see which acknowledged transfers
    are gone, and the power of its disk is cut ``cuts`` times (:mod:`gapbook.trial.cut_check`).
    ``trials_per_block`` and ``only_at`` are those of :func:`gapbook.model.plan.make_plan`. ``parameters`` are
    those of the chapter as they were given, kept in the manifest so that a page can print the command that
    repeats its run. ``absent`` are the contestants that were left out, each with the reason. ``maker`` makes the loads.

    Raises ParameterError for more sessions than blocks, more connections than a server takes and what cannot be loaded
    from where the load is to come from, SetupError for servers that cannot run here.
    """
    if sessions > blocks:
        raise ParameterError(f"sessions: {sessions} of {blocks} blocks; allowed: at most one for each block")
    plan = make_plan(
        [contestant.name for contestant in scenario.contestants],
        scenario.treatment.values,
        blocks=blocks,
        seed=scenario.seed,
        trials_per_block=trials_per_block,
        only_at=only_at,
    )
    if maker.hosts:
        require_splittable(scenario, choices, len(maker.hosts))
    require_processors(scenario.contestants)
    require_kept(choices, scenario.contestants, scenario.durability)
    require_used(choices, scenario.contestants, scenario.durability)
    for value in scenario.treatment.values:
        planned = {one.contestant for one in plan if one.treatment == value}
        there = [one for one in scenario.contestants if one.name in planned]
        require_connections(choices, there, scenario.connections_at(value))
        require_open_files(scenario.connections_at(value))
    require_servers(choices, scenario.contestants, scenario.durability)
    for contestant in scenario.contestants:
        contestant.load_client.resolved_command()
    return Measurement(
        scenario,
        Schedule(plan, sessions, attempts),
        choices,
        kills,
        cuts,
        say,
        parameters,
        absent or {},
        maker,
    )


class Measurement:
    """The sessions of one scenario and what is kept of them, trial by trial, in the journal of its run.

    Each kind of machine has a run of its own: that of this machine, until another is asked for (:meth:`on`).
    """

    def __init__(
        self,
        scenario: Scenario,
        schedule: Schedule,
        choices: Mapping[str, ServerChoice],
        kills: int,
        cuts: int,
        say: Callable[[str], None],
        parameters: Mapping[str, Any] | None,
        absent: Mapping[str, str],
        maker: LoadMaker = BESIDE_THE_SERVER,
    ) -> None:
        self.scenario = scenario
        self.schedule = schedule
        self.choices = choices
        self.kills = kills
        self.cuts = cuts
        self.absent = dict(absent)
        self.say = say
        self.maker = maker
        self.parameters = None if parameters is None else dict(parameters)
        self.described = {
            "scenario": scenario.as_dict(),
            "blocks": schedule.blocks,
            "attempts": schedule.attempts,
            "kills": kills,
            **({"cuts": cuts} if cuts else {}),
            "sessions": schedule.sessions,
            "trials": [list(vars(planned).values()) for planned in schedule.plan],
            "servers": {name: choice.without_password() for name, choice in choices.items()},
            **({"load_from": [kind_of(host.machine) for host in maker.hosts]} if maker.hosts else {}),
        }
        self.plan_key = hashlib.sha256(json.dumps(self.described, sort_keys=True).encode()).hexdigest()[:12]
        """Names the plan: equal where the same would be measured."""
        self._journal: Journal | None = None

    @property
    def journal(self) -> Journal:
        """That of this machine's kind, unless another was asked for."""
        if self._journal is None:
            self._journal = self._journal_of(kind_of(machine()))
        return self._journal

    def on(self, kind: str) -> Measurement:
        """The same, with the run of a kind of machine (:func:`gapbook.record.kind.kind_of`)."""
        other = copy.copy(self)
        other._journal = self._journal_of(kind)
        return other

    def _journal_of(self, kind: str) -> Journal:
        return journal_of(live_folder(self.scenario.chapter), self.plan_key, self.schedule.plan, kind)

    def run(self, source: str) -> Run:
        """``live`` measures now, ``resume`` finishes an interrupted live run, ``session`` measures the next session of a
        run (begun here, where there is none).

        Raises RecordError for a run that cannot be resumed, StackError for servers that do not run, and
        SessionsLeftError when the run has sessions after the one asked for.
        """
        resume = source == "resume" or (source == "session" and self.journal.begun)
        if resume and (finished := self.journal.finished()) is not None:
            self.say(f"{self.scenario.chapter}: run {finished.run_id} is finished, nothing to resume")
            return finished
        with interrupts_stay(), self.journal.locked(resume=resume):
            if resume:
                facts = self.journal.facts()
                for line in self.journal.left_out():
                    self.say(line)
                facts.resumed_unix_s.append(time.time())
            else:
                facts = self._new_facts()
                self._say_beside(facts.machine)
            self._write_down(facts)
            for session in range(self.schedule.sessions):
                if not self._finished_session(session, facts):
                    self._run_session(session, facts)
                    if source == "session":
                        self._require_last(session, facts)
            self._cut_disks(facts)
            return self._finish(facts)

    def _finish(self, facts: Facts) -> Run:
        facts.load_hosts = with_clock_bounds(facts.load_hosts, self.journal.trials().values())
        return self.journal.finish(
            {
                **self.described,
                "scenario": self.scenario.recorded().as_dict(),
                **facts.finished(median_ceilings(facts.ceilings), time.time()),
                "absent": self.absent,
                "chapter": self.scenario.chapter,
                "plan_key": self.plan_key,
            }
        )

    def _new_facts(self) -> Facts:
        return Facts(
            started_unix_s=time.time(),
            machine=machine(),
            code=code_version(),
            parameters=self.parameters,
            load_hosts=list(self.maker.hosts),
        )

    def _say_beside(self, here: Machine) -> None:
        """Say that a run begins beside that of another kind of machine, where it does."""
        if self.journal.kind:
            first = Journal(self.journal.folder, self.plan_key, self.schedule.plan)
            self.say(
                f"{self.scenario.chapter}: the run in {first.directory.name} was begun on another kind of machine "
                f"({other_kind(first.facts().machine, here)} here); it is kept, this kind has a run of its own"
            )

    # --- a session elsewhere ------------------------------------------------------------------
    def sessions_left(self) -> list[int]:
        """The sessions, from 0, that are not measured to their end."""
        if not self.journal.begun:
            return list(range(self.schedule.sessions))
        facts = self.journal.facts()
        return [
            session for session in range(self.schedule.sessions) if not self._finished_session(session, facts)
        ]

    def session(self, session: int, folder: Path) -> SessionFiles:
        """Measure one session by its number, from 0, for a run that is kept elsewhere; its journal is made in a folder
        that nothing else is kept in. Cuts of a disk's power follow the last one."""
        self._journal = Journal(folder, self.plan_key, self.schedule.plan)
        with self.journal.locked(resume=False):
            facts = self._new_facts()
            self._write_down(facts)
            self._run_session(session, facts)
            if session == self.schedule.sessions - 1:
                self._cut_disks(facts)
        return self.journal.files()

    def take(self, session: int, files: SessionFiles, kind: str) -> Machine:
        """Keep a session that was measured elsewhere, by the same code, on a machine of the ``kind`` that the run is of;
        returns that machine.

        Raises RecordError, and keeps nothing of it, where that is not so, or where it is not whole.
        """
        with self.journal.locked(resume=self.journal.begun):
            rows, theirs = self.journal.read_files(files)
            if kind_of(theirs.machine) != kind:
                raise RecordError(
                    f"session {session + 1} came from another kind of machine than its worker said; start that worker anew"
                )
            if not self.schedule.is_done(session, rows):
                raise RecordError(f"session {session + 1} came without all of its trials")
            facts = self._with(self.journal.facts() if self.journal.begun else None, theirs, session)
            # First of which machine the trials are: without that, a trial tells nothing.
            self._write_down(facts)
            # What was begun of it here was by other deployments.
            self.journal.forget(
                number for number, row in self.journal.trials().items() if row["session"] == session
            )
            for row in rows.values():
                self.journal.add(row)
        return theirs.machine

    def finish(self) -> Run:
        """The run of sessions that all came from elsewhere: nothing is measured here. Raises RecordError."""
        if (finished := self.journal.finished()) is not None:
            return finished
        with self.journal.locked(resume=True):
            return self._finish(self.journal.facts())

    def _with(self, facts: Facts | None, theirs: Facts, session: int) -> Facts:
        """What is known of a run when a session is added to it, in place of what was begun of that session before."""
        if facts is None:
            return theirs
        require_same_kind(facts.machine, theirs.machine)
        if facts.code != theirs.code:
            raise RecordError(
                f"a session was measured by revision {theirs.code.revision}, the run by {facts.code.revision}"
            )
        self._require_unchanged("systems", facts.systems, theirs.systems)
        self._require_unchanged("modules", facts.modules, theirs.modules)
        facts.started_unix_s = min(facts.started_unix_s, theirs.started_unix_s)
        facts.deployments = [one for one in facts.deployments if one.session != session] + theirs.deployments
        blocks = {one.block for one in theirs.ceilings}
        facts.ceilings = [one for one in facts.ceilings if one.block not in blocks] + theirs.ceilings
        # Only the last session has any.
        facts.kill_checks = theirs.kill_checks or facts.kill_checks
        facts.cut_checks = theirs.cut_checks or facts.cut_checks
        return facts

    def _require_last(self, session: int, facts: Facts) -> None:
        """Raise SessionsLeftError when the run has sessions that are still to be measured."""
        sessions = self.schedule.sessions
        if not all(self._finished_session(later, facts) for later in range(session + 1, sessions)):
            raise SessionsLeftError(
                f"{self.scenario.chapter}: session {session + 1} of {sessions} is done and kept; "
                "use source=session for the next, or source=resume for all"
            )

    def _finished_session(self, session: int, facts: Facts) -> bool:
        """Whether every trial of a session, and every kill after the last, was done before."""
        is_last = session == self.schedule.sessions - 1
        if is_last and kills_left(self.scenario, self.choices, self.kills, facts.kill_checks):
            return False
        return self.schedule.is_done(session, self.journal.trials())

    def _run_session(self, session: int, facts: Facts) -> None:
        """Deploy every server anew and run the blocks of one session; the last one ends with the kills."""
        begun = self._deployed(session, facts)
        with (
            disk_errors(),
            Deployment() as deployment,
            started_stacks(self.scenario, self.choices, deployment, self.say, self.maker.address) as stacks,
        ):
            facts.deployments.append(begun)
            systems = {
                variant.label(self.scenario.durability): described_server(stack)
                for variant, stack in stacks.items()
            }
            modules = {c.system: c.module.source_hash() for c in self.scenario.contestants}
            self._require_unchanged("systems", facts.systems, systems)
            self._require_unchanged("modules", facts.modules, modules)
            facts.systems, facts.modules = facts.systems or systems, facts.modules or modules
            self._write_down(facts)
            ceilings = Ceilings(
                self.scenario,
                deployment,
                facts.ceilings,
                keep=lambda: self._write_down(facts),
                say=self.say,
                maker=self.maker,
            )
            begun.waited_s = self._run_trials(session, deployment, stacks, ceilings)
            self._write_down(facts)
            if session == self.schedule.sessions - 1:
                keep = partial(self._write_down, facts)
                kill_servers(
                    self.scenario, stacks, deployment, self.kills, facts.kill_checks, keep=keep, say=self.say
                )

    def _deployed(self, session: int, facts: Facts) -> Deployed:
        """A session that begins now; raises RecordError on a machine of another kind than that of the run."""
        here = machine()
        require_same_kind(facts.machine, here)
        return deployed(session, here, tier_versions(self.scenario.contestants))

    def _cut_disks(self, facts: Facts) -> None:
        """Raises RecordError on a machine of another kind than that of the run."""
        if self.cuts:
            require_same_kind(facts.machine, machine())
            keep = partial(self._write_down, facts)
            with disk_errors():
                cut_disks(self.scenario, self.choices, self.cuts, facts.cut_checks, keep=keep, say=self.say)

    def _write_down(self, facts: Facts) -> None:
        self.journal.write_plan({**self.described, "facts": msgspec.to_builtins(facts)})

    def _require_unchanged(
        self, kind: str, before: Mapping[str, object], found: Mapping[str, object]
    ) -> None:
        """Raise RecordError when what is measured is not what was measured before, if anything was."""
        changed = [name for name, now in found.items() if before.get(name) != now]
        if before and changed:
            raise RecordError(
                f"source: {kind} changed since the run was interrupted ({', '.join(changed)}); "
                f"trials of both cannot be compared: remove {self.journal.directory} and use source=live"
            )

    def _run_trials(
        self, session: int, deployment: Deployment, stacks: Mapping[Variant, Stack], ceilings: Ceilings
    ) -> float:
        """What the session has left, a trial after the other, each kept and said as it ends.

        Returns how many seconds it waited for a quiet machine: a run that tries refused trials again waits, so
        that it does not use up its attempts while another program, or another machine of the host, is at work.
        """
        done = self.journal.trials()
        started, patience = time.monotonic(), Patience()
        row: TrialRow | None = None
        for ran, planned in enumerate(self.schedule.left_of(session, done), 1):
            if row and self.schedule.attempts > 1 and (pause_s := patience.after(row.judged.gates)):
                self.say(f"the machine was not quiet: waiting {pause_s:.0f} s")
                time.sleep(pause_s)
            contestant = self.scenario.contestant(planned.contestant)
            stack = stacks[contestant.variant(self.scenario.durability)]
            with deployment.declaring(contestant.environment):
                ceiling = ceilings.of(contestant, stack, planned.block, planned.treatment)
                row = run_trial(
                    planned,
                    self.scenario,
                    stack,
                    deployment=deployment,
                    tables=deployment.directory,
                    ceiling_per_s=ceiling.rate_per_s,
                    own_steal_frac=own_steal_frac(done.values(), planned, len(allowed_processors())),
                    maker=self.maker,
                    host_ceilings=ceiling.by_host,
                )
            row.session = session
            columns = row.columns()
            self.journal.add(columns)
            done[planned.number] = columns
            elapsed_s = time.monotonic() - started
            left_s = elapsed_s / ran * sum(p.number not in done for p in self.schedule.plan)
            self.say(
                f"{self.schedule.title(planned)}, {planned.contestant}, "
                f"{self.scenario.treatment.name} {planned.treatment:g}: {_outcome(row)} "
                f"({elapsed_s:.0f} s, about {left_s:.0f} s left)"
            )
        return patience.waited_s


def _outcome(row: TrialRow) -> str:
    if row.judged.valid and row.counted:
        return f"{row.counted.goodput_per_s:,.0f}/s"
    return f"refused: {row.judged.refused_because}"
