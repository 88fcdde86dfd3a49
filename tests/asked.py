"""Which systems the tests asked: what passed, what was skipped and why, told by each case for the row of its system."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from gapbook.deploy.stack import discover_stacks
from gapbook.load.client import Client, discover_clients
from tests.contract.ways import Way

__all__ = [
    "ROWS_VARIABLE",
    "Asked",
    "asked_of",
    "failing",
    "read_rows",
    "rows_text",
    "systems_of",
    "write_row",
]

ROWS_VARIABLE = "GAPBOOK_TEST_ROWS"
"""Names the file to which each case that speaks of a system adds its line."""
_PROPERTY = "system"
_CLIENT = " as a client"
_REASON_CHARACTERS = 110


@dataclass
class Asked:
    """What the cases of one system came to."""

    passed: int = 0
    failed: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    """By reason."""


def systems_of(item: pytest.Item) -> set[str]:
    """The systems and the clients that a case asks, by its parameters and fixtures: a test says nothing for it."""
    names = {
        name.removesuffix("_stack") for name in getattr(item, "fixturenames", ()) if name.endswith("_stack")
    }
    callspec = getattr(item, "callspec", None)
    if callspec is not None:
        names |= set(_names(callspec.params.values()))
    return {name for name in names if name in discover_stacks() or name.endswith(_CLIENT)}


def _names(values: Iterable[object]) -> Iterator[str]:
    for value in values:
        if isinstance(value, Way):
            yield value.system
        elif isinstance(value, Client):
            yield f"{value.folder.name}{_CLIENT}"
        elif isinstance(value, str):
            yield value
        elif isinstance(value, tuple):
            yield from _names(value)


def asked_of(item: pytest.Item) -> None:
    """Let the reports of a case tell its systems, in whichever process they are read."""
    item.user_properties.extend((_PROPERTY, name) for name in sorted(systems_of(item)))


def write_row(report: pytest.TestReport) -> None:
    """Add a case that has ended to the file of rows, where one is named."""
    systems = [str(value) for name, value in report.user_properties if name == _PROPERTY]
    path = os.environ.get(ROWS_VARIABLE)
    ended = report.when == "call" or report.outcome != "passed"
    if not (path and systems and ended) or (report.when == "teardown" and report.outcome == "skipped"):
        return
    told = report.longrepr
    reason = str(told[2]).removeprefix("Skipped: ") if report.skipped and isinstance(told, tuple) else ""
    with Path(path).open("a", encoding="utf-8") as rows:
        rows.write(json.dumps([systems, report.outcome, reason]) + "\n")


def read_rows(path: Path) -> Mapping[str, Asked]:
    """What each system and each client came to; every one that the checkout has is there, asked or not."""
    names = [*discover_stacks(), *(f"{client.folder.name}{_CLIENT}" for client in discover_clients())]
    found = {name: Asked() for name in names}
    for line in path.read_text(encoding="utf-8").splitlines():
        systems, outcome, reason = json.loads(line)
        for name in systems:
            asked = found.setdefault(name, Asked())
            if outcome == "skipped":
                asked.skipped[reason] += 1
            elif outcome == "passed":
                asked.passed += 1
            else:
                asked.failed += 1
    return found


def failing(rows: Mapping[str, Asked]) -> Sequence[str]:
    """Systems of which not one case passed, though they could run here: one that comes in containers only is let go
    where its image cannot be had."""
    stacks = discover_stacks()
    return [
        name
        for name, asked in rows.items()
        if not asked.passed and not (name in stacks and stacks[name].only_in_containers() and asked.skipped)
    ]


def rows_text(rows: Mapping[str, Asked]) -> str:
    """A line for each system, and below it why cases were skipped."""
    lines = [f"{'system':24} passed failed skipped"]
    for name, asked in sorted(rows.items()):
        lines.append(f"{name:24} {asked.passed:6} {asked.failed:6} {sum(asked.skipped.values()):7}")
        lines += [f"    {count} skipped: {_short(reason)}" for reason, count in asked.skipped.most_common()]
    return "\n".join(lines)


def _short(reason: str) -> str:
    line = " ".join(reason.split())
    return line if len(line) <= _REASON_CHARACTERS else f"{line[: _REASON_CHARACTERS - 2]} …"
