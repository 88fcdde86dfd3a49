"""Every way to a system that modules declare: system, workload, access level and tier, and the server for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from gapbook.deploy.module import Module, load_module, module_workloads, version_numbers
from gapbook.deploy.server import ServerChoice
from gapbook.deploy.stack import Stack, discover_stacks, stack_class
from gapbook.load.client import Client, discover_clients
from tests.newer import newer_version

__all__ = ["Server", "Way", "clients_of", "discovered_ways"]

Server: TypeAlias = tuple[str, str, str | None, str | None, tuple[tuple[str, str], ...]]


@dataclass(frozen=True)
class Way:
    """How operations of a workload reach a system."""

    system: str
    workload: str
    access: str
    tier: str

    def __str__(self) -> str:
        return f"{self.system}-{self.workload}-{self.access}-{self.tier}"

    @property
    def module(self) -> Module:
        return load_module(self.system, self.workload)

    @property
    def stack(self) -> type[Stack]:
        return stack_class(self.system)

    @property
    def protocol(self) -> str:
        return self.module.protocol(self.tier, self.stack.facts.protocol)

    @property
    def is_sound(self) -> bool:
        """Whether the level is meant to be right."""
        return not self.module.levels[self.access].defect

    @property
    def server(self) -> Server:
        """What must run: system, workload, version (None: the stack's own), program (None: the module's own) and
        settings that are not the stack's own."""
        oldest = self.module.levels[self.access].from_version
        own = self.stack.own_version()
        newer = newer_version(self.system) or own
        enough = own is None or version_numbers(own) >= version_numbers(oldest)
        version = None if enough else newer
        settings = tuple(sorted(self.module.settings(self.access).items()))
        return self.system, self.workload, version, self.module.program(self.access), settings

    def choice(self) -> ServerChoice:
        return ServerChoice(version=self.server[2], placement=self.stack.usual_placement())


def discovered_ways() -> list[Way]:
    """All of them, those of one server side by side."""
    return sorted(_ways(), key=lambda way: (way.system, way.workload, str(way.server), way.tier, way.access))


def _ways() -> Iterator[Way]:
    for system in discover_stacks():
        for workload in module_workloads(system):
            module = load_module(system, workload)
            for tier in module.tiers:
                for access in module.levels:
                    if module.reaches(tier, access):
                        yield Way(system, workload, access, tier)


def clients_of(way: Way) -> list[Client]:
    """The load clients that speak the protocol and know the access level, one for each language.

    A level that is another one to a client is tested with one language: the rest is tested at that other level.
    """
    level = way.module.client_level(way.access)
    able = {
        client.language: client
        for client in reversed(discover_clients())
        if way.protocol in client.protocols
        and (way.protocol == "http" or level in client.access.get(way.protocol, [level]))
    }
    found = [able[language] for language in sorted(able)]
    return found if level == way.access else found[:1]
