"""SQLite in a file of the deployment: no server, the engine runs inside each client or tier."""

from __future__ import annotations

import _sqlite3
import contextlib
import secrets
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from gapbook.deploy import stack
from gapbook.deploy.endpoint import Endpoint
from gapbook.deploy.file_system import MEMORY_FILE_SYSTEMS, file_system, size_unless_gone
from gapbook.deploy.process import Process
from gapbook.deploy.server import Server, ServerChoice, sha256_of
from gapbook.deploy.sqlite_tables import SqliteTables
from gapbook.errors import SetupError, StackError
from gapbook.model.declaration import StateTable
from gapbook.model.workload import Workload
from gapbook.record.durability import Durability

_ISOLATION = "serializable"
_BUSY_TIMEOUT_S = 30.0
_SYNCHRONOUS = ("OFF", "NORMAL", "FULL", "EXTRA")
"""The names of the numbers that ``PRAGMA synchronous`` answers with."""
_PROMISED = {
    ("wal", "FULL"): "fsync-per-commit",
    ("wal", "EXTRA"): "fsync-per-commit",
    ("delete", "FULL"): "delayed",
    ("delete", "EXTRA"): "fsync-per-commit",
}
"""The class of a journal with a value of ``PRAGMA synchronous``; others promise none (stack.toml has the reasons)."""
_SETTINGS_READ_BACK = (
    "journal_mode",
    "page_size",
    "wal_autocheckpoint",
    "auto_vacuum",
    "locking_mode",
    "read_uncommitted",
)


