"""Tiny runs, of which a fault makes a point: windows of a third of a second, few accounts, a few trials."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from gapbook.deploy.power_cut import require_power_cuts
from gapbook.deploy.server import ServerChoice
from gapbook.errors import GapbookError
from gapbook.record.durability import Durability
from gapbook.trial.campaign import measurement_of
from gapbook.trial.contestant import Contestant
from gapbook.trial.scenario import Scenario, WorkloadSettings
from gapbook.trial.servers import parse_choices, require_servers
from gapbook.trial.treatment import Treatment

__all__ = ["CHAPTER", "COMMAND", "Tiny", "missing", "obtain", "tiny_runs"]

CHAPTER = "faults"
COMMAND = "command"
"""The run that is made by ``gapbook run``, with a notebook and a kernel; the others are made without either."""


@dataclass(frozen=True)
class Tiny:
    """A run: its contestants, how many blocks, sessions, kills and cuts, and whether its server is a named one."""

    name: str
    contestants: tuple[Contestant, ...]
    durability: str = "fsync-per-commit"
    blocks: int = 3
    sessions: int = 1
    kills: int = 0
    cuts: int = 0
    named: bool = False

    @property
    def trials(self) -> int:
        return self.blocks * max(1, len(self.contestants))

    @property
    def scenario(self) -> Scenario:
        return Scenario(
            chapter=CHAPTER,
            contestants=self.contestants,
            workload=WorkloadSettings("transfer", {"accounts": 100}),
            treatment=Treatment.of("alpha", "transfer", [0.5]),
            connections=2,
            window_s=0.3,
            warmup_s=0.1,
            durability=Durability.parse(self.durability),
            seed=1,
            drain_s=1.0,
            request_timeout_s=1.0,
        )


@cache
def tiny_runs() -> dict[str, Tiny]:
    """All of them by name; the one of the command has no contestants of ours."""
    postgres = Contestant("direct", "postgres", "procedure", "direct", "rust", 1)
    sqlite = Contestant("in-process", "sqlite", "sql", "in-process", "rust", 1)
    far = Contestant("far", "postgres", "procedure", "rpc", "rust", 1, round_trip_ms=1.0)
    spacetimedb = Contestant("reducer", "spacetimedb", "reducer", "direct", "rust", 1)
    k6 = Contestant("k6", "sqlite", "sql", "rpc", "k6", 1)
    runs = (
        Tiny("sqlite", (sqlite,)),
        Tiny("sessions", (sqlite,), sessions=3),
        Tiny("postgres", (postgres,)),
        Tiny("tier", (far,)),
        Tiny("spacetimedb", (spacetimedb,), "delayed"),
        Tiny("k6", (k6,)),
        Tiny("kills", (postgres,), blocks=1, kills=2),
        Tiny("cuts", (sqlite,), blocks=1, cuts=2),
        Tiny("named", (postgres,), named=True),
        Tiny(COMMAND, (), blocks=1),
    )
    return {run.name: run for run in runs}


def missing(tiny: Tiny) -> str | None:
    """Why a run cannot be made on this machine; None where it can."""
    try:
        require_servers({}, tiny.contestants, Durability.parse(tiny.durability))
        for contestant in tiny.contestants:
            contestant.load_client.resolved_command()
            contestant.module.tier_program(contestant.tier)
        if tiny.cuts:
            require_power_cuts()
    except GapbookError as error:
        return str(error)
    return None


def obtain(tiny: Tiny, source: str, endpoint: str | None, say: Callable[[str], None]) -> None:
    """Make the run, or what is left of it; raises what :func:`gapbook.trial.campaign.measurement_of` and its run raise."""
    choices: dict[str, ServerChoice] = {} if endpoint is None else parse_choices(f"postgres={endpoint}")
    measurement_of(
        tiny.scenario,
        blocks=tiny.blocks,
        sessions=tiny.sessions,
        kills=tiny.kills,
        cuts=tiny.cuts,
        choices=choices,
        say=say,
    ).run(source)
