"""What every page of a run says of it: its design, its machine and its versions."""

from __future__ import annotations

import datetime

from gapbook import charts
from gapbook.method.findings import Findings, named_versions, versions_of
from gapbook.pages import words
from gapbook.record.elsewhere import elsewhere_words
from gapbook.record.kept_code import code_is_kept
from gapbook.record.load_hosts import load_hosts_words
from gapbook.record.machine import cores_number, cores_words
from gapbook.record.reach import reach
from gapbook.record.schema import UNKNOWN_REVISION, Manifest

__all__ = [
    "date_of",
    "each_block_is_a_session",
    "method_of_marks",
    "method_words",
    "provenance",
    "provenance_parts",
    "reached",
    "run_facts",
]


def method_words(found: Findings) -> str:
    """How the run was measured, in sentences: its load, its design, its machine."""
    return _method(found, _design(found))


def method_of_marks(found: Findings) -> str:
    """The method of a picture in which each mark is a trial, and nothing has an interval."""
    blocks = "One randomised block" if found.blocks == 1 else f"{found.blocks} randomised blocks"
    return _method(found, f"{blocks} in {_held(found)}; each mark is one trial")


def _method(found: Findings, design: str) -> str:
    workload, manifest = found.scenario.workload, found.run.manifest
    machine = manifest.machine
    hosts = load_hosts_words(manifest.load_hosts, machine)
    shared = "shared by server and client"
    if any(contestant.settings.client_apart for contestant in found.scenario.contestants):
        shared += " unless a row says otherwise"
    if elsewhere := elsewhere_words(found.run):
        shared = f"for the client; {elsewhere}"
    used = f"for the server; {hosts}" if hosts else shared
    return (
        f"{workload.label}, {_load(found)}, "
        f"{found.scenario.window_s:g} s windows. {design}. "
        f"{machine.processor}, {cores_words(machine)} {used}."
    )


def _design(found: Findings) -> str:
    if found.blocks == 1:
        return "One randomised block: a single trial has no interval"
    return (
        f"{found.blocks} randomised blocks in {_held(found)}; t intervals over blocks, {_of_sessions(found)}"
    )


def _held(found: Findings) -> str:
    """``5 sessions``, and on how many machines, where they were not all on one."""
    manifest = found.run.manifest
    sessions = manifest.sessions
    machines = {str(one.machine) for one in manifest.deployments if one.machine is not None}
    held = f"{sessions} sessions" if sessions > 1 else "one session"
    return f"{held} on {len(machines)} machines of one kind" if len(machines) > 1 else held


def _of_sessions(found: Findings) -> str:
    """What the blocks say of sessions: all, where each has a session of its own."""
    if each_block_is_a_session(found):
        return "each in a session of its own"
    return "which do not hold what changes between sessions"


def each_block_is_a_session(found: Findings) -> bool:
    """Whether there are several sessions of one block each: intervals over blocks are over sessions then."""
    return len(found.sessions) > 1 and all(len(blocks) == 1 for blocks in found.sessions.values())


def _load(found: Findings) -> str:
    """``100,000 accounts, 50 connections``"""
    told = words.parameter_words(found.scenario), words.connections_words(found.scenario)
    return ", ".join(filter(None, told))


def provenance(found: Findings) -> charts.Provenance:
    """What a chart carries of its run: the id and the method."""
    return charts.Provenance(run=found.run.run_id, method=method_words(found))


def run_facts(found: Findings) -> dict[str, str]:
    """Facts of the run for the prose, as printed text."""
    manifest, machine = found.run.manifest, found.run.manifest.machine
    systems = manifest.systems
    return {
        **{name: words.as_text(value) for name, value in found.scenario.workload.parameters.items()},
        "run": found.run.run_id,
        "date": date_of(manifest.started_unix_s),
        "blocks": str(found.blocks),
        "trials": str(found.run.trials.height),
        "valid_trials": str(int(found.run.trials["valid"].sum())),
        "connections": words.connections_text(found.scenario),
        "load": _load(found),
        "window": f"{found.scenario.window_s:g} s",
        "warmup": f"{found.scenario.warmup_s:g} s",
        "durability": found.scenario.durability,
        "processor": machine.processor,
        "processors": cores_number(machine),
        "cores": cores_words(machine),
        "memory": f"{machine.memory_bytes / 2**30:.0f} GiB",
        "kernel": machine.kernel,
        "file_system": machine.file_system,
        **{f"{system}_version": " and ".join(versions) for system, versions in versions_of(systems).items()},
    }


def _promise(found: Findings) -> str:
    """What an acknowledgement promises, where a contestant has no promise of its own: ``durability none``."""
    stores = found.scenario.workload.stores
    return f"durability {found.scenario.durability}" if stores else "nothing is stored"


def reached(found: Findings) -> str:
    """``on one machine, within 1.6 hours``"""
    seen = reach(found.run)
    return f"on {seen.counted}, {seen.time_words}"


def provenance_parts(found: Findings) -> list[str]:
    """What a page says of its run: id, design, trials, load, machine, versions, promise, date and code."""
    facts, machine = run_facts(found), found.run.manifest.machine
    return [
        f"Run {found.run.run_id}",
        _measured_with(found.run.manifest),
        f"{facts['blocks']} block{'' if found.blocks == 1 else 's'} in {_held(found)}",
        f"{facts['valid_trials']} of {facts['trials']} trials valid",
        facts["load"],
        f"{facts['processor']}, {facts['cores']}, {facts['memory']}"
        + (", virtual machine" if machine.virtual else ""),
        *filter(None, [load_hosts_words(found.run.manifest.load_hosts, machine), elsewhere_words(found.run)]),
        *(
            [f"data on {machine.file_system}, which keeps what is fsynced as whoever measured says"]
            if machine.data_kept_said
            else []
        ),
        *named_versions(found.run.manifest.systems),
        _promise(found),
        facts["date"],
        _code_words(found.run.manifest),
    ]


def _measured_with(manifest: Manifest) -> str:
    """That other pages print numbers of the same trials, and which; empty where none does."""
    together = manifest.measured_with
    others = [name for name in together.chapters if name != manifest.chapter] if together else []
    return (
        f"the same measurement as {words.listed(others)}: equal numbers there are the same trials"
        if others
        else ""
    )


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


def date_of(unix_s: float) -> str:
    """A day as it is printed: ``2026-11-27``."""
    return datetime.datetime.fromtimestamp(unix_s, datetime.UTC).date().isoformat()
