"""On what a run was measured: the machine as its record names it, and how fast its disk was before each session."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from gapbook.markup import Html, values_table
from gapbook.record.elsewhere import elsewhere_words
from gapbook.record.load_hosts import load_hosts_words
from gapbook.record.machine import Machine, cores_words
from gapbook.record.run import Run
from gapbook.record.schema import Deployed

__all__ = ["machine_table"]

_NOT_RECORDED = "not recorded"


def machine_table(run: Run) -> Html:
    """What the machine is, a row for each thing that could make another machine's ratios differ."""
    manifest = run.manifest
    machine, sessions = manifest.machine, manifest.deployments
    rows = [
        ["processor", machine.processor],
        ["its identity", _listed(machine.identity)],
        ["what a run could use of it", cores_words(machine)],
        ["threads, caches, hypervisor", _listed(machine.topology)],
        ["clock before the sessions", _clock(sessions)],
        ["source of time", machine.clock_source or _NOT_RECORDED],
        ["memory", f"{machine.memory_bytes / 2**30:.0f} GiB"],
        ["kernel", f"{machine.kernel}; {_sharing(machine.autogroup)}"],
        ["file system", machine.file_system],
        ["disk", _listed(machine.disk)],
        ["a synced write before the sessions", _synced(sessions)],
        ["boots of the machine", _boots(machine, sessions)],
        ["programs between client and system", _programs(sessions)],
        *([["load", load]] if (load := load_hosts_words(manifest.load_hosts, machine)) else []),
        *([["servers elsewhere", elsewhere]] if (elsewhere := elsewhere_words(run)) else []),
    ]
    return values_table(("what", "as recorded"), rows)


def _listed(told: Mapping[str, str] | None) -> str:
    return "; ".join(f"{name} {value}" for name, value in told.items()) if told else _NOT_RECORDED


def _sharing(autogroup: bool | None) -> str:
    """Among whom the kernel shares processors out: what a server with many threads gets beside its client."""
    if autogroup is None:
        return f"whether it shares processors out by session (autogroup) {_NOT_RECORDED}"
    return "shares processors out by session (autogroup)" if autogroup else "no autogroup"


def _clock(sessions: Sequence[Deployed]) -> str:
    clocks = [one.clock_mhz for one in sessions if one.clock_mhz is not None]
    if not clocks:
        return _NOT_RECORDED
    low, high = min(clocks), max(clocks)
    return f"{low:,.0f} MHz" if low == high else f"{low:,.0f} to {high:,.0f} MHz"


def _synced(sessions: Sequence[Deployed]) -> str:
    tests = [one.fsync for one in sessions if one.fsync is not None]
    if not tests:
        return _NOT_RECORDED
    medians_ms = [test.median_s * 1e3 for test in tests]
    middle, slowest = statistics.median(medians_ms), max(test.p99_s for test in tests) * 1e3
    return (
        f"{middle:.2g} ms for {tests[0].block_bytes:,} bytes, {min(medians_ms):.2g} to {max(medians_ms):.2g} ms over "
        f"sessions; one write in a hundred took up to {slowest:.2g} ms"
    )


def _programs(sessions: Sequence[Deployed]) -> str:
    told = [one.tier_programs for one in sessions if one.tier_programs is not None]
    if not told:
        return _NOT_RECORDED
    said = {(name, version) for programs in told for name, version in programs.items()}
    return "; ".join(f"{name} {version}" for name, version in sorted(said)) or "none"


def _boots(machine: Machine, sessions: Sequence[Deployed]) -> str:
    boots = {one.boot_sha256 for one in (machine, *(each.machine for each in sessions if each.machine))}
    known = boots - {None}
    return str(len(known)) if known else _NOT_RECORDED
