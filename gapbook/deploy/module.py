"""Modules: the code of a workload inside or in front of a system, and the ways a client reaches it.

``modules/SYSTEM/module.toml`` declares tiers (what stands between client and system), and
``modules/SYSTEM/WORKLOAD/procedure.toml`` what a workload has there: access levels (how an operation is
expressed), requests over HTTP, and what its stack must know to load, seed and count it. A small module may
have the latter in its module.toml, as ``[procedure.WORKLOAD]``; modules that have it in common name the folders
that hold it, in ``procedures``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast

import msgspec

from gapbook.declared.module import Access, ModuleDeclaration, ProcedureDeclaration, Tier
from gapbook.declared.procedures import procedures_of
from gapbook.declared.reading import read
from gapbook.deploy.deployment import Deployment
from gapbook.deploy.endpoint import Endpoint, SentRequest
from gapbook.deploy.process import LOOPBACK, Announced, Process, log_tail
from gapbook.deploy.toolchain import node_path
from gapbook.errors import ParameterError, SetupError, StackError
from gapbook.paths import CHECKOUT, hash_files, tool_path

__all__ = ["Module", "RunningTier", "load_module", "module_workloads", "version_numbers"]

_PROCEDURE = "procedure.toml"
_OF_ENDPOINT = re.compile(r"<(\w+)>")
"""What a request says of the address that it goes to, as ``<token>``."""


@dataclass(frozen=True)
class RunningTier:
    """A server that stands in front of a stack: its process, its endpoint, what it says of itself."""

    process: Process
    endpoint: Endpoint
    settings: dict[str, str]


@dataclass(frozen=True)
class Module:
    """What one workload has on one system: ``facts`` are those of the system, ``procedure`` those of the workload.

    ``folder`` is the system's, in which the commands of tiers run.
    """

    system: str
    workload: str
    folder: Path
    facts: ModuleDeclaration
    procedure: ProcedureDeclaration

    @property
    def tiers(self) -> Mapping[str, Tier]:
        return self.facts.tier

    @property
    def levels(self) -> Mapping[str, Access]:
        """The access levels."""
        return self.procedure.access

    def path(self, name: str) -> Path:
        """A file or folder of the workload in this module."""
        return self.folder / self.workload / name

    def require(self, access: str, tier: str) -> None:
        """Raise ParameterError unless the module has this access level behind this tier."""
        for kind, level, known in (("access", access, self.levels), ("tier", tier, self.tiers)):
            if level not in known:
                raise ParameterError(
                    f"{kind}: {level!r} is not one of {self.system}; allowed: {', '.join(known)}"
                )
        if not self.reaches(tier, access):
            raise ParameterError(f"access: {access!r} of {self.system} cannot be reached by tier {tier!r}")

    def reaches(self, tier: str, access: str) -> bool:
        """Whether the access level is behind the tier."""
        behind = self.tiers[tier].access
        return behind is None or access in behind

    def require_pipelined(self, access: str, tier: str) -> None:
        """Raise ParameterError unless a connection can have several requests out at this access and tier.

        A tier that says so itself decides: what it runs side by side it runs on connections of its own.
        """
        if self.tiers[tier].pipelined:
            return
        alone = {"access": self.levels[access].pipelined, "tier": self.tiers[tier].pipelined}
        for kind, level in (("access", access), ("tier", tier)):
            if alone[kind] is False:
                raise ParameterError(
                    f"in_flight: {kind} {level!r} of {self.system} has one request out at a time on each connection; "
                    "allowed: 1"
                )

    def require_whole_batches(self, access: str, in_flight: int) -> None:
        """Raise ParameterError unless the requests of a connection fill the batches that this access level sends."""
        size = self.levels[access].endpoint.batch_size
        if not isinstance(size, msgspec.UnsetType) and in_flight % size:
            raise ParameterError(
                f"in_flight: {in_flight} does not fill the batches of access {access!r} of {self.system}; "
                f"allowed: a multiple of {size}"
            )

    def is_process(self, tier: str) -> bool:
        """Whether the tier is a server of its own between client and system."""
        return bool(self.tiers[tier].command)

    def tier_program(self, tier: str) -> Path | None:
        """The program that runs a tier's server; None where it has none. Raises SetupError where it is missing."""
        declared = self.tiers[tier]
        if not declared.command:
            return None
        program = declared.command[0]
        found = node_path() if program == "node" else tool_path(program)
        if found is None:
            raise SetupError(
                f"{self.system} behind {tier}: {program} is not installed; install it: {declared.install_hint}"
            )
        return found

    def protocol(self, tier: str, stack_protocol: str) -> str:
        return self.tiers[tier].protocol or stack_protocol

    def client_endpoint(self, access: str, tier: str, endpoint: Endpoint) -> Endpoint:
        """The stack's endpoint with what a client is told that calls the stack itself at this access level.

        A tier of a server that listens on several ports names in ``port`` the one of the endpoint that it means.
        """
        declared = self.tiers[tier]
        if declared.protocol == "http":
            words: Mapping[str, object] = endpoint
            return {
                "protocol": "http",
                "host": endpoint["host"],
                "port": cast(int, words[declared.port]),
                "requests": self.requests(access, tier, endpoint),
            }
        return self._told(access, endpoint)

    def _told(self, access: str, endpoint: Endpoint) -> Endpoint:
        shared: Endpoint = msgspec.to_builtins(self.procedure.endpoint)
        own: Endpoint = msgspec.to_builtins(self.levels[access].endpoint)
        return {**endpoint, **shared, **own}

    def requests(self, access: str, tier: str, endpoint: Endpoint) -> dict[str, SentRequest]:
        """For each kind of operation what a client sends over HTTP and how it reads the answer
        (clients/CONTRACT.md), filled in with what a client of the stack itself is told.

        What an access level says of a request goes before what its workload says; headers that a tier
        names in ``without_headers`` are left out.
        """
        told: Mapping[str, object] = self._told(access, endpoint)
        withheld = self._withheld_headers(tier)

        def filled(value: Any) -> Any:
            if isinstance(value, Mapping):
                return {key: filled(inner) for key, inner in value.items()}
            if isinstance(value, str):
                return _OF_ENDPOINT.sub(lambda found: str(told[found[1]]), value)
            return value

        def sent(request: SentRequest) -> SentRequest:
            headers = {
                name: text for name, text in request["headers"].items() if name.lower() not in withheld
            }
            return {**request, "headers": headers}

        return {kind: filled(sent(request)) for kind, request in self.declared_requests(access).items()}

    def declared_requests(self, access: str) -> dict[str, SentRequest]:
        """The same as it is declared, before any server runs that a client could be told of."""
        own = msgspec.to_builtins(self.levels[access].requests)
        declared = msgspec.to_builtins(self.procedure.requests)
        return {kind: request | own.get(kind, {}) for kind, request in declared.items()}

    def _withheld_headers(self, tier: str) -> set[str]:
        return {name.lower() for name in self.tiers[tier].without_headers}

    def client_level(self, access: str) -> str:
        """The access level that this one is to a load client, to which those that differ in the server are the same."""
        return self.levels[access].client_level or access

    def program(self, access: str) -> str | None:
        """What the server must run for an access level, where that is not the module's own program."""
        return self.levels[access].program

    def settings(self, access: str) -> Mapping[str, str]:
        """The settings of the server in which an access level needs another value than the stack's own."""
        return self.levels[access].settings

    def require_version(self, access: str, version: str) -> None:
        """Raise ParameterError unless a server of this version can run the access level."""
        oldest = self.levels[access].from_version
        if version_numbers(version) < version_numbers(oldest):
            raise ParameterError(
                f"access: {access!r} needs a server of {self.system} from {oldest} on, and this is {version}; "
                f"name one: servers={self.system}@VERSION=PATH, and its version for the contestant"
            )

    def source_hash(self) -> str:
        """sha256 over all sources of the module (dependencies are pinned by its lock files)."""
        others = {path.parent for path in self.folder.glob(f"*/{_PROCEDURE}")} - {self.path("")}
        beside = (*self.facts.sources, *self.facts.procedures)
        folders = [self.folder, *(self.folder / folder for folder in beside)]
        files = [
            path.resolve()
            for folder in folders
            for path in folder.rglob("*")
            if path.is_file()
            and not {"node_modules", "target"} & set(path.parts)
            and not others & set(path.parents)
        ]
        return hash_files(files, self.folder.parent)

    def start_tier(
        self,
        deployment: Deployment,
        *,
        tier: str,
        access: str,
        endpoint: Endpoint,
        pool_size: int,
        max_retries: int = 0,
        listen: str = LOOPBACK,
    ) -> RunningTier | None:
        """Start the server of a tier; None when the tier is no process (a client calls the stack itself).

        ``listen`` is the address of this machine at which clients call it. A tier that runs another system's server says so in ``address_of``, and in ``address`` what of the endpoint
        that server is told.
        """
        program, declared = self.tier_program(tier), self.tiers[tier]
        if program is None:
            return None
        process = deployment.start(
            [program, *declared.command[1:]],
            name=f"{self.system}-{tier}",
            stdin=True,
            stdout=True,
            working_directory=self.folder,
        )
        named = declared.address
        if named is None:
            named = tuple(key for key in endpoint if key != "protocol")
        words: Mapping[str, object] = endpoint
        stack_address = {key: words[key] for key in named}
        configuration = {
            "workload": self.workload,
            "access": access,
            "listen": {"host": listen, "port": 0},
            declared.address_of or self.system: stack_address,
            "pool_size": pool_size,
            **({"max_retries": max_retries} if max_retries else {}),
            **(
                {"retry_wait_ms": msgspec.to_builtins(declared.retry_wait_ms)}
                if declared.retry_wait_ms
                else {}
            ),
        }
        title = f"{self.system} {tier} tier ({access})"
        try:
            process.stdin.write(json.dumps(configuration).encode() + b"\n")
            process.stdin.flush()
            ready = process.said(title, Announced)
        except StackError:
            deployment.stop(process)
            raise
        except OSError as error:
            deployment.stop(process)
            raise StackError(f"{title}: not ready: {log_tail(process.log_path)}") from error
        settings = {key: str(value) for key, value in ready.settings.items()}
        called: Endpoint = {
            "protocol": "http",
            "host": listen,
            "port": ready.port,
            "requests": self.requests(access, tier, endpoint),
        }
        return RunningTier(process, called, settings)


