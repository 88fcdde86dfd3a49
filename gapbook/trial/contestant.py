"""A contestant: one system with one module, one client and its settings, and the server that it needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gapbook.deploy.environment import require_declarable
from gapbook.deploy.limits import allowed_processors
from gapbook.deploy.module import Module, load_module
from gapbook.deploy.server import ServerChoice
from gapbook.deploy.stack import Stack, stack_class
from gapbook.errors import ParameterError
from gapbook.load.client import Client, find_client
from gapbook.model.declaration import declaration_of
from gapbook.record.describe import Said, detail_of, levels_of, server_of, versioned
from gapbook.record.durability import Durability
from gapbook.record.placement import NATIVE, Placement
from gapbook.record.scenario import ContestantSettings

__all__ = ["Contestant", "Variant"]


@dataclass(frozen=True)
class Variant:
    """A deployed server: a system with the settings that are fixed when it starts.

    ``isolation`` None is the server's own default, ``server_cores`` None is every processor, ``version``
    None the one that the stack has by itself. ``program`` is what the server is given to run where an access
    level needs another one than the module's; None is the module's. ``settings`` are names and values that
    it needs in place of the stack's own. ``placement`` is where it runs, ``environment`` what variables it is
    started with besides those of all.
    """

    system: str
    durability: str
    isolation: str | None
    server_cores: int | None
    version: str | None = None
    program: str | None = None
    settings: tuple[tuple[str, str], ...] = ()
    placement: Placement = NATIVE
    environment: tuple[tuple[str, str], ...] = ()

    @property
    def processors(self) -> list[int] | None:
        """Those that a server gets which is pinned; None where it may use all of them."""
        return _first(self.server_cores)

    def label(self, durability: Durability) -> str:
        """``spacetimedb 2.8.3 (1 core)``: system and version, and what is not as the scenario has it."""
        return server_of(
            self.system,
            self.version,
            durability=self.durability,
            isolation=self.isolation,
            server_cores=self.server_cores,
            program=self.program,
            settings=dict(self.settings),
            backend=_backend(self.placement),
            environment=dict(self.environment),
            usual_durability=str(durability),
        )


@dataclass(frozen=True)
class Contestant:
    """One system with one module, one client and its settings: a full set of levels.

    ``durability`` and ``isolation`` None are those of the scenario and of the server.
    ``server_cores`` None is every processor; the client and a tier may use all of them. ``client_apart``: the client
    has the processors that the server's leave, as if it ran on a host of its own, and what stands between them, a tier
    or a proxy, has those of the server.
    ``round_trip_ms`` is added between the system and what calls it (load client or tier), by a proxy;
    None is no proxy. ``max_retries`` is how often a transfer refused for a serialization failure or a
    deadlock is sent again. ``flaws`` are defects of a published benchmark, switched on in the client
    (clients/CONTRACT.md). ``server_killed`` ends the server in the middle of the window.
    ``parameters`` are those of the workload that are not as the scenario has them.
    ``rate_per_s`` is the offered load of an open loop, None is a closed loop. ``window_s`` None is the
    window of the scenario. ``version`` is the server's; None is the one that the stack has by itself, or
    that the reader named in its place. ``workload`` is that of the scenario. ``watched``: processor time and
    memory of the server are read each second of the load, which takes a little of the machine. ``probed``: a fixed
    piece of work is timed on each processor while the load runs (:mod:`gapbook.deploy.probe`). ``backend`` is
    where the server runs (:class:`gapbook.record.placement.Placement`); None is where its stack runs by itself.
    ``environment`` are variables, by name, that everything started for it gets: server, tier and client. They stand
    in the record, so they are no place for a secret; of the reader's shell nothing is passed on.
    """

    name: str
    system: str
    access: str
    tier: str
    client: str
    in_flight: int
    durability: str | None = None
    isolation: str | None = None
    server_cores: int | None = None
    client_apart: bool = False
    round_trip_ms: float | None = None
    max_retries: int = 0
    flaws: tuple[Mapping[str, Any], ...] = ()
    server_killed: bool = False
    parameters: Mapping[str, Any] = field(default_factory=dict)
    rate_per_s: float | None = None
    window_s: float | None = None
    version: str | None = None
    workload: str = "transfer"
    watched: bool = False
    probed: bool = False
    backend: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.module.require(self.access, self.tier)
        self.module.require_whole_batches(self.access, self.in_flight)
        client = self.load_client
        if self.in_flight > 1:
            self.module.require_pipelined(self.access, self.tier)
            client.require_pipelined(self.protocol)
        levels: Sequence[str] = self.stack.facts.isolation_levels or (self.stack.facts.isolation,)
        if self.isolation is not None and self.isolation not in levels:
            raise ParameterError(
                f"isolation: {self.isolation!r} is not one of {self.system}; allowed: {', '.join(levels)}"
            )
        if self.durability is not None:
            Durability.parse(self.durability)
        require_declarable(self.environment)
        if self.stack.facts.in_process:
            self._require_no_server()
        if self.client_apart and self.server_cores is None:
            raise ParameterError(
                f"client_apart: {self.name} leaves its server all processors, so that none is the client's alone; "
                "say how many the server has with server_cores"
            )
        self.stack.require_place(ServerChoice(placement=self.placement))

    def _require_no_server(self) -> None:
        """Raises ParameterError for a setting that needs a server between the client and the engine."""
        settings = {
            "server_cores": self.server_cores is not None,
            "client_apart": self.client_apart,
            "round_trip_ms": self.round_trip_ms is not None,
            "server_killed": self.server_killed,
            "watched": self.watched,
            "backend": self.placement.in_container,
        }
        if needless := [name for name, is_set in settings.items() if is_set]:
            raise ParameterError(
                f"{', '.join(needless)}: {self.system} runs inside its caller and has no server of its own; "
                f"leave it out for {self.name}"
            )

    @property
    def stack(self) -> type[Stack]:
        return stack_class(self.system)

    @property
    def placement(self) -> Placement:
        """Where its server runs."""
        return self.stack.usual_placement() if self.backend is None else Placement.parse(self.backend)

    @property
    def processors_between(self) -> list[int] | None:
        """Those of what stands between client and server; None is all."""
        return _first(self.server_cores) if self.client_apart else None

    @property
    def client_processors(self) -> list[int] | None:
        """Those of the load client; None is all."""
        return allowed_processors()[self.server_cores :] if self.client_apart else None

    @property
    def module(self) -> Module:
        return load_module(self.system, self.workload)

    @property
    def protocol(self) -> str:
        """What the client speaks: the tier's protocol, else the stack's own."""
        return self.module.protocol(self.tier, self.stack.facts.protocol)

    @property
    def load_client(self) -> Client:
        known = {self.module.client_level(access) for access in self.module.levels}
        level = self.module.client_level(self.access)
        return find_client(self.client, self.protocol, level, workload=self.workload, among=known)

    @property
    def client_retries(self) -> int:
        """How often the client itself sends a transfer again: where there is a tier, that does it."""
        return 0 if self.module.is_process(self.tier) else self.max_retries

    def variant(self, durability: Durability) -> Variant:
        """The server that this contestant needs, where the scenario's class is ``durability``."""
        return Variant(
            self.system,
            self.durability or str(durability),
            self.isolation,
            self.server_cores,
            self.version,
            self.module.program(self.access),
            tuple(sorted(self.module.settings(self.access).items())),
            self.placement,
            tuple(sorted(self.environment.items())),
        )

    @property
    def isolation_in_effect(self) -> str:
        """What a transfer gets: a module can be stricter than the level that its server is set to."""
        facts = self.stack.facts
        if self.isolation in (None, facts.isolation):
            return facts.isolation_in_effect or facts.isolation
        return str(self.isolation)

    @property
    def settings(self) -> ContestantSettings:
        """What it was asked to be, as a record holds it."""
        own = {name: value for name, value in vars(self).items() if name != "workload"}
        return ContestantSettings(
            **{
                **own,
                "flaws": [dict(flaw) for flaw in self.flaws],
                "parameters": dict(self.parameters),
                "environment": dict(self.environment),
                "backend": _backend(self.placement),
            }
        )

    @property
    def said(self) -> Said:
        """What its stack, its module and its client say of themselves."""
        stack, access = self.stack, self.module.levels[self.access]
        planted = access.endpoint.database if stack.facts.simulated else None
        return Said(
            system=stack.facts.label,
            colour=stack.facts.colour or self.system,
            access=access.label or self.access,
            level=access.level or self.access,
            tier=self.module.tiers[self.tier].label,
            protocol=self.protocol,
            in_process=stack.facts.in_process,
            simulated=stack.facts.simulated,
            counts_commits=stack.counts_commits,
            defect=access.defect,
            program=self.module.program(self.access),
            parameters=declaration_of(self.workload).told(self.parameters),
            server_settings=dict(self.module.settings(self.access)),
            planted=planted or None,
            client_threaded=self.load_client.threaded,
        )

    def levels(self) -> dict[str, str]:
        """The level of each dimension, in words that are the same for all systems."""
        return levels_of(self.settings, self.said.level)

    @property
    def system_label(self) -> str:
        return versioned(self.said.system, self.version)

    @property
    def detail_label(self) -> str:
        """``Rust client · procedure · 64 in flight``"""
        return detail_of(self.settings, self.said)


def _first(cores: int | None) -> list[int] | None:
    """So many of the processors on which this process may run; None where all are meant."""
    return None if cores is None else allowed_processors()[:cores]


def _backend(placement: Placement) -> str | None:
    """A place as it is recorded: None is the usual one, natively."""
    return str(placement) if placement.in_container else None
