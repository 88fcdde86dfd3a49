"""A server over HTTP that keeps its data in files of SQLite, of which it is the only writer.

Its first start makes its tables and users; what it left is the template of each trial. Rows of a workload are
stored in its file while it is down, and read back from it: not through its own interface, whose share of the
work is what a chapter measures.
"""

from __future__ import annotations

import contextlib
import secrets
import shutil
import sqlite3
import time
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar, cast

import httpx
import msgspec
import polars as pl

from gapbook.deploy import stack
from gapbook.deploy.endpoint import Endpoint
from gapbook.deploy.file_system import MEMORY_FILE_SYSTEMS, file_system, size_unless_gone
from gapbook.deploy.process import Process
from gapbook.deploy.server import Server
from gapbook.deploy.sqlite_tables import SqliteTables
from gapbook.errors import SetupError, StackError
from gapbook.model.declaration import StateTable
from gapbook.model.workload import Workload
from gapbook.record.durability import Durability

__all__ = ["SqliteServer", "UnsyncedServer"]

_READY_TIMEOUT_S = 60.0
_REQUEST_TIMEOUT_S = 30.0
_BUSY_TIMEOUT_S = 30.0
_READ_BACK = ("journal_mode", "page_size")


class SqliteServer(stack.Stack):
    """See :class:`gapbook.deploy.stack.Stack`; what a system says of its own are the methods without a body."""

    counts_commits = False
    database: ClassVar[str]
    """The file of SQLite that holds the workload's tables, in the data folder."""

    def __init__(self, context: stack.StackContext) -> None:
        super().__init__(context)
        name = f"{self.name}-{secrets.token_hex(4)}"
        self._directory = self.deployment.directory / name
        self._data = context.storage / name if context.storage else self._directory / "data"
        self._template = self._directory / "template"
        self._process: Process | None = None
        self._port = 0
        self._told: dict[str, str] = {}

    # --- what a system says -------------------------------------------------------------------
    @abstractmethod
    def _command(self, port: int) -> list[str | Path]:
        """What starts the server over ``self._data``, in which it makes what is missing."""

    def _environment(self) -> Mapping[str, str]:
        """Variables that the server is started with."""
        return {}

    def _prepare(self) -> None:
        """What is made in ``self._directory`` and ``self._data`` before the first start."""

    @abstractmethod
    def _is_ready(self, session: httpx.Client) -> bool:
        """Whether the server answers; a connection that is refused is no answer."""

    @abstractmethod
    def _log_in(self, session: httpx.Client) -> Mapping[str, str]:
        """Log the sender in; what requests and tables may name, ``token`` among it."""

    @abstractmethod
    def _promised(self, settings: Mapping[str, str]) -> Durability:
        """The class that settings that were read back keep on a disk."""

    # --- before a run -------------------------------------------------------------------------
    @classmethod
    def _require_ours(cls, endpoint: str | None) -> None:
        if endpoint:
            raise SetupError(
                f"{cls.name}: {endpoint} cannot be used: its tables are filled in its file, so it is started here; "
                "name a server binary"
            )

    # --- life ---------------------------------------------------------------------------------
    def start(self) -> None:
        if self._process is not None:
            return
        self.require_durability(self.located(self.context.choice), self.context.durability)
        self._port = self.own_port()
        try:
            self._directory.mkdir(mode=0o700, parents=True)
            self._data.mkdir(mode=0o700, parents=True)
            self._prepare()
            self._launch()
            self._end()
            shutil.copytree(self._data, self._template)
            self._launch()
        except BaseException:
            self.stop()
            raise

    def _launch(self) -> None:
        """Start the server over its data folder, wait until it answers, and log in where the module has a user."""
        self._process = self.deployment.start(
            self._command(self._port),
            name=self.name,
            environment=self._environment(),
            working_directory=self._directory,
            processors=self.context.processors,
        )
        with self._session() as session:
            self._wait_until_ready(self._process, session)
            if self.module.procedure.known is None:
                return
            try:
                self._told = dict(self._log_in(session))
            except (httpx.HTTPError, KeyError, ValueError) as error:
                raise StackError(
                    f"{self.name}: the sender cannot log in: {error!r}: {self._process.last_words()}"
                ) from error

    def _session(self) -> httpx.Client:
        return httpx.Client(
            base_url=f"http://127.0.0.1:{self._port}", timeout=_REQUEST_TIMEOUT_S, trust_env=False
        )

    def _wait_until_ready(self, process: Process, session: httpx.Client) -> None:
        deadline = time.monotonic() + _READY_TIMEOUT_S
        while time.monotonic() < deadline:
            process.require_running()
            with contextlib.suppress(httpx.HTTPError):
                if self._is_ready(session):
                    return
            time.sleep(0.02)
        raise StackError(f"{self.name}: no answer after {_READY_TIMEOUT_S:.0f} s: {process.last_words()}")

    def _end(self) -> None:
        if self._process is not None:
            self.deployment.stop(self._process)
            self._process = None

    def stop(self) -> None:
        self._end()
        for folder in (self._data, self._directory):
            shutil.rmtree(folder, ignore_errors=True)

    def recover(self) -> None:
        self._launch()

    def processes(self) -> list[Process]:
        return [self._process] if self._process else []

    # --- a trial ------------------------------------------------------------------------------
    def _reset(self, workload: Workload) -> None:
        known = self._known()
        self._end()
        shutil.rmtree(self._data, ignore_errors=True)
        shutil.copytree(self._template, self._data)
        with self._file("seed") as connection:
            connection.execute("BEGIN IMMEDIATE")
            self._tables(known).fill(connection, workload.initial_state())
            connection.execute("COMMIT")
        self._launch()

    def _known(self) -> dict[str, str | int]:
        """What requests and the statements of tables may name: what the log-in told, over the module's own."""
        known = self.module.procedure.known
        return {**(msgspec.to_builtins(known) if known else {}), **self._told}

    def _tables(self, known: Mapping[str, str | int]) -> SqliteTables:
        return SqliteTables(self.module.procedure.tables, known)

    @contextlib.contextmanager
    def _file(self, verb: str) -> Iterator[sqlite3.Connection]:
        """A connection of our own to the server's file; it changes no setting of it."""
        path = self._data / self.database
        try:
            connection = sqlite3.connect(
                f"{path.as_uri()}?mode=rw", uri=True, timeout=_BUSY_TIMEOUT_S, isolation_level=None
            )
            with contextlib.closing(connection):
                yield connection
        except (sqlite3.Error, OSError) as error:
            raise StackError(f"{self.name}: {verb}: {path}: {error}") from error

    def endpoint(self) -> Endpoint:
        address: Endpoint = {"protocol": "http", "host": "127.0.0.1", "port": self._port}
        return cast(Endpoint, {**address, **self._known()})

    def settings(self) -> dict[str, str]:
        self._require_running()
        with self._file("read settings back") as connection:
            read = {name: str(connection.execute(f"PRAGMA {name}").fetchone()[0]) for name in _READ_BACK}
        return {"version": self.server().version, **read, "data_file_system": file_system(self._data)}

    def durability(self) -> Durability:
        settings = self.settings()
        if settings["data_file_system"] in MEMORY_FILE_SYSTEMS:
            return Durability("none")
        return self._promised(settings)

    def committed_operations(self) -> None:
        """No such server counts what it commits. The audit holds the state against the work."""

    def _read_table(self, name: str, table: StateTable) -> pl.DataFrame:
        with self._file(f"read {name}") as connection:
            return self._tables(self._known()).read(connection, name, table)

    def log_bytes(self) -> int:
        """Size of all databases and their logs: still once the server writes no more."""
        return sum(map(size_unless_gone, (path for path in self._data.rglob("*") if path.is_file())))

    def server(self) -> Server:
        return self.located(self.context.choice)

    def _require_running(self) -> None:
        if self._process is None:
            raise StackError(f"{self.name}: not started")
        self._process.require_running()


class UnsyncedServer(SqliteServer):
    """One that flushes its log at checkpoints only, whatever it is told: a loss of power takes what it acknowledged
    since."""

    @classmethod
    def require_durability(cls, server: Server, durability: Durability) -> None:
        if durability.kind != "none":
            raise StackError(
                f"{cls.name} {server.version}: {durability} cannot be kept, for it flushes its log at checkpoints "
                "only and no setting changes that; allowed: none"
            )

    def _promised(self, settings: Mapping[str, str]) -> Durability:
        del settings
        return Durability("none")
