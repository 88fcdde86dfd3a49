"""A campaign: the trials of one scenario, run live by its plan, or read back from a stored run."""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import product
from typing import Any

from gapbook.deploy.deployment import Deployment
from gapbook.deploy.server import ServerChoice
from gapbook.deploy.stack import Stack, StackContext
from gapbook.errors import ParameterError, RecordError, StackError
from gapbook.model.plan import PlannedTrial, make_plan
from gapbook.paths import deployments_directory
from gapbook.record.journal import Journal
from gapbook.record.run import Run, find_finished, live_folder, stored_run
from gapbook.trial.ceilings import Ceilings, median_ceilings
from gapbook.trial.contestant import Variant
from gapbook.trial.facts import code_version, described_server, machine
from gapbook.trial.kill_check import kill_check
from gapbook.trial.scenario import Scenario
from gapbook.trial.servers import choice_of, require_servers, require_used
from gapbook.trial.trial import run_trial

__all__ = ["obtain_run"]


def obtain_run(
    scenario: Scenario,
    *,
    source: str,
    blocks: int,
    choices: Mapping[str, ServerChoice],
    attempts: int = 1,
    kills: int = 0,
    sessions: int = 1,
    trials_per_block: Mapping[str, float] | None = None,
    only_at: Mapping[str, Collection[float]] | None = None,
    parameters: Mapping[str, Any] | None = None,
    absent: Mapping[str, str] | None = None,
    say: Callable[[str], None] = print,
) -> Run:
    """The run behind a chapter: ``live`` measures now, ``resume`` finishes an interrupted live run,
    ``published`` or a run id reads a stored one.

    Raises RecordError for a run that is missing or cannot be trusted, SetupError or StackError for
    servers that cannot run. A refused trial is run again at the end of its block, until it was tried
    ``attempts`` times, whatever refused it; every attempt is kept. The blocks are spread evenly over
    ``sessions``, each with servers deployed anew. After the trials the server of each contestant is
    killed ``kills`` times, to see which acknowledged transfers are gone.
    ``trials_per_block`` and ``only_at`` are those of :func:`gapbook.model.plan.make_plan`. ``parameters`` are those of the chapter
    as they were given, kept in the manifest so that a page can print the command that repeats its run.
    ``absent`` are the contestants that were left out, each with the reason.
    """
    if source not in {"live", "resume"}:
        return stored_run(scenario.chapter, source)
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
    require_used(choices, scenario.contestants, scenario.durability)
    require_servers(choices, scenario.contestants, scenario.durability)
    for contestant in scenario.contestants:
        contestant.load_client.resolved_command()
    campaign = _Campaign(scenario, plan, choices, attempts, kills, sessions, say, parameters, absent or {})
    return campaign.run(resume=source == "resume")


