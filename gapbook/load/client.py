"""Load generators: executables that keep ``clients/CONTRACT.md``, discovered from their folders.

``clients/**/client.toml`` says language, protocols, workloads and command. The harness picks a client by
these and knows no client by name.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from gapbook.declared.client import ClientDeclaration
from gapbook.declared.reading import read
from gapbook.deploy.deployment import Deployment
from gapbook.deploy.endpoint import Endpoint
from gapbook.deploy.rust import rust_binary
from gapbook.deploy.toolchain import node_path
from gapbook.errors import ClientError, ParameterError, SetupError
from gapbook.load.configuration import LoadConfiguration
from gapbook.load.contract import CONTRACT_VERSION, schema_problem
from gapbook.load.event import checked_event
from gapbook.load.report import checked_report
from gapbook.model.event import Event
from gapbook.model.report import Report
from gapbook.model.workload import Workload
from gapbook.paths import CHECKOUT, tool_path
from gapbook.record.row import FromHost
from gapbook.record.schema import one_line

__all__ = [
    "CLIENT_THREADS",
    "Client",
    "ClientRun",
    "configure_load",
    "discover_clients",
    "find_client",
]

CLIENT_THREADS = 1
_GRACE_S = 15.0


class Client(ClientDeclaration, frozen=True, kw_only=True):
    """One load generator: what its client.toml declares, and the folder from which its command is found."""

    folder: Path

    def draws(self, workload: str) -> bool:
        return self.workloads == ("*",) or workload in self.workloads

    def require_pipelined(self, protocol: str) -> None:
        """Raise ParameterError unless this client can have several requests out on each connection."""
        if protocol in self.sequential:
            raise ParameterError(
                f"in_flight: the {self.language} client for {protocol} has one request out on each "
                "connection; allowed: 1"
            )

    def resolved_command(self) -> list[str]:
        """The command with its runtime found; raises SetupError naming what builds it or is missing."""
        for needed in self.programs:
            if tool_path(needed) is None:
                raise SetupError(f"{self.language} client: {needed} is not installed; run: make setup")
        program, *arguments = self.command
        if program == "node":
            return [str(node_path()), *(str(self.folder / argument) for argument in arguments)]
        if program == "python":
            return [sys.executable, *(str(self.folder / argument) for argument in arguments)]
        return [str(rust_binary(program, "client")), *arguments]


@cache
def discover_clients() -> tuple[Client, ...]:
    """Every load client of the checkout; raises DeclarationError for one whose client.toml is not as it must be."""
    clients = CHECKOUT / "clients"
    paths = [*sorted(clients.glob("*/client.toml")), *sorted(clients.glob("*/*/client.toml"))]
    return tuple(
        Client(folder=path.parent, **msgspec.structs.asdict(read(path, ClientDeclaration))) for path in paths
    )


def find_client(
    language: str,
    protocol: str,
    access: str | None = None,
    *,
    workload: str | None = None,
    among: Collection[str] | None = None,
) -> Client:
    """The client of that language that speaks the protocol (can express the access level, draws the workload).

    Raises ParameterError listing what there is, of ``among`` where only these levels are in question:
    clients of one protocol know the levels of several systems.
    """
    of_protocol = [c for c in discover_clients() if c.language == language and protocol in c.protocols]
    speaking = [client for client in of_protocol if workload is None or client.draws(workload)]
    if of_protocol and not speaking:
        drawn = ", ".join(sorted({name for client in of_protocol for name in client.workloads}))
        raise ParameterError(
            f"client: {language!r} over {protocol!r} cannot draw the workload {workload!r}; allowed: {drawn}"
        )
    for client in speaking:
        if access is None or access in client.access.get(protocol, (access,)):
            return client
    if speaking:
        levels = {name for client in speaking for name in client.access[protocol]}
        able = ", ".join(sorted(levels if among is None else levels & set(among)))
        raise ParameterError(f"client: {language!r} over {protocol!r} cannot do {access!r}; allowed: {able}")
    there_are = ", ".join(f"{c.language}/{p}" for c in discover_clients() for p in c.protocols)
    raise ParameterError(f"client: none in {language!r} speaks {protocol!r}; there are: {there_are}")


def configure_load(
    endpoint: Endpoint,
    workload: Workload,
    directory: Path,
    *,
    seed: int,
    connections: int,
    in_flight: int,
    warmup_s: float,
    window_s: float,
    drain_s: float,
    request_timeout_s: float,
    max_retries: int = 0,
    flaws: Sequence[Mapping[str, Any]] = (),
    rate_per_s: float | None = None,
    linger_s: float = 0.0,
) -> LoadConfiguration:
    """The configuration of a load on one thread (clients/CONTRACT.md): a closed loop, or an open one that
    offers ``rate_per_s``.

    The workload's files are written beneath the directory, where the client reads them.
    """
    files = workload.files(directory).items()
    told: LoadConfiguration = {
        "contract": CONTRACT_VERSION,
        "endpoint": endpoint,
        "workload": {
            "name": workload.name,
            "seed": seed,
            "parameters": dict(workload.parameters),
            "files": {name: {"path": str(file.path), "sha256": file.sha256} for name, file in files},
        },
        "connections": connections,
        "in_flight": in_flight,
        "loop": {"kind": "closed"} if rate_per_s is None else {"kind": "open", "rate_per_s": rate_per_s},
        "threads": CLIENT_THREADS,
        "warmup_s": warmup_s,
        "window_s": window_s,
        "drain_s": drain_s,
        "request_timeout_s": request_timeout_s,
    }
    if max_retries:
        told["max_retries"] = max_retries
    if flaws:
        told["flaws"] = list(flaws)
    if linger_s:
        told["linger_s"] = linger_s
    return told


@dataclass
class ClientRun:
    """One run of a client: started with a configuration, watched, ended with its report."""

    client: Client
    configuration: Mapping[str, Any]
    on_event: Callable[[Event], None]
    parts: Sequence[FromHost] = ()
    """What each host made of the load: none where the client runs beside the server."""
    _pid: int | None = None

    def run(self, deployment: Deployment) -> Report:
        """Run to the end and return the report.

        ``on_event`` is called in this thread with each progress line as it comes, which is how the
        caller reads the server's counters at the window's edges.
        Raises ClientError when the configuration is not as the contract has it, or the client crashes, hangs
        past its own bounds or reports nonsense.
        """
        output = self.output(deployment)
        try:
            return checked_report(output, self.configuration)
        except ClientError as error:
            raise ClientError(f"client {self._name}: {error}") from error

    def output(self, deployment: Deployment) -> bytes:
        """As :meth:`run`, but the report as the client wrote it, unread."""
        try:
            return self._output(deployment)
        except ClientError as error:
            raise ClientError(f"client {self._name}: {error}") from error

    def end(self) -> None:
        """End the client at once, from another thread than that in which it runs; that then raises ClientError."""
        pid = self._pid
        if pid is not None:
            _kill_session(pid)

    @property
    def _name(self) -> str:
        return Path(self.client.command[-1]).stem

    def _output(self, deployment: Deployment) -> bytes:
        """What the client wrote until it ended of itself; raises ClientError without the client's name."""
        told = json.dumps(self.configuration)
        if problem := schema_problem("configuration", json.loads(told)):
            raise ClientError(f"its configuration is not as the contract has it: {problem}")
        process = deployment.start(
            self.client.resolved_command(),
            name=f"client-{self._name}",
            stdin=True,
            stdout=True,
            stderr=True,
        )
        self._pid = process.pid
        chunks: list[bytes] = []
        reader = threading.Thread(target=lambda: chunks.append(process.stdout.read()), daemon=True)
        reader.start()
        bound_s = sum(float(self.configuration[key]) for key in ("warmup_s", "window_s", "drain_s"))
        bound_s += max(0.0, float(self.configuration.get("start_unix_s", 0.0)) - time.time())
        watchdog = threading.Timer(bound_s + _GRACE_S, _kill_session, (process.pid,))
        # Before the watchdog starts: what it ends has then lasted as long as it waits, and is said to have hung.
        started = time.monotonic()
        watchdog.start()
        last_error = ""
        try:
            try:
                process.stdin.write(told.encode())
                process.stdin.close()
            except BrokenPipeError:
                pass
            for line in process.stderr:
                event = checked_event(line)
                if event.name == "error":
                    last_error = one_line(event.message)
                self.on_event(event)
            code = process.popen.wait()
            reader.join()
        finally:
            watchdog.cancel()
            # Its number may be another's from now on.
            self._pid = None
            deployment.stop(process)
        elapsed_s = time.monotonic() - started
        if code != 0:
            hung = elapsed_s >= bound_s + _GRACE_S
            how = f"hung and was ended after {elapsed_s:.0f} s" if hung else f"ended with code {code}"
            raise ClientError(f"{how}{': ' + last_error if last_error else ''}")
        return b"".join(chunks)


def _kill_session(pid: int) -> None:
    """End a process that leads its session, and its children, who may hold its pipes open."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
