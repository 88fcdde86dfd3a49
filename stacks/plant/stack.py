"""The plant: a simulated server, started from the Rust workspace and asked over its control port."""

from __future__ import annotations

import json
import socket
import subprocess
from pathlib import Path

import msgspec
import polars as pl

from gapbook.deploy import stack
from gapbook.deploy.endpoint import Endpoint
from gapbook.deploy.process import Announced, Process, log_tail, require_port_free
from gapbook.deploy.rust import rust_binary
from gapbook.deploy.server import Server, ServerChoice, sha256_of
from gapbook.deploy.warden import bare_environment
from gapbook.errors import SetupError, StackError, cut
from gapbook.model.declaration import StateTable
from gapbook.model.workload import Workload, frame_schema
from gapbook.record.durability import Durability

_PROGRAM = "gap-plant"
_TIMEOUT_S = 30.0


class _Announced(Announced, kw_only=True):
    """Also the port at which it is told what to do."""

    control_port: int


class _State(msgspec.Struct):
    """What it says of itself; no factor until a client has connected."""

    committed: int
    time_factor: float | None
    simulated: bool


class Stack(stack.Stack):
    """See :class:`gapbook.deploy.stack.Stack`; what machine is simulated comes with the clients' endpoint."""

    def __init__(self, context: stack.StackContext) -> None:
        super().__init__(context)
        self._process: Process | None = None
        self._control: socket.socket | None = None
        self._port = 0
        self._trials = 0

    # --- before a run -------------------------------------------------------------------------
    @classmethod
    def install(cls) -> None:
        """The plant is built with the Rust clients."""

    @classmethod
    def locate(cls, choice: ServerChoice) -> Server:
        if choice.endpoint:
            raise SetupError("plant: runs only as our own process; name no URL, or a binary of gap-plant")
        binary = choice.binary or rust_binary(_PROGRAM, "plant:")
        return Server(str(binary), _version(binary), sha256_of(binary))

    # --- life ---------------------------------------------------------------------------------
    def start(self) -> None:
        if self._process is not None:
            return
        if self.context.choice.port:
            require_port_free(self.context.choice.port, "plant")
        self._process = self.deployment.start(
            [self.locate(self.context.choice).path, "--port", str(self.context.choice.port or 0)],
            name="plant",
            stdin=True,
            stdout=True,
            processors=self.context.processors,
        )
        try:
            ready = self._process.said("plant", _Announced)
            self._port = ready.port
            self._control = socket.create_connection(("127.0.0.1", ready.control_port), _TIMEOUT_S)
        except StackError:
            self.stop()
            raise
        except OSError as error:
            said = log_tail(self._process.log_path)
            self.stop()
            raise StackError(f"plant: not ready: {said}") from error

    def stop(self) -> None:
        if self._control is not None:
            self._control.close()
            self._control = None
        if self._process is not None:
            self.deployment.stop(self._process)
            self._process = None

    def processes(self) -> list[Process]:
        return [self._process] if self._process else []

    # --- a trial ------------------------------------------------------------------------------
    def _reset(self, workload: Workload) -> None:
        self._trials += 1
        tables = {name: rows.to_dict(as_series=False) for name, rows in workload.initial_state().items()}
        self._ask(f"seed {self._trials} {json.dumps(tables, separators=(',', ':'))}")

    def endpoint(self) -> Endpoint:
        return {
            "protocol": "postgres",
            "host": "127.0.0.1",
            "port": self._port,
            "user": "bank",
            "password": "plant",
            "database": "plant",
        }

    def settings(self) -> dict[str, str]:
        return {"simulated": json.dumps(self._state().simulated)}

    def durability(self) -> Durability:
        return self.context.durability

    def committed_operations(self) -> int:
        return self._state().committed

    def _read_table(self, name: str, table: StateTable) -> pl.DataFrame:
        columns = json.loads(self._ask(f"table {name}", data_follows=True))
        return pl.DataFrame(columns, schema=frame_schema(table))

    def log_bytes(self) -> int:
        return 0

    def server(self) -> Server:
        return self.locate(self.context.choice)

    def time_factor(self) -> float:
        """What the planted noise multiplied all times of the latest trial by, once a client has connected."""
        factor = self._state().time_factor
        if factor is None:
            raise StackError("plant: no client has connected yet")
        return factor

    # --- inside -------------------------------------------------------------------------------
    def _state(self) -> _State:
        return msgspec.json.decode(self._ask("state"), type=_State)

    def _ask(self, line: str, *, data_follows: bool = False) -> bytes:
        """The answer to one line of control: its line, or the bytes that its line counts."""
        said = cut(line)
        if self._control is None:
            raise StackError("plant: not started")
        try:
            self._control.sendall(line.encode() + b"\n")
            with self._control.makefile("rb") as reader:
                answer = reader.readline()
                if answer.startswith(b"error "):
                    raise StackError(f"plant: {said}: {answer.decode().strip()}")
                data = reader.read(int(answer)) if data_follows else b""
        except (OSError, ValueError) as error:
            raise StackError(f"plant: {said}: {error}") from error
        if not answer.endswith(b"\n") or (data_follows and len(data) != int(answer)):
            raise StackError(f"plant: {said}: the connection ended within the answer")
        return data if data_follows else answer


def _version(binary: Path) -> str:
    printed = subprocess.run(
        [binary, "--version"],
        capture_output=True,
        text=True,
        check=False,
        timeout=10,
        encoding="utf-8",
        errors="replace",
        env=bare_environment(),
    )
    if printed.returncode != 0 or not printed.stdout.startswith(_PROGRAM):
        raise SetupError(f"plant: {binary} is no {_PROGRAM}; name a binary of it")
    return printed.stdout.strip()
