"""Who is who among the processes of a run, told by what they execute."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from faults.belongings import belongs_to, command_line
from gapbook.deploy import warden

__all__ = ["find_victims"]

_GAP = "gap-"
_OTHERS_OF_GAP = {
    "gap-null": "null server",
    "gap-delay": "relay",
    "gap-powercut": "disk",
    "gap-probe": "probe",
}


def find_victims(victim: str, root: Path, harness: int) -> list[int]:
    """The processes that a fault means, in the order in which they are to be struck; none, where one of them does
    not live at this moment."""
    if victim == "harness and warden":
        guards = find_victims("warden", root, harness)
        return [*guards, harness] if guards else []
    if victim in {"harness", "command"}:
        return [harness]
    alive = {**belongs_to(root), **warden.descendants([harness])}
    found = [pid for pid in alive if _is(victim, command_line(pid))]
    # What a process starts has its command line for a moment: the oldest is meant.
    return [min(found, key=alive.__getitem__)] if found and victim != "warden" else found


def _is(victim: str, words: Sequence[bytes]) -> bool:
    arguments = [os.fsdecode(word) for word in words if word]
    return bool(arguments) and _TOLD_BY[victim](Path(arguments[0]).name, arguments)


def _is_client(program: str, arguments: Sequence[str]) -> bool:
    if program.startswith(_GAP):
        return program not in _OTHERS_OF_GAP
    return program.startswith("python") and any(word.endswith("k6/main.py") for word in arguments)


def _is_named(name: str, program: str, _arguments: Sequence[str]) -> bool:
    return program == name


_TOLD_BY: Mapping[str, Callable[[str, Sequence[str]], bool]] = {
    "client": _is_client,
    "k6": lambda program, arguments: program == "k6",
    "server": lambda program, arguments: (
        program == "spacetimedb-standalone" or (program == "postgres" and "-D" in arguments)
    ),
    "tier": lambda program, arguments: program == "node" and arguments[-1].endswith("server.ts"),
    "warden": lambda program, arguments: any(word.endswith("deploy/warden.py") for word in arguments),
    "kernel": lambda program, arguments: "ipykernel_launcher" in arguments,
    **{role: partial(_is_named, name) for name, role in _OTHERS_OF_GAP.items()},
}
