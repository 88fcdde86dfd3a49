"""What every page of a run says of it: its design, its machine, its versions, and how much was audited."""

from __future__ import annotations

import datetime

import polars as pl

from gapbook import charts
from gapbook.method.cells import Named
from gapbook.method.findings import Findings, named_versions, versions_of
from gapbook.pages import words
from gapbook.record.gates import why_uncounted
from gapbook.record.kept_code import code_is_kept
from gapbook.record.machine import cores_number, cores_words
from gapbook.record.reach import reach
from gapbook.record.schema import UNKNOWN_REVISION, Manifest

__all__ = ["FindingsWithProvenance", "date_of"]


class FindingsWithProvenance(Findings):
    """Findings whose pages and charts carry method and run."""

    @property
    def method(self) -> str:
        return self._method(self._design)

    @property
    def method_of_marks(self) -> str:
        """The method of a picture in which each mark is a trial, and nothing has an interval."""
        blocks = "One randomised block" if self.blocks == 1 else f"{self.blocks} randomised blocks"
        return self._method(f"{blocks} in {self._held}; each mark is one trial")

    def _method(self, design: str) -> str:
        workload, manifest = self.scenario.workload, self.run.manifest
        machine = manifest.machine
        return (
            f"{workload.label}, {self._load}, "
            f"{self.scenario.window_s:g} s windows. {design}. "
            f"{machine.processor}, {cores_words(machine)} shared by server and client."
        )

    @property
    def _design(self) -> str:
        if self.blocks == 1:
            return "One randomised block: a single trial has no interval"
        return (
            f"{self.blocks} randomised blocks in {self._held}; t intervals over blocks, {self._of_sessions}"
        )

    @property
    def _held(self) -> str:
        """``5 sessions``, and on how many machines, where they were not all on one."""
        manifest = self.run.manifest
        sessions = manifest.sessions
        machines = {str(one.machine) for one in manifest.deployments if one.machine is not None}
        held = f"{sessions} sessions" if sessions > 1 else "one session"
        return f"{held} on {len(machines)} machines of one kind" if len(machines) > 1 else held

    @property
    def _of_sessions(self) -> str:
        """What the blocks say of sessions: all, where each has a session of its own."""
        if self.each_block_is_a_session:
            return "each in a session of its own"
        return "which do not hold what changes between sessions"

    @property
    def each_block_is_a_session(self) -> bool:
        """Whether there are several sessions of one block each: intervals over blocks are over sessions then."""
        return len(self.sessions) > 1 and all(len(blocks) == 1 for blocks in self.sessions.values())

    @property
    def _load(self) -> str:
        """``100,000 accounts, 50 connections``"""
        told = words.parameter_words(self.scenario), words.connections_words(self.scenario)
        return ", ".join(filter(None, told))

    @property
    def provenance(self) -> charts.Provenance:
        return charts.Provenance(run=self.run.run_id, method=self.method)

    def glue_values(self) -> dict[str, str]:
        """Facts of the run for the prose, as printed text."""
        manifest, machine = self.run.manifest, self.run.manifest.machine
        systems = manifest.systems
        return {
            **{name: words.as_text(value) for name, value in self.scenario.workload.parameters.items()},
            "run": self.run.run_id,
            "date": date_of(manifest.started_unix_s),
            "blocks": str(self.blocks),
            "trials": str(self.run.trials.height),
            "valid_trials": str(int(self.run.trials["valid"].sum())),
            "connections": words.connections_text(self.scenario),
            "load": self._load,
            "window": f"{self.scenario.window_s:g} s",
            "warmup": f"{self.scenario.warmup_s:g} s",
            "durability": self.scenario.durability,
            "processor": machine.processor,
            "processors": cores_number(machine),
            "cores": cores_words(machine),
            "memory": f"{machine.memory_bytes / 2**30:.0f} GiB",
            "kernel": machine.kernel,
            "file_system": machine.file_system,
            **{f"{system}_version": " and ".join(found) for system, found in versions_of(systems).items()},
        }

    def warmth_caveat(self, *named: Named) -> str:
        """Which of these were still warming up inside their windows, as a sentence, and which perhaps; empty when none
        was."""
        suspected = [c for c in self.contestants(named) if self.warmth(c.name).suspected]
        shown = [c for c in suspected if self.warmth(c.name).reading == "still rising"]
        rising = list(dict.fromkeys(c.system_label for c in shown))
        perhaps = [label for label in dict.fromkeys(c.system_label for c in suspected) if label not in rising]
        if not rising:
            return (
                f" Perhaps still warming up, and so understated: {words.listed(perhaps)}." if perhaps else ""
            )
        also = f"; perhaps {words.listed(perhaps)} too" if perhaps else ""
        return f" Still warming up inside the window, and so understated: {words.listed(rising)}{also}."

    def audited(self) -> str:
        """How much was audited over all trials of the run."""
        trials = self.run.trials.filter(pl.col("valid"))
        acknowledged = int(trials["acknowledged"].sum() or 0)
        return words.audited_words(self.scenario.workload, acknowledged, trials.height)

    def uncounted(self) -> str:
        """In how many valid trials the server's own count of commits agreed (one that does not refuses its trial), in
        how many there was none, and why: that an engine keeps none is another thing than that a trial's rollbacks
        hid it."""
        valid = self.run.trials.filter(pl.col("valid"))
        without = valid.filter(pl.col("committed").is_null())["contestant"].to_list()
        if not without:
            return f"their own count agreed in all {valid.height:,} valid trials"
        numbers = {True: 0, False: 0}
        for contestant in self.scenario.contestants:
            numbers[contestant.counts_commits] += without.count(contestant.name)
        why = {why_uncounted(counts_commits=counts): number for counts, number in numbers.items() if number}
        reasons = [f"{number:,} {reason}" for reason, number in why.items()] if len(why) > 1 else list(why)
        agreed = valid.height - len(without)
        if not agreed:
            return (
                f"in these {valid.height:,} valid trials there was none to compare, {', and '.join(reasons)}"
            )
        return (
            f"their own count agreed in {agreed:,} of {valid.height:,} valid trials; {len(without):,} had no commit "
            f"count to compare, {', and '.join(reasons)}"
        )

    @property
    def promise(self) -> str:
        """What an acknowledgement promises, where a contestant has no promise of its own: ``durability none``."""
        stores = self.scenario.workload.stores
        return f"durability {self.scenario.durability}" if stores else "nothing is stored"

    @property
    def reached(self) -> str:
        """``on one machine, within 1.6 hours``"""
        found = reach(self.run)
        return f"on {found.counted}, {found.time_words}"

    def provenance_parts(self) -> list[str]:
        facts, machine = self.glue_values(), self.run.manifest.machine
        return [
            f"Run {self.run.run_id}",
            f"{facts['blocks']} block{'' if self.blocks == 1 else 's'} in {self._held}",
            f"{facts['valid_trials']} of {facts['trials']} trials valid",
            facts["load"],
            f"{facts['processor']}, {facts['cores']}, {facts['memory']}"
            + (", virtual machine" if machine.virtual else ""),
            *(
                [f"data on {machine.file_system}, which keeps what is fsynced as whoever measured says"]
                if machine.data_kept_said
                else []
            ),
            *named_versions(self.run.manifest.systems),
            self.promise,
            facts["date"],
            _code_words(self.run.manifest),
            *_ignored_words(self.run.manifest),
        ]


def _code_words(manifest: Manifest) -> str:
    code = manifest.code
    if code.revision == UNKNOWN_REVISION:
        return "code revision unknown"
    said = [f"code {code.revision[:10]}"]
    if code.changed:
        said.append("with local changes")
    if not code_is_kept(manifest):
        said.append("(this commit was lost: see Corrections)")
    return " ".join(said)


def _ignored_words(manifest: Manifest) -> list[str]:
    """What of the shell could have changed servers and clients, had they got it."""
    environments = [one.environment for one in manifest.deployments if one.environment is not None]
    names = sorted({name for environment in environments for name in environment.ignored})
    return [f"not passed on from the shell: {', '.join(names)}"] if names else []


def date_of(unix_s: float) -> str:
    """A day as it is printed: ``2026-11-27``."""
    return datetime.datetime.fromtimestamp(unix_s, datetime.UTC).date().isoformat()