class Stack(stack.Stack):
    """See :class:`gapbook.deploy.stack.Stack`; each seeding makes the database file anew."""

    counts_commits = False

    def __init__(self, context: stack.StackContext) -> None:
        super().__init__(context)
        folder = (context.storage or self.deployment.directory) / f"sqlite-{secrets.token_hex(4)}"
        self.path = folder / "bank.sqlite"
        """The database file, in a folder of its own; another name may be given before the stack starts."""
        self._tables = SqliteTables(self.module.procedure.tables, {})
        self._journal_mode = ""
        self._synchronous = ""
        self._auditor: sqlite3.Connection | None = None

    # --- before a run -------------------------------------------------------------------------
    @classmethod
    def install(cls) -> None:
        cls.locate(ServerChoice())

    @classmethod
    def locate(cls, choice: ServerChoice) -> Server:
        """The engine of this process, which seeds and audits; clients and tiers embed and report their own."""
        if choice.binary or choice.endpoint:
            raise SetupError(
                "sqlite: there is no server to name, the engine runs inside the client or tier; "
                "leave it out of servers"
            )
        library = _loaded_library()
        version = f"{sqlite3.sqlite_version} (seeds and audits; each client and tier embeds its own)"
        return Server(str(library), version, sha256_of(library))

    # --- life ---------------------------------------------------------------------------------
    def start(self) -> None:
        if self._journal_mode:
            return
        self.locate(self.context.choice)
        self._journal_mode = self.declared_settings()["journal_mode"]
        self._synchronous = self._required_synchronous()
        if self.context.isolation not in (None, _ISOLATION):
            raise StackError(
                f"sqlite: isolation {self.context.isolation!r} is not offered; allowed: {_ISOLATION}"
            )
        self.path.parent.mkdir(mode=0o755)
        with self._new_file():
            pass

    def _required_synchronous(self) -> str:
        """The setting that was asked for, or that keeps the class; raises StackError when there is none."""
        values = self.durability_facts().synchronous_by_class(self._journal_mode)
        asked = self.context.durability
        if asked.kind not in values or asked.max_ms is not None:
            raise StackError(
                f"sqlite: {asked} cannot be kept with journal_mode {self._journal_mode}, for no setting flushes "
                f"by a timer; allowed: {', '.join(sorted(values, reverse=True))}"
            )
        return self.context.settings.get("synchronous", values[asked.kind].value)

    def declared_settings(self) -> dict[str, str]:
        declared = super().declared_settings()
        return declared | {"synchronous": self._synchronous} if self._synchronous else declared

    def stop(self) -> None:
        self._close()
        self._journal_mode = self._synchronous = ""
        shutil.rmtree(self.path.parent, ignore_errors=True)

    def processes(self) -> list[Process]:
        return []

    # --- a trial ------------------------------------------------------------------------------
    def _reset(self, workload: Workload) -> None:
        with self._new_file() as connection:
            self._tables.fill(connection, workload.initial_state())
        if self.context.storage is not None:
            # That disk may go away under an open file, and a mapped one would take this process with it.
            self._close()

    @contextlib.contextmanager
    def _new_file(self) -> Iterator[sqlite3.Connection]:
        """A file with the module's tables, and a transaction for what the caller adds."""
        self._close()
        with _stack_errors("seed"):
            for suffix in ("", "-wal", "-shm", "-journal"):
                self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)
            connection = self._auditor = self._connect(create=True)
            connection.execute(f"PRAGMA page_size = {self.declared_settings()['page_size']}")
            connection.execute(f"PRAGMA journal_mode = {self._journal_mode}")
            connection.executescript(self.module.path("schema.sql").read_text(encoding="utf-8"))
            connection.execute("BEGIN IMMEDIATE")
            yield connection
            connection.execute("COMMIT")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def endpoint(self) -> Endpoint:
        return {"protocol": "sqlite", "path": str(self.path), "synchronous": self._synchronous}

    def settings(self) -> dict[str, str]:
        with self._as_client() as connection:
            return {
                "auditor: sqlite_version": str(connection.execute("SELECT sqlite_version()").fetchone()[0]),
                "synchronous": _SYNCHRONOUS[int(_pragma(connection, "synchronous"))],
                **{name: _pragma(connection, name) for name in _SETTINGS_READ_BACK},
                "data_file_system": file_system(self.path.parent),
            }

    def durability(self) -> Durability:
        settings = self.settings()
        if settings["data_file_system"] in MEMORY_FILE_SYSTEMS:
            return Durability("none")
        return Durability(_PROMISED.get((settings["journal_mode"], settings["synchronous"]), "none"))

    def committed_operations(self) -> None:
        """Nothing counts commits in WAL mode: the frames of the log are reused after each checkpoint, and the
        file's change counter need not move. The audit holds the state against the work."""

    def _read_table(self, name: str, table: StateTable) -> pl.DataFrame:
        with _stack_errors(f"read {name}"):
            return self._tables.read(self._running, name, table)

    def log_bytes(self) -> int:
        """Size of the log and of the database that checkpoints copy it to: still once no engine writes."""
        files = (self.path, self.path.with_name(f"{self.path.name}-wal"))
        return sum(map(size_unless_gone, files))

    def server(self) -> Server:
        return self.locate(self.context.choice)

    # --- inside -------------------------------------------------------------------------------
    @property
    def _running(self) -> sqlite3.Connection:
        """Open as long as the stack runs, unless its disk may go away: the last connection to close would
        delete the log."""
        if not self._journal_mode:
            raise StackError("sqlite: not started")
        if self._auditor is None:
            self._auditor = self._connect()
        return self._auditor

    def _connect(self, *, create: bool = False) -> sqlite3.Connection:
        return sqlite3.connect(
            f"{self.path.as_uri()}?mode={'rwc' if create else 'rw'}",
            uri=True,
            timeout=_BUSY_TIMEOUT_S,
            isolation_level=None,
            check_same_thread=False,
        )

    @contextlib.contextmanager
    def _as_client(self) -> Iterator[sqlite3.Connection]:
        """A fresh connection with what every engine sets when it opens the endpoint."""
        with _stack_errors("read settings back"), contextlib.closing(self._connect()) as connection:
            connection.execute(f"PRAGMA synchronous = {self._synchronous}")
            yield connection

    def _close(self) -> None:
        if self._auditor is not None:
            self._auditor.close()
            self._auditor = None


def _loaded_library() -> Path:
    """The shared library of SQLite that Python loaded, or Python's own extension where it is built in."""
    for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines():
        path = line.rpartition(" ")[2]
        if Path(path).name.startswith("libsqlite3"):
            return Path(path)
    return Path(_sqlite3.__file__)


def _pragma(connection: sqlite3.Connection, name: str) -> str:
    return str(connection.execute(f"PRAGMA {name}").fetchone()[0])


@contextlib.contextmanager
def _stack_errors(verb: str) -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise StackError(f"sqlite: {verb}: {error}") from error
