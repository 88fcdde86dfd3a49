"""SQLite databases that a replicator copies to object storage while they are written.

The databases are those of the SQLite stack, with its schema, settings and promises; a trial begins once a first
copy could be restored, and ends with a restore of every database, held against it row by row. What the module's
access level says under ``replication`` is what the trial tests besides the load:

- ``processes``: ``one`` for all databases, or ``each`` its own
- ``ballast_mb``: what a database holds before the trial; it is then restored several times, to be timed
- ``round_trip_ms``: added between the replicator and its storage
- ``strike``: ``restart`` kills the replicator for the middle third of the window, ``outage`` the storage's server
- ``patience_s``: how long after the last write a replicator may take until every row can be restored; a minute
  where nothing is said
- ``checkpoint``: whether a checkpoint is timed, with commits before and after it
"""

from __future__ import annotations

import contextlib
import secrets
import shutil
import sqlite3
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from gapbook.declared.reading import required
from gapbook.deploy import ballast, stack
from gapbook.deploy.backend import Running
from gapbook.deploy.bucket import Bucket, bucket_server, install_bucket_server
from gapbook.deploy.endpoint import Endpoint
from gapbook.deploy.installed import cargo_install, installed_binary
from gapbook.deploy.replication import Command, Commands, Replication
from gapbook.deploy.server import Server, ServerChoice
from gapbook.errors import SetupError, StackError
from gapbook.model.declaration import StateTable
from gapbook.model.event import Event
from gapbook.model.workload import Workload
from gapbook.record.durability import Durability

__all__ = ["CrateReplicator", "ReplicatedStack"]

_ENGINE = "sqlite"


