"""Points: which fault strikes which run in which phase, and when; each follows from a seed and a number."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from faults.scenarios import COMMAND, tiny_runs

__all__ = ["Fault", "Point", "combinations", "playable", "point"]

_LOADED = ("warm-up", "window", "drain")
_WHOLE = ("setup", "start", "ceiling", "seed", *_LOADED, "audit", "leave", "finish")
_COMMAND_PHASES = ("begin", "start", "trial", "end")
_EVERY = ("sqlite", "sessions", "postgres", "tier", "spacetimedb", "k6")


@dataclass(frozen=True)
class Fault:
    """What strikes: its kind, whom, in which run, and in which phase of it."""

    run: str
    kind: str
    victim: str
    phase: str

    @property
    def words(self) -> frozenset[str]:
        return frozenset((self.run, self.kind, self.victim, self.phase))


@dataclass(frozen=True)
class Point:
    """A fault with its moment: in which occurrence of the phase, and after which share of its usual length."""

    number: int
    fault: Fault
    occurrence: int
    share: float


def _processes() -> Iterator[Fault]:
    """Kills and stops of processes in every phase in which they live."""
    for run in _EVERY:
        for phase in _WHOLE:
            yield Fault(run, "kill", "harness", phase)
            yield Fault(run, "interrupt", "harness", phase)
    for phase in _WHOLE:
        yield Fault("postgres", "kill", "warden", phase)
        yield Fault("postgres", "kill", "harness and warden", phase)
    for run in ("postgres", "spacetimedb", "tier"):
        for phase in ("start", "seed", *_LOADED, "audit"):
            yield Fault(run, "kill", "server", phase)
    for run in _EVERY:
        for phase in _LOADED:
            yield Fault(run, "kill", "client", phase)
        yield Fault(run, "stop", "client", "window")
    # Nothing stands in for an engine inside its client.
    for run in ("postgres", "tier", "spacetimedb", "k6"):
        yield Fault(run, "kill", "null server", "ceiling")
    for phase in (*_LOADED, "audit"):
        yield Fault("tier", "kill", "tier", phase)
        yield Fault("tier", "kill", "relay", phase)
        yield Fault("k6", "kill", "tier", phase)
    for phase in _LOADED:
        yield Fault("k6", "kill", "k6", phase)
    for run in ("postgres", "spacetimedb"):
        for phase in ("seed", "window", "audit"):
            yield Fault(run, "stop", "server", phase)
    yield Fault("tier", "stop", "tier", "window")
    yield Fault("tier", "stop", "relay", "window")


def _checks() -> Iterator[Fault]:
    """Faults while servers are killed, and while the power of disks is cut."""
    for victim in ("harness", "server", "client", "warden"):
        yield Fault("kills", "kill", victim, "kills")
    yield Fault("kills", "interrupt", "harness", "kills")
    for victim in ("harness", "disk", "client", "warden", "harness and warden"):
        yield Fault("cuts", "kill", victim, "cuts")
    yield Fault("cuts", "interrupt", "harness", "cuts")
    for run in ("kills", "cuts"):
        yield Fault(run, "kill", "harness", "finish")


def _surroundings() -> Iterator[Fault]:
    """Full disks, taken ports, and servers that do not answer, or not as they should."""
    for run in ("sqlite", "postgres"):
        for phase in ("start", "seed", *_LOADED, "audit", "finish"):
            yield Fault(run, "full", "data disk", phase)
            yield Fault(run, "full", "runs disk", phase)
    for how in ("closed", "mute", "garbage", "half"):
        for run in ("postgres", "spacetimedb"):
            yield Fault(run, "taken port", how, "start")
        if how != "closed":
            for phase in ("start", "seed", *_LOADED, "audit"):
                yield Fault("named", "answers", how, phase)
    for phase in ("start", "seed", "window", "audit", "leave"):
        yield Fault("named", "kill", "harness", phase)


def _commands() -> Iterator[Fault]:
    """The command as a reader gives it, ended in every way."""
    for phase in _COMMAND_PHASES:
        yield Fault(COMMAND, "kill", "command", phase)
        yield Fault(COMMAND, "interrupt", "command", phase)
        yield Fault(COMMAND, "kill", "kernel", phase)
    for kind in ("terminate", "hang up"):
        yield Fault(COMMAND, kind, "command", "start")
        yield Fault(COMMAND, kind, "command", "trial")


@cache
def combinations() -> Sequence[Fault]:
    """Every fault once; the order is that of this file."""
    return (*_processes(), *_checks(), *_surroundings(), *_commands())


def playable(absent: frozenset[str]) -> list[Fault]:
    """The faults that can be played where these runs, or these kinds of fault, cannot be made."""
    return [fault for fault in combinations() if not absent & {fault.run, fault.kind}]


def point(seed: int, number: int, absent: frozenset[str] = frozenset()) -> Point:
    """The point of a number: all faults come once, in an order drawn from the seed, before one comes again.

    ``absent`` is that of :func:`playable`.
    """
    faults = playable(absent)
    turn, place = divmod(number, len(faults))
    random.Random(f"order {seed} {turn}").shuffle(faults)
    drawn = random.Random(f"moment {seed} {number}")
    fault = faults[place]
    return Point(number, fault, drawn.randrange(tiny_runs()[fault.run].trials), drawn.random())
