"""A campaign: the trials of one scenario, run live by its plan, or read back from a stored run."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil

from gapbook.deployment import Deployment
from gapbook.errors import ClientError, ParameterError, RecordError, StackError
from gapbook.killcheck import kill_check
from gapbook.nullserver import measure_ceiling
from gapbook.paths import CHECKOUT, deployments_directory
from gapbook.plan import PlannedTrial, make_plan
from gapbook.record import Journal, Run, find_finished, find_run, latest_published, live_folder
from gapbook.scenario import Contestant, Scenario, Variant
from gapbook.stacks import ServerChoice, Stack, StackContext
from gapbook.trial import run_trial

__all__ = ["obtain_run"]


def obtain_run(
    scenario: Scenario,
    *,
    source: str,
    blocks: int,
    choices: Mapping[str, ServerChoice],
    attempts: int = 1,
    kills: int = 0,
    trials_per_block: Mapping[str, float] | None = None,
    say: Callable[[str], None] = print,
) -> Run:
    """The run behind a chapter: ``live`` measures now, ``resume`` finishes an interrupted live run,
    ``published`` or a run id reads a stored one.

    Raises RecordError for a run that is missing or cannot be trusted, SetupError or StackError for
    servers that cannot run. A refused trial is run again at the end of its block, until it was tried
    ``attempts`` times, whatever refused it; every attempt is kept. After the trials the server of each
    contestant is killed ``kills`` times, to see which acknowledged transfers are gone.
    ``trials_per_block`` is that of :func:`gapbook.plan.make_plan`.
    """
    if source == "published":
        return latest_published(scenario.chapter)
    if source not in {"live", "resume"}:
        return find_run(scenario.chapter, source)
    plan = make_plan(
        [contestant.name for contestant in scenario.contestants],
        scenario.alphas,
        blocks=blocks,
        seed=scenario.seed,
        trials_per_block=trials_per_block,
    )
    for system in choices:
        if system not in {contestant.system for contestant in scenario.contestants}:
            raise ParameterError(f"servers: {system!r} is the system of no contestant")
        variants = {c.variant(scenario.durability) for c in scenario.contestants if c.system == system}
        if len(variants) > 1 and choices[system].endpoint:
            raise ParameterError(
                f"servers: {system} runs with several settings here, which one running server cannot "
                "have; name a binary, or select contestants of one setting"
            )
    for contestant in scenario.contestants:
        contestant.stack.locate(choices.get(contestant.system, ServerChoice()))
        contestant.load_client.resolved_command()
    return _Campaign(scenario, plan, choices, attempts, kills, say).run(resume=source == "resume")


class _Campaign:
    def __init__(
        self,
        scenario: Scenario,
        plan: Sequence[PlannedTrial],
        choices: Mapping[str, ServerChoice],
        attempts: int,
        kills: int,
        say: Callable[[str], None],
    ) -> None:
        self.scenario = scenario
        self.plan = plan
        self.choices = choices
        self.attempts = attempts
        self.kills = kills
        self.blocks = 1 + max(planned.block for planned in plan)
        self.say = say
        self.described = {
            "scenario": scenario.as_dict(),
            "blocks": self.blocks,
            "attempts": attempts,
            "kills": kills,
            "trials": [list(vars(planned).values()) for planned in plan],
            "servers": {name: choice.without_password() for name, choice in choices.items()},
        }
        key = hashlib.sha256(json.dumps(self.described, sort_keys=True).encode()).hexdigest()[:12]
        self.journal = Journal(live_folder(scenario.chapter), key)

    def run(self, *, resume: bool) -> Run:
        if resume and not self.journal.trials():
            finished = find_finished(self.scenario.chapter, self.journal.plan_key)
            if finished is not None:
                self.say(f"{self.scenario.chapter}: run {finished.run_id} is finished, nothing to resume")
                return finished
        with self.journal.locked(resume=resume):
            if resume:
                facts = self.journal.plan()["facts"]
                facts["resumed_unix_s"] = [*facts.get("resumed_unix_s", []), time.time()]
            else:
                facts = {"started_unix_s": time.time(), "machine": _machine(), "code": _code_version()}
            self.journal.write_plan({**self.described, "facts": facts})
            with _disk_errors(), Deployment() as deployment, self._started_stacks(deployment) as stacks:
                self._keep(
                    facts,
                    systems={
                        variant.label(self.scenario.durability): _describe(stack)
                        for variant, stack in stacks.items()
                    },
                    modules={c.system: c.module.source_hash() for c in self.scenario.contestants},
                )
                if "ceilings_per_s" not in facts:
                    facts["ceilings_per_s"] = self._ceilings(deployment)
                self.journal.write_plan({**self.described, "facts": facts})
                self._run_trials(deployment, stacks, facts["ceilings_per_s"])
                facts["kill_checks"] = self._kill_checks(deployment, stacks)
            facts["finished_unix_s"] = time.time()
            return self.journal.finish(
                {
                    **self.described,
                    **facts,
                    "chapter": self.scenario.chapter,
                    "plan_key": self.journal.plan_key,
                }
            )

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
            if contestant.stack.facts.get("simulated"):
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
                        self.choices.get(contestant.system, ServerChoice()),
                        processors=variant.processors,
                        isolation=variant.isolation,
                    )
                    self.say(f"starting {variant.label(self.scenario.durability)}")
                    stacks[variant] = contestant.stack(context)
                    stacks[variant].start()
            yield stacks
        finally:
            for stack in stacks.values():
                stack.stop()

    def _ceilings(self, deployment: Deployment) -> dict[str, float | None]:
        """The rate of each load client against a server that does nothing, by client, way and depth.

        None where no such server can stand in: for an engine inside the client, or for an access level
        whose statements the null server does not know.
        """
        ceilings: dict[str, float | None] = {}
        for contestant in self.scenario.contestants:
            key = _ceiling_key(contestant)
            if key not in ceilings:
                try:
                    ceilings[key] = measure_ceiling(
                        deployment,
                        contestant.load_client,
                        contestant.protocol,
                        endpoint=_told(contestant),
                        connections=self.scenario.connections,
                        in_flight=contestant.in_flight,
                    )
                except ClientError as error:
                    ceilings[key] = None
                    self.say(f"no ceiling of {key}: {error}")
        return ceilings

    def _run_trials(
        self, deployment: Deployment, stacks: Mapping[Variant, Stack], ceilings: Mapping[str, float | None]
    ) -> None:
        """Block by block: the planned trials, then those refused, again, in the same order."""
        done = self.journal.trials()
        started, ran = time.monotonic(), 0
        for block in range(self.blocks):
            planned_trials = [planned for planned in self.plan if planned.block == block]
            for attempt in range(self.attempts):
                for planned in planned_trials:
                    numbered = replace(planned, number=planned.number + attempt * len(self.plan))
                    earlier = done.get(numbered.number - len(self.plan))
                    if numbered.number in done or (attempt and (earlier is None or earlier["valid"])):
                        continue
                    contestant = self.scenario.contestant(planned.contestant)
                    row = run_trial(
                        numbered,
                        self.scenario,
                        stacks[contestant.variant(self.scenario.durability)],
                        deployment=deployment,
                        tables=deployment.directory,
                        ceiling_per_s=ceilings[_ceiling_key(contestant)],
                    )
                    self.journal.add(row)
                    done[numbered.number] = row
                    ran += 1
                    elapsed_s = time.monotonic() - started
                    left_s = elapsed_s / ran * sum(p.number not in done for p in self.plan)
                    self.say(
                        f"trial {planned.number + 1}/{len(self.plan)}{' again' * attempt}, block {block + 1}, "
                        f"{planned.contestant}, alpha {planned.alpha:g}: {_outcome(row)} "
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


def _told(contestant: Contestant) -> dict[str, Any]:
    """What the client is told besides the address: nothing where it calls a tier."""
    if contestant.module.is_process(contestant.tier):
        return {}
    return contestant.module.client_endpoint(contestant.access, {})


def _ceiling_key(contestant: Contestant) -> str:
    told = "".join(f"/{key}={value}" for key, value in sorted(_told(contestant).items()))
    return f"{contestant.client}/{contestant.protocol}{told}/{contestant.in_flight}"


def _describe(stack: Stack) -> dict[str, Any]:
    server = stack.server()
    return {"version": server.version, "sha256": server.sha256, "settings": stack.settings()}


def _machine() -> dict[str, Any]:
    """What a reader must know to compare: processor, cores, memory, kernel, disk; no host name."""
    model = next(
        (
            line.partition(":")[2].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        platform.machine(),
    )
    data = deployments_directory().resolve()
    mounts = [part for part in psutil.disk_partitions(all=True) if data.is_relative_to(part.mountpoint)]
    mount = max(mounts, key=lambda part: len(part.mountpoint), default=None)
    return {
        "processor": model,
        "processors": os.cpu_count(),
        "memory_bytes": psutil.virtual_memory().total,
        "kernel": f"{platform.system()} {platform.release()}",
        "file_system": mount.fstype if mount else "unknown",
        "virtual": "hypervisor" in Path("/proc/cpuinfo").read_text(),
        "python": platform.python_version(),
    }


def _code_version() -> dict[str, Any]:
    """The git revision of the checkout and whether it was changed since; unknown outside git."""

    def git(*words: str) -> str:
        try:
            done = subprocess.run(
                ["git", "-C", str(CHECKOUT), *words], capture_output=True, text=True, check=True
            )
        except (OSError, subprocess.CalledProcessError):
            return "unknown"
        return done.stdout.strip()

    return {"revision": git("rev-parse", "HEAD"), "changed": bool(git("status", "--porcelain"))}