class ReplicatedStack(stack.Stack):
    """See :class:`gapbook.deploy.stack.Stack`; a system says how its replicator is started and how it restores."""

    counts_commits = False

    def __init__(self, context: stack.StackContext) -> None:
        super().__init__(context)
        self._engines: list[Any] = []
        self._ahead: stack.Ahead | None = None
        self._replication: Replication | None = None
        self._folder = self.deployment.directory / f"{self.name}-{secrets.token_hex(4)}"

    # --- what a replicator says of itself -----------------------------------------------------
    @abstractmethod
    def watch_command(self, databases: Sequence[Path], bucket: Bucket, folder: Path) -> Command:
        """The command that replicates these databases; ``folder`` is its own, for a configuration."""

    @abstractmethod
    def restore_command(self, database: Path, output: Path, bucket: Bucket, folder: Path) -> Command:
        """The command that restores the latest copy of a database; ``folder`` is for a configuration."""

    def says_all_synced(self, database: Path, bucket: Bucket) -> bool | None:
        """Whether the replicator itself says that it has stored all that its database has; None where it says
        nothing that could be read."""
        del database, bucket
        return None

    # --- before a run -------------------------------------------------------------------------
    @classmethod
    def _chosen_binary(cls, choice: ServerChoice, installed: Path) -> Path:
        """The binary that was named, or the installed one; raises SetupError for a URL, and where there is none."""
        if choice.endpoint:
            raise SetupError(f"{cls.name}: it copies databases of this machine; name a binary, not a URL")
        binary = choice.binary or installed
        if not binary.is_file():
            wanted = cls.name if choice.version is None else f"{cls.name} {choice.version}"
            raise SetupError(f"{wanted}: {binary} is missing; run: {cls.native().install_hint}")
        return binary

    # --- life ---------------------------------------------------------------------------------
    def start(self) -> None:
        if self._engines:
            return
        self.server()
        bucket_server()
        self._open(1)

    def stop(self) -> None:
        self._end()
        self._close()

    def _open(self, databases: int) -> None:
        """Fresh database files, each of an engine of its own."""
        self._close()
        context = replace(self.context, choice=ServerChoice(), settings={})
        for number in range(databases):
            engine: Any = stack.stack_class(_ENGINE)(context)
            # A name that is the database's alone, for a bucket tells databases apart by it.
            engine.path = engine.path.with_name(f"shop-{number:03d}.db")
            engine.start()
            self._engines.append(engine)

    def _close(self) -> None:
        for engine in self._engines:
            engine.stop()
        self._engines.clear()

    @property
    def _first(self) -> Any:
        if not self._engines:
            raise StackError(f"{self.name}: not started")
        return self._engines[0]

    @property
    def _databases(self) -> list[Path]:
        return [engine.path for engine in self._engines]

    def processes(self) -> Sequence[Running]:
        replication = self._replication
        return [replication.replicators] if replication and len(replication.replicators) else []

    def beside(self) -> Sequence[Running]:
        return [self._replication.bucket] if self._replication else []

    # --- a trial ------------------------------------------------------------------------------
    def prepare(self, ahead: stack.Ahead) -> None:
        self._ahead = ahead

    def _reset(self, workload: Workload) -> None:
        """Databases without a replicator, unless a trial is ahead."""
        ahead, self._ahead = self._ahead, None
        self._end()
        self._open(ahead.databases if ahead else 1)
        for engine in self._engines:
            engine.seed(workload)
        if ahead is not None:
            self._replicate(ahead, workload)

    def _replicate(self, ahead: stack.Ahead, workload: Workload) -> None:
        megabytes = ahead.access.replication.ballast_mb or 0
        with self._database_errors("fill them"):
            for database in self._databases:
                ballast.fill(database, int(1e6 * megabytes))
        tables = {name: table.key for name, table in workload.declaration.state.items()}
        commands = Commands(
            lambda databases, place, bucket: self.watch_command(databases, bucket, self._own(str(place))),
            lambda database, output, bucket: self.restore_command(
                database, output, bucket, self._own("restore")
            ),
            self.says_all_synced,
        )
        self._replication = Replication(
            self.deployment, self.name, self._databases, commands, {**tables, **ballast.KEYS}, ahead
        )
        with self._database_errors("copy them before the first write"):
            self._replication.begin()

    def _own(self, name: str) -> Path:
        """A folder for the configuration of one process."""
        folder = self._folder / name
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def on_event(self, event: Event) -> None:
        if self._replication is not None:
            self._replication.on_event(event)

    def observe(self) -> stack.Observation:
        replication = self._replication
        if replication is None:
            return stack.Observation()
        try:
            with self._database_errors("hold their copies against them"):
                observed = replication.observe()
                if replication.wanted.checkpoint:
                    synchronous = str(self._first.settings()["synchronous"])
                    checkpoint = ballast.checkpoint_metrics(self._databases[0], synchronous)
                    observed = replace(observed, metrics={**observed.metrics, **checkpoint})
            return observed
        finally:
            self._end()

    @contextlib.contextmanager
    def _database_errors(self, verb: str) -> Iterator[None]:
        """What SQLite refuses, as a StackError in one line: a trial is refused, and the run goes on."""
        try:
            yield
        except sqlite3.Error as error:
            raise StackError(f"{self.name}: its databases: {verb}: {error}") from error

    def _end(self) -> None:
        """End what a trial has started."""
        if self._replication is not None:
            self._replication.end()
            self._replication = None
        shutil.rmtree(self._folder, ignore_errors=True)

    # --- the databases themselves ---------------------------------------------------------------
    def endpoint(self) -> Endpoint:
        told: Endpoint = self._first.endpoint()
        others = [str(path) for path in self._databases[1:]]
        return {**told, "others": others} if others else told

    def settings(self) -> dict[str, str]:
        storage = bucket_server()
        return {**self._first.settings(), "S3 server": f"versitygw {storage.version}, {storage.sha256[:12]}"}

    def durability(self) -> Durability:
        proven: Durability = self._first.durability()
        return proven

    def committed_operations(self) -> None:
        """SQLite counts no commits."""

    def _read_table(self, name: str, table: StateTable) -> pl.DataFrame:
        """The rows of all databases; of rows that every database has, such as counters, the sums."""
        together: pl.DataFrame = pl.concat([engine._read_table(name, table) for engine in self._engines])
        values = [column for column in table.columns if column not in table.key]
        if any(table.columns[column] != "integer" for column in values):
            return together
        return together.group_by(list(table.key)).agg(pl.col(values).sum()).select(together.columns)

    def log_bytes(self) -> int:
        return sum(int(engine.log_bytes()) for engine in self._engines)

    def server(self) -> Server:
        return self._located

    @cached_property
    def _located(self) -> Server:
        """Found once: to ask and to hash a program takes longer than a small restore."""
        return self.locate(self.context.choice)


class CrateReplicator(ReplicatedStack):
    """A replicator that is compiled from its crate, of the version that stack.toml has in ``native``."""

    @classmethod
    def install(cls) -> None:
        install_bucket_server()
        native = cls.native()
        where = f"stacks/{cls.name}/stack.toml: native"
        cargo_install(
            required(native.crate, f"{where}.crate"),
            required(native.version, f"{where}.version"),
            expected_s=required(native.expected_install_s, f"{where}.expected_install_s"),
        )

    @classmethod
    def _compiled(cls) -> Path:
        """Where its program is, or would be."""
        native = cls.native()
        where = f"stacks/{cls.name}/stack.toml: native"
        return installed_binary(
            required(native.crate, f"{where}.crate"), required(native.version, f"{where}.version")
        )
