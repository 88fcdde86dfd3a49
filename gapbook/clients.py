"""Load generators: executables that keep ``clients/CONTRACT.md``, discovered from their folders.

``clients/**/client.toml`` says language, protocols and command. The harness picks a client by
language and protocol and knows no client by name.
"""

from __future__ import annotations

import json
import threading
import time
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from gapbook.deployment import Deployment
from gapbook.errors import ClientError, ParameterError, SetupError
from gapbook.paths import CHECKOUT, cache_directory, hash_files
from gapbook.toolchain import node_path

__all__ = ["CONTRACT_VERSION", "Client", "ClientRun", "discover_clients", "find_client", "rust_workspace_key"]

CONTRACT_VERSION = 1
_GRACE_S = 15.0
_RUST_WORKSPACE = CHECKOUT / "clients" / "rust"


@dataclass(frozen=True)
class Client:
    """One load generator: what it speaks and how it is started."""

    folder: Path
    language: str
    protocols: tuple[str, ...]
    command: tuple[str, ...]

    def resolved_command(self) -> list[str]:
        """The command with its runtime found; raises SetupError naming what builds it."""
        program, *arguments = self.command
        if program == "node":
            return [str(node_path()), *(str(self.folder / argument) for argument in arguments)]
        binary = rust_binaries_directory() / program
        if not binary.is_file():
            raise SetupError(f"client {program} is not built; run: make setup")
        return [str(binary), *arguments]


def rust_workspace_key() -> str:
    """Hash of what the Rust binaries are built from: what they are kept under. Tests are no part of it."""
    files = [
        *_RUST_WORKSPACE.glob("*/src/**/*.rs"),
        *_RUST_WORKSPACE.glob("*/Cargo.toml"),
        *_RUST_WORKSPACE.glob("Cargo.*"),
    ]
    return hash_files(files, _RUST_WORKSPACE)[:16]


def rust_binaries_directory() -> Path:
    return cache_directory() / "clients" / rust_workspace_key() / "bin"


@cache
def discover_clients() -> tuple[Client, ...]:
    found = []
    for path in sorted((CHECKOUT / "clients").glob("*/client.toml")) + sorted(
        (CHECKOUT / "clients").glob("*/*/client.toml")
    ):
        facts = tomllib.loads(path.read_text())
        found.append(
            Client(path.parent, facts["language"], tuple(facts["protocols"]), tuple(facts["command"]))
        )
    return tuple(found)


def find_client(language: str, protocol: str) -> Client:
    """The client of that language that speaks the protocol; raises ParameterError listing what there is."""
    for client in discover_clients():
        if client.language == language and protocol in client.protocols:
            return client
    there_are = ", ".join(f"{c.language}/{p}" for c in discover_clients() for p in c.protocols)
    raise ParameterError(f"client: none in {language!r} speaks {protocol!r}; there are: {there_are}")


@dataclass
class ClientRun:
    """One run of a client: started with a configuration, watched, ended with its report."""

    client: Client
    configuration: Mapping[str, Any]
    on_event: Callable[[dict[str, Any]], None]
    report: dict[str, Any] = field(default_factory=dict)

    def run(self, deployment: Deployment) -> dict[str, Any]:
        """Run to the end and return the report.

        ``on_event`` is called in this thread with each progress line as it comes, which is how the
        caller reads the server's counters at the window's edges.
        Raises ClientError when the client crashes, hangs past its own bounds or reports nonsense.
        """
        name = Path(self.client.command[-1]).stem
        process = deployment.start(
            self.client.resolved_command(), name=f"client-{name}", stdin=True, stdout=True, stderr=True
        )
        chunks: list[bytes] = []
        reader = threading.Thread(target=lambda: chunks.append(process.stdout.read()), daemon=True)
        reader.start()
        bound_s = sum(float(self.configuration[key]) for key in ("warmup_s", "window_s", "drain_s"))
        watchdog = threading.Timer(bound_s + _GRACE_S, process.popen.kill)
        watchdog.start()
        started = time.monotonic()
        last_error = ""
        try:
            try:
                process.stdin.write(json.dumps(self.configuration).encode())
                process.stdin.close()
            except BrokenPipeError:
                pass
            for line in process.stderr:
                event = _parse_event(line)
                if event.get("event") == "error":
                    last_error = str(event.get("message"))
                self.on_event(event)
            code = process.popen.wait()
            reader.join()
        finally:
            watchdog.cancel()
            deployment.stop(process)
        elapsed_s = time.monotonic() - started
        if code != 0:
            hung = elapsed_s >= bound_s + _GRACE_S
            how = f"hung and was ended after {elapsed_s:.0f} s" if hung else f"ended with code {code}"
            raise ClientError(f"client {name}: {how}{': ' + last_error if last_error else ''}")
        return self._checked(name, b"".join(chunks))

    def _checked(self, name: str, output: bytes) -> dict[str, Any]:
        try:
            report = json.loads(output)
        except ValueError as error:
            raise ClientError(f"client {name}: its report is not JSON ({error})") from error
        if not isinstance(report, dict) or report.get("contract") != CONTRACT_VERSION:
            raise ClientError(f"client {name}: its report is not of contract {CONTRACT_VERSION}")
        return report


def _parse_event(line: bytes) -> dict[str, Any]:
    try:
        event = json.loads(line)
    except ValueError:
        return {"event": "error", "message": line.decode(errors="replace").strip()[:300]}
    return event if isinstance(event, dict) else {}
