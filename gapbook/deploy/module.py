"""Modules: the code inside or in front of a system, and the ways a client reaches it.

``modules/SYSTEM/module.toml`` declares access levels (how a transfer is expressed) and tiers
(what stands between client and system).
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from gapbook.deploy.deployment import Deployment
from gapbook.deploy.process import Process
from gapbook.deploy.toolchain import node_path
from gapbook.errors import ParameterError, StackError
from gapbook.paths import CHECKOUT, hash_files

__all__ = ["Module", "RunningTier", "load_module_facts", "version_numbers"]


@dataclass(frozen=True)
class RunningTier:
    """A server that stands in front of a stack: its process, its endpoint, what it says of itself."""

    process: Process
    endpoint: dict[str, Any]
    settings: dict[str, str]


@dataclass(frozen=True)
class Module:
    """The facts of one module folder."""

    system: str
    folder: Path
    facts: Mapping[str, Any]

    def require(self, access: str, tier: str) -> None:
        """Raise ParameterError unless the module has this access level behind this tier."""
        for kind, level in (("access", access), ("tier", tier)):
            if level not in self.facts[kind]:
                raise ParameterError(
                    f"{kind}: {level!r} is not one of {self.system}; allowed: {', '.join(self.facts[kind])}"
                )
        if access not in self.facts["tier"][tier].get("access", [access]):
            raise ParameterError(f"access: {access!r} of {self.system} cannot be reached by tier {tier!r}")

    def require_pipelined(self, access: str, tier: str) -> None:
        """Raise ParameterError unless a connection can have several transfers out at this access and tier."""
        for kind, level in (("access", access), ("tier", tier)):
            if not self.facts[kind][level].get("pipelined", True):
                raise ParameterError(
                    f"in_flight: {kind} {level!r} of {self.system} has one transfer out at a time on each connection; "
                    "allowed: 1"
                )

    def is_process(self, tier: str) -> bool:
        """Whether the tier is a server of its own between client and system."""
        return "command" in self.facts["tier"][tier]

    def protocol(self, tier: str, stack_protocol: str) -> str:
        return str(self.facts["tier"][tier].get("protocol", stack_protocol))

    def client_endpoint(self, access: str, endpoint: Mapping[str, Any]) -> dict[str, Any]:
        """The stack's endpoint with what an access level tells a client that calls the stack itself."""
        return {**endpoint, **self.facts["access"][access].get("endpoint", {})}

    def program(self, access: str) -> str | None:
        """What the server must run for an access level, where that is not the module's own program."""
        program = self.facts["access"][access].get("program")
        return None if program is None else str(program)

    def require_version(self, access: str, version: str) -> None:
        """Raise ParameterError unless a server of this version can run the access level."""
        oldest = str(self.facts["access"][access].get("from_version", "0"))
        if version_numbers(version) < version_numbers(oldest):
            raise ParameterError(
                f"access: {access!r} needs a server of {self.system} from {oldest} on, and this is {version}; "
                f"name one: servers={self.system}@VERSION=PATH, and its version for the contestant"
            )

    def source_hash(self) -> str:
        """sha256 over all sources of the module (dependencies are pinned by its lock files)."""
        files = [
            path
            for path in self.folder.rglob("*")
            if path.is_file() and not {"node_modules", "target"} & set(path.parts)
        ]
        return hash_files(files, self.folder)

    def start_tier(
        self,
        deployment: Deployment,
        *,
        tier: str,
        access: str,
        endpoint: Mapping[str, Any],
        pool_size: int,
        max_retries: int = 0,
    ) -> RunningTier | None:
        """Start the server of a tier; None when the tier is no process (a client calls the stack itself)."""
        command = self.facts["tier"][tier].get("command")
        if command is None:
            return None
        program, *arguments = command
        resolved = [str(node_path()) if program == "node" else program, *arguments]
        process = deployment.start(
            resolved, name=f"{self.system}-{tier}", stdin=True, stdout=True, working_directory=self.folder
        )
        stack_address = {key: value for key, value in endpoint.items() if key != "protocol"}
        configuration = {
            "access": access,
            "listen": {"host": "127.0.0.1", "port": 0},
            self.system: stack_address,
            "pool_size": pool_size,
            **({"max_retries": max_retries} if max_retries else {}),
        }
        process.stdin.write(json.dumps(configuration).encode() + b"\n")
        process.stdin.flush()
        try:
            ready = process.announcement(f"{self.system} {tier} tier ({access})")
        except StackError:
            deployment.stop(process)
            raise
        settings = {key: str(value) for key, value in ready.get("settings", {}).items()}
        return RunningTier(
            process, {"protocol": "http", "host": "127.0.0.1", "port": ready["port"]}, settings
        )


def version_numbers(version: str) -> tuple[int, ...]:
    """``2.8.3`` as numbers that compare; words around them do not count."""
    return tuple(int(word) for word in re.findall(r"\d+", version)[:3])


@cache
def load_module_facts(system: str) -> Module:
    """The module of a system; raises ParameterError when it has none."""
    path = CHECKOUT / "modules" / system / "module.toml"
    if not path.is_file():
        raise ParameterError(f"system: {system!r} has no modules/{system}/module.toml")
    return Module(system, path.parent, tomllib.loads(path.read_text()))
