"""What a reader chooses of a contestant and of a load, in words that are the same for all systems.

A choice has a name that stands in addresses, so it follows from what a run recorded and never from the words that say it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gapbook.method.findings import Findings
from gapbook.pages.gloss import exponent_at
from gapbook.pages.words import as_text, connections_at
from gapbook.record.durability import Durability
from gapbook.record.printed import in_flight_in_words, part_in_words
from gapbook.record.scenario import RecordedContestant

__all__ = [
    "DIMENSIONS",
    "Choice",
    "explorer_address",
    "exponent_of",
    "load_choice",
    "side_of",
    "written_side",
]

DIMENSIONS = {
    "system": "System and version",
    "client": "Client",
    "between": "Between client and database",
    "written": "How a transfer is written",
    "in-flight": "Requests in flight on each connection",
    "disk": "The disk, when an answer comes",
    "else": "Anything else",
}
"""The choices of one side, in their order, with what a page calls them."""

_BETWEEN = {
    "direct": ("nothing", ""),
    "in-process": ("nothing: the client holds the engine", "in its process"),
    "rpc": ("HTTP server in Node.js", "Node.js server"),
    "server": ("HTTP server in Node.js, waits before it tries again", "retrying Node.js"),
    "bun": ("HTTP server in Bun, waits before it tries again", "Bun server"),
}
_WRITTEN = {
    "Drizzle": ("Drizzle (ORM)", "Drizzle"),
    "SQL statements": ("SQL, written by hand", "SQL"),
    "one call": ("stored procedure / reducer", "stored procedure"),
    "64 in one call": ("stored procedure with 64 transfers", "stored procedure of 64"),
}
_DISK = {
    "fsync-per-commit": ("waits for the disk", "fsync"),
    "delayed": ("on disk later", "fsync later"),
    "none": ("nothing promised", "no fsync"),
}
_EXPONENT = "alpha"
_NOT_A_NAME = re.compile(r"[^a-z0-9.]+")


@dataclass(frozen=True)
class Choice:
    """``name`` stands in an address, ``words`` in a list, ``short`` in a citation; the last is empty where nothing is
    to be said."""

    name: str
    words: str
    short: str


def side_of(found: Findings, one: RecordedContestant, versioned_label: str) -> tuple[Choice, ...]:
    """The choices that make a contestant, in the order of :data:`DIMENSIONS`."""
    # ``Rust client · Node RPC · procedure · 1 in flight``: its access level stands before what is in flight.
    labels = one.detail_label.split(" · ")
    client, access = labels[0], labels[labels.index(f"{one.in_flight} in flight") - 1]
    words, short = _BETWEEN.get(one.tier, (one.tier, one.tier))
    disk = Durability.parse(one.durability).kind
    return (
        Choice(_name(versioned_label), versioned_label, versioned_label),
        Choice(one.client, client, client.removesuffix(" client")),
        Choice(one.tier, words, short),
        _written(one.level("access"), access),
        _in_flight(one.in_flight),
        Choice(disk, *_DISK[disk]),
        _else(found, one),
    )


def written_side(side: Sequence[Choice]) -> str:
    """A side as it stands in an address; what is not set at the end is left out."""
    return "_".join(choice.name for choice in side).rstrip("_")


def explorer_address(
    found: Findings,
    over: tuple[RecordedContestant, str],
    under: tuple[RecordedContestant, str],
    treatment: float,
) -> str:
    """The explorer, set to two contestants of a run; each comes with its system and version in words."""
    a, b = (written_side(side_of(found, *one)) for one in (over, under))
    # A question and no place on the page: there is no element of that name.
    return f"explorer.html?a={a}&b={b}&alpha={exponent_of(found, over[0], treatment):g}&load={load_choice(found, treatment).name}"


def load_choice(found: Findings, treatment: float) -> Choice:
    """How many connections ask for what, at one value of the treatment."""
    connections = connections_at(found.scenario, treatment)
    workload = found.scenario.workload
    most = int(workload.parameters.get("amount_max") or 1)
    words = f"{connections:,g} connection{'' if connections == 1 else 's'}"
    moved = f"each transfer moves {f'1 to {as_text(most)}' if most > 1 else '1'}"
    redrawn = "" if workload.redraw == "both" else ", a payer who would pay himself pays another"
    name = _name(f"{connections:g}-{most}{'' if workload.redraw == 'both' else f'-{workload.redraw}'}")
    return Choice(name, f"{words}, {moved}{redrawn}", words)


def exponent_of(found: Findings, one: RecordedContestant, treatment: float) -> float:
    """How unequal a contestant draws the accounts at one value of the treatment: by its own setting, where it has one."""
    own = one.settings.parameters.get(_EXPONENT)
    return float(own) if isinstance(own, int | float) else exponent_at(found.scenario, treatment)


def _written(level: str, label: str) -> Choice:
    """An access level by the words that all systems share for it, and by what is special to it."""
    shared, _, _ = level.partition(", ")
    _, _, special = label.partition(", ")
    words, short = _WRITTEN.get(shared, (shared, shared))
    beside = f", {part_in_words(special)}" if special else ""
    return Choice(_name(f"{shared} {special}"), f"{words}{beside}", f"{short}{beside}")


def _in_flight(many: int) -> Choice:
    words = in_flight_in_words(str(many))
    return Choice(str(many), words if many == 1 else str(many), words)


def _else(found: Findings, one: RecordedContestant) -> Choice:
    """Whatever else was set, and nothing of what was not."""
    tries = max(each.settings.max_retries for each in found.scenario.contestants)
    told = list(_others(one, tries))
    words, short = (", ".join(each[place] for each in told) for place in (0, 1))
    return Choice(_name(words), words or "nothing", short)


def _others(one: RecordedContestant, tries: int) -> Iterator[tuple[str, str]]:
    """Each further setting in words, and in few. ``tries`` is how often the contestants of a run try again: one that
    gives up sooner says so."""
    given = one.settings
    if given.isolation:
        yield given.isolation, given.isolation
    if given.server_cores is not None:
        yield f"server on {given.server_cores} of all cores", f"{given.server_cores}-core server"
    if given.client_apart:
        yield "client on the others", "client apart"
    if given.round_trip_ms is not None:
        yield f"round trip + {given.round_trip_ms:g} ms", f"relay that adds {given.round_trip_ms:g} ms"
    if given.window_s is not None:
        yield f"{given.window_s:g} s window", f"{given.window_s:g} s window"
    if given.backend not in (None, "native"):
        yield f"in a container ({given.backend})", f"{given.backend}"
    # The exponent is no part of a side: it is chosen for both.
    own = {name: value for name, value in given.parameters.items() if name != _EXPONENT}
    for name, value in (*own.items(), *sorted(given.environment.items())):
        yield f"{name} {value}", f"{name} {value}"
    if 0 < given.max_retries < tries:
        yield f"gives up after {given.max_retries} retries", f"{given.max_retries} retries"
    for name in (*given.flaw_names, *(["server killed"] if given.server_killed else [])):
        yield f"wrong on purpose: {name}", f"wrong: {name}"


def _name(words: str) -> str:
    return _NOT_A_NAME.sub("-", words.lower()).strip("-")