def version_numbers(version: str) -> tuple[int, ...]:
    """``2.8.3`` as numbers that compare; words around them do not count."""
    return tuple(int(word) for word in re.findall(r"\d+", version)[:3])


@cache
def load_module(system: str, workload: str) -> Module:
    """What a workload has on a system; raises ParameterError where it has nothing, listing what there is."""
    facts, procedures = _declared(system)
    if workload not in procedures:
        there_are = ", ".join(procedures) or "none"
        raise ParameterError(
            f"workload: {workload!r} has no folder under modules/{system}/; there are: {there_are}"
        )
    return Module(system, workload, CHECKOUT / "modules" / system, facts, procedures[workload])


def module_workloads(system: str) -> tuple[str, ...]:
    """The workloads that a system has a module for; raises ParameterError where there is no module at all."""
    return tuple(_declared(system)[1])


@cache
def _declared(system: str) -> tuple[ModuleDeclaration, Mapping[str, ProcedureDeclaration]]:
    """The facts of a system's module, and those of each of its workloads."""
    path = CHECKOUT / "modules" / system / "module.toml"
    if not path.is_file():
        raise ParameterError(f"system: {system!r} has no modules/{system}/module.toml")
    facts = read(path, ModuleDeclaration)
    return facts, procedures_of(path, facts)
