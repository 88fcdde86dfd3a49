"""The command that repeats a run: its parameters as they were given, never as they look from outside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gapbook.markup import Html, link
from gapbook.method.findings import Findings
from gapbook.model.declaration import workload_names
from gapbook.pages import page
from gapbook.parameters import Parameter, chapter_parameters
from gapbook.record.load_hosts import hosts_counted

__all__ = ["assigned", "parameters_of", "rerun_panel"]

_RUN_AGAIN = "run-again.html"
_SET_UP = "front.html#measure-it-yourself"
_LABELS = {
    "end_trials": "trials of what is compared",
    "in_flight": "in flight",
    "others_every": "the others in every nth block, n",
    "warmup_s": "warm-up, s",
    "window_s": "window, s",
    "request_timeout_s": "longest wait for an answer, s",
}


def parameters_of(found: Findings) -> tuple[dict[str, Any], list[str]]:
    """The parameters of the run, and the names of those that it does not tell.

    A run keeps what it was given. One that was stored before runs did is told from its plan. One of all contestants
    names them where the chapter has others today.
    """
    scenario, manifest = found.scenario, found.run.manifest
    if (kept := manifest.parameters) is not None:
        if kept.get("contestants") in ("all", ["all"]) and found.stated_since:
            kept = {**kept, "contestants": [*(one.name for one in scenario.contestants), *manifest.absent]}
        return {name: kept[name] for name in chapter_parameters() if name in kept}, []
    known = {
        scenario.treatment.name: list(scenario.treatment.values),
        "connections": scenario.connections,
        "window_s": scenario.window_s,
        "warmup_s": scenario.warmup_s,
        "blocks": found.blocks,
        "attempts": manifest.attempts,
        "accounts": scenario.workload.accounts,
        "seed": scenario.seed,
        "durability": scenario.durability,
        "kills": manifest.kills,
        "contestants": [contestant.name for contestant in scenario.contestants],
        "servers": ",".join(f"{name}={named}" for name, named in manifest.servers.items()),
        **found.given,
    }
    rates = {found.trials_per_block(contestant.name) for contestant in scenario.contestants}
    needed = ["in_flight", *(["end_trials"] if rates != {1.0} else [])]
    return {name: known[name] for name in chapter_parameters() if name in known}, [
        name for name in needed if name not in known
    ]


def rerun_panel(found: Findings) -> Html:
    """The command that repeats this chapter as this run was made, for the reader to change."""
    given, unknown = parameters_of(found)
    workload = found.scenario.workload.name
    # A run may be of a workload that this checkout has not.
    own = chapter_parameters(workload) if workload in workload_names() else {}
    table = {**chapter_parameters(), **own}
    labels = {**_LABELS, found.scenario.treatment.name: found.scenario.treatment.label}
    inputs = [
        page.Input(
            name,
            labels.get(name, name),
            assigned(value, table[name]),
            range=table[name].range,
            several=name == found.scenario.treatment.name,
            allowed=table[name].allowed,
        )
        for name, value in given.items()
        if name != "servers" or value
    ]
    command = ["gapbook", "run", found.scenario.chapter]
    notes = []
    if unknown:
        notes.append(
            f"This run did not record {' and '.join(unknown)}: the chapter's own values of today are used."
        )
    if hosts := len(found.run.manifest.load_hosts):
        command += ["--load-from", "ADDRESS"]
        notes.append(f"Its load came from {hosts_counted(hosts)}: ADDRESS is that of your scheduler.")
    return page.rerun_panel(command, inputs, needs=_needs(found), note=" ".join(notes))


def _needs(found: Findings) -> Html:
    """How long the trials took, refused ones included, to which starts and checks come, and the most memory that a server
    had, where there was one. Of a published run also where it stands how to get its versions of servers, for the command
    takes those at hand, and the command itself."""
    memory = found.run.trials["server_memory_bytes"].max()
    took_s = float(found.run.trials["took_s"].sum())
    parts: list[str | Html] = [f"more than {took_s / 60:.0f} min"]
    if isinstance(memory, int) and memory > 0:
        parts.append(f"{memory / 2**30:.1f} GiB for a server")
    if found.run.published:
        parts += [link(_RUN_AGAIN, "servers to bring"), link(_SET_UP, "set up gapbook")]
    return Html(" · ").join(parts)


def assigned(value: Any, parameter: Parameter) -> str:
    """A parameter's value as the command line takes it: the inverse of ``parse_assignment``."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        written = [assigned(each, parameter) for each in value]
        # Whole numbers alone could be others with decimal commas, where the parameter takes such.
        if len(written) > 1 and parameter.check(0.5) and all(isinstance(each, int) for each in value):
            written[-1] += ".0"
        return ",".join(written)
    return repr(value) if isinstance(value, float) else str(value)