class _Campaign:
    def __init__(
        self,
        scenario: Scenario,
        plan: Sequence[PlannedTrial],
        choices: Mapping[str, ServerChoice],
        attempts: int,
        kills: int,
        sessions: int,
        say: Callable[[str], None],
        parameters: Mapping[str, Any] | None,
        absent: Mapping[str, str],
    ) -> None:
        self.scenario = scenario
        self.plan = plan
        self.choices = choices
        self.attempts = attempts
        self.kills = kills
        self.sessions = sessions
        self.absent = dict(absent)
        self.blocks = 1 + max(planned.block for planned in plan)
        self.say = say
        self.given = {} if parameters is None else {"parameters": dict(parameters)}
        self.described = {
            "scenario": scenario.as_dict(),
            "blocks": self.blocks,
            "attempts": attempts,
            "kills": kills,
            "sessions": sessions,
            "trials": [list(vars(planned).values()) for planned in plan],
            "servers": {name: choice.without_password() for name, choice in choices.items()},
        }
        key = hashlib.sha256(json.dumps(self.described, sort_keys=True).encode()).hexdigest()[:12]
        self.journal = Journal(live_folder(scenario.chapter), key, plan)

    def run(self, *, resume: bool) -> Run:
        if resume and not self.journal.trials():
            finished = find_finished(self.scenario.chapter, self.journal.plan_key)
            if finished is not None:
                self.say(f"{self.scenario.chapter}: run {finished.run_id} is finished, nothing to resume")
                return finished
        with self.journal.locked(resume=resume):
            if resume:
                facts = self.journal.facts()
                for line in self.journal.left_out():
                    self.say(line)
                facts["resumed_unix_s"] = [*facts.get("resumed_unix_s", []), time.time()]
            else:
                facts = {
                    "started_unix_s": time.time(),
                    "machine": machine(),
                    "code": code_version(),
                    **self.given,
                }
            self._write_down(facts)
            for session in range(self.sessions):
                if not self._finished_session(session, facts):
                    self._run_session(session, facts)
            facts["ceilings_per_s"] = median_ceilings(facts["ceilings"])
            facts["finished_unix_s"] = time.time()
            return self.journal.finish(
                {
                    **self.described,
                    "scenario": self.scenario.recorded().as_dict(),
                    **facts,
                    "absent": self.absent,
                    "chapter": self.scenario.chapter,
                    "plan_key": self.journal.plan_key,
                }
            )

    def _blocks_of(self, session: int) -> range:
        """The blocks of a session: all of them spread evenly, in order."""
        return range(session * self.blocks // self.sessions, (session + 1) * self.blocks // self.sessions)

    def _finished_session(self, session: int, facts: Mapping[str, Any]) -> bool:
        """Whether every trial of a session, and every kill after the last, was done before."""
        if session == self.sessions - 1 and "kill_checks" not in facts:
            return False
        done = self.journal.trials()
        return not any(
            self._left(block, attempt, done)
            for block in self._blocks_of(session)
            for attempt in range(self.attempts)
        )

    def _run_session(self, session: int, facts: dict[str, Any]) -> None:
        """Deploy every server anew and run the blocks of one session; the last one ends with the kills."""
        with _disk_errors(), Deployment() as deployment, self._started_stacks(deployment) as stacks:
            facts.setdefault("deployments", []).append({"session": session, "started_unix_s": time.time()})
            self._keep(
                facts,
                systems={
                    variant.label(self.scenario.durability): described_server(stack)
                    for variant, stack in stacks.items()
                },
                modules={c.system: c.module.source_hash() for c in self.scenario.contestants},
            )
            self._write_down(facts)
            ceilings = Ceilings(
                self.scenario,
                deployment,
                facts.setdefault("ceilings", []),
                keep=lambda: self._write_down(facts),
                say=self.say,
            )
            self._run_trials(session, deployment, stacks, ceilings)
            if session == self.sessions - 1:
                facts["kill_checks"] = self._kill_checks(deployment, stacks)

    def _write_down(self, facts: Mapping[str, Any]) -> None:
        self.journal.write_plan({**self.described, "facts": facts})

    def _keep(self, facts: dict[str, Any], **now: Mapping[str, Any]) -> None:
        """Write down what is measured; raises RecordError when it is not what was measured before."""
        for kind, found in now.items():
            before = facts.setdefault(kind, found)
            changed = [name for name in found if before.get(name) != json.loads(json.dumps(found[name]))]
            if changed and before is not found:
                raise RecordError(
                    f"source: {kind} changed since the run was interrupted ({', '.join(changed)}); "
                    f"trials of both cannot be compared: remove {self.journal.directory} and use source=live"
                )

    def _kill_checks(self, deployment: Deployment, stacks: Mapping[Variant, Stack]) -> list[dict[str, Any]]:
        """What is gone of each contestant's acknowledged transfers after its server was killed."""
        rows: list[dict[str, Any]] = []
        for contestant in self.scenario.contestants if self.kills else ():
            # What is simulated promises nothing, and one that only runs for longer has its twin killed.
            if contestant.stack.facts.get("simulated") or contestant.window_s is not None:
                continue
            stack = stacks[contestant.variant(self.scenario.durability)]
            self.say(f"killing the server of {contestant.name}, {self.kills} times")
            rows += kill_check(contestant, self.scenario, stack, deployment, rounds=self.kills)
        return rows

    @contextmanager
    def _started_stacks(self, deployment: Deployment) -> Iterator[dict[Variant, Stack]]:
        stacks: dict[Variant, Stack] = {}
        try:
            for contestant in self.scenario.contestants:
                variant = contestant.variant(self.scenario.durability)
                if variant not in stacks:
                    context = StackContext(
                        deployment,
                        self.scenario.durability_of(contestant),
                        choice_of(self.choices, contestant),
                        processors=variant.processors,
                        isolation=variant.isolation,
                        program=variant.program,
                        workload=self.scenario.workload.name,
                        settings=dict(variant.settings),
                    )
                    self.say(f"starting {variant.label(self.scenario.durability)}")
                    stacks[variant] = contestant.stack(context)
                    stacks[variant].start()
            yield stacks
        finally:
            for stack in stacks.values():
                stack.stop()

    def _left(self, block: int, attempt: int, done: Mapping[int, Mapping[str, Any]]) -> list[PlannedTrial]:
        """What a block still has to run at an attempt: its planned trials, later only those refused before."""
        numbered = (
            replace(planned, number=planned.number + attempt * len(self.plan))
            for planned in self.plan
            if planned.block == block
        )
        left = [planned for planned in numbered if planned.number not in done]
        if attempt == 0:
            return left
        earlier = {planned.number: done.get(planned.number - len(self.plan)) for planned in left}
        return [planned for planned in left if (row := earlier[planned.number]) and not row["valid"]]

    def _run_trials(
        self, session: int, deployment: Deployment, stacks: Mapping[Variant, Stack], ceilings: Ceilings
    ) -> None:
        """Block by block: the planned trials, then those refused, again, in the same order."""
        done = self.journal.trials()
        started, ran = time.monotonic(), 0
        for block, attempt in product(self._blocks_of(session), range(self.attempts)):
            for planned in self._left(block, attempt, done):
                contestant = self.scenario.contestant(planned.contestant)
                stack = stacks[contestant.variant(self.scenario.durability)]
                row = run_trial(
                    planned,
                    self.scenario,
                    stack,
                    deployment=deployment,
                    tables=deployment.directory,
                    ceiling_per_s=ceilings.of(contestant, stack, block, planned.treatment),
                )
                row["session"] = session
                self.journal.add(row)
                done[planned.number] = row
                ran += 1
                elapsed_s = time.monotonic() - started
                left_s = elapsed_s / ran * sum(p.number not in done for p in self.plan)
                self.say(
                    f"trial {planned.number % len(self.plan) + 1}/{len(self.plan)}{' again' * attempt}, "
                    f"block {block + 1}, {planned.contestant}, {self.scenario.treatment.name} {planned.treatment:g}: {_outcome(row)} "
                    f"({elapsed_s:.0f} s, about {left_s:.0f} s left)"
                )


def _outcome(row: Mapping[str, Any]) -> str:
    return f"{row['goodput_per_s']:,.0f}/s" if row["valid"] else f"refused: {row['refused_because']}"


@contextmanager
def _disk_errors() -> Iterator[None]:
    """What the operating system refuses while servers are started or restarted, in one line."""
    try:
        yield
    except OSError as error:
        # A copy of a whole folder collects its errors as (source, destination, reason).
        reason = error.args[0][0][2] if isinstance(error, shutil.Error) else error
        raise StackError(
            f"run: {reason}; servers write to {deployments_directory()} (set GAPBOOK_DATA to name another "
            "folder); trials finished so far are kept, use source=resume"
        ) from error
