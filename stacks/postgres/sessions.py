"""Sessions on a Postgres server, ours or one that the reader named, and its errors in one line."""

from __future__ import annotations

import contextlib
import ipaddress
import time
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

import psycopg
from psycopg import sql
from psycopg.abc import RV, PQGen

from gapbook.deploy.endpoint import Endpoint
from gapbook.deploy.environment import without_variables
from gapbook.errors import StackError

__all__ = [
    "LIBPQ",
    "SETTINGS_READ_BACK",
    "as_client",
    "foreign_sessions",
    "log_in",
    "log_in_to_named",
    "show",
    "stack_errors",
    "without_password",
]

LIBPQ = "PG"
"""How the variables begin with which libpq, and so a session of ours, could be told other settings than those that the
server has: a client that does not read them would be taken for one that does."""
SETTINGS_READ_BACK = (
    "server_version",
    "default_transaction_isolation",
    "fsync",
    "synchronous_commit",
    "full_page_writes",
    "wal_writer_delay",
    "wal_sync_method",
    "autovacuum",
)
"""What the record tells of every server, besides the settings that stack.toml declares."""
_OLDEST_NAMED_SERVER = 130000  # DROP DATABASE ... WITH (FORCE)
_LOG_IN_WITHIN_S = 10
_ANSWER_WITHIN_S = 120.0


class _Bounded(psycopg.Connection[Any]):
    """A session whose server must answer: one that was stopped holds its sessions open, and would be waited for
    as long as it is. Without an answer in time the session is over."""

    def wait(self, gen: PQGen[RV], interval: float = 0.1, timeout: float | None = None) -> RV:
        within_s = _ANSWER_WITHIN_S if timeout is None else timeout
        started = time.monotonic()
        try:
            return super().wait(gen, interval, within_s)
        except psycopg.OperationalError as error:
            if timeout is not None or time.monotonic() - started < within_s:
                raise
            self.close()
            raise psycopg.OperationalError(f"no answer within {within_s:g} s") from error


def log_in(conninfo: str, wait_s: float = 0.0) -> psycopg.Connection[Any]:
    """A session; raises StackError when there is none after ``wait_s``."""
    deadline = time.monotonic() + wait_s
    while True:
        try:
            with without_variables(LIBPQ):
                return _Bounded.connect(conninfo, autocommit=True, connect_timeout=_LOG_IN_WITHIN_S)
        except psycopg.OperationalError as error:
            if time.monotonic() >= deadline:
                reason = str(error).strip().partition("\n")[0]
                raise StackError(
                    f"postgres: cannot log in to {without_password(conninfo)}: {reason}"
                ) from error
            time.sleep(0.05)


def log_in_to_named(endpoint: str, *, elsewhere: bool) -> psycopg.Connection[Any]:
    """Log in to a server that the reader named, on this machine unless it is meant to be ``elsewhere``; raises
    StackError, before anything is changed there, when it is not or the role may not do what a run does."""
    connection = log_in(endpoint)
    try:
        with stack_errors("read rights"):
            problem = _why_unusable(connection, elsewhere=elsewhere)
    except BaseException:
        connection.close()
        raise
    if problem is None:
        return connection
    connection.close()
    raise StackError(f"postgres: {without_password(endpoint)}: {problem}; nothing was changed there")


def _why_unusable(connection: psycopg.Connection[Any], *, elsewhere: bool) -> str | None:
    info = connection.info
    # Empty for a socket of the file system, which load clients do not speak.
    if not (info.hostaddr and (elsewhere or ipaddress.ip_address(info.hostaddr).is_loopback)):
        return "load goes to this machine only; name it as postgresql://USER:PASSWORD@127.0.0.1:PORT/DATABASE"
    if info.server_version < _OLDEST_NAMED_SERVER:
        return f"is version {info.server_version // 10000}; 13 or later is needed"
    if show(connection, "transaction_read_only") == "on":
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


@contextlib.contextmanager
def as_client(
    address: Endpoint, environment: Mapping[str, str] | None = None
) -> Iterator[psycopg.Connection[Any]]:
    """A session as a client of the load has it, so that role settings are read back too; ``environment`` is what a
    client could read for itself."""
    with without_variables(LIBPQ, environment):
        session = _Bounded.connect(
            host=address["host"],
            port=address["port"],
            user=address["user"],
            password=address["password"],
            dbname=address["database"],
            autocommit=True,
            connect_timeout=_LOG_IN_WITHIN_S,
        )
    with session:
        yield session


def foreign_sessions(connection: psycopg.Connection[Any]) -> int:
    """How many others are logged in to the database."""
    row = connection.execute(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
        "AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
    ).fetchone()
    return int(row[0]) if row else 0


def without_password(url: str) -> str:
    """The address of a server, fit to be printed."""
    parts = urlsplit(url)
    if not parts.hostname:
        return "the server"
    return f"{parts.scheme}://{parts.hostname}:{parts.port or 5432}{parts.path}"


def show(connection: psycopg.Connection[Any], name: str) -> str:
    """A setting as this session has it."""
    row = connection.execute(sql.SQL("SHOW {}").format(sql.Identifier(name))).fetchone()
    return str(row[0]) if row else ""


@contextlib.contextmanager
def stack_errors(verb: str) -> Iterator[None]:
    """What the server refuses, as a StackError that says in which verb."""
    try:
        yield
    except psycopg.Error as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise StackError(f"postgres: {verb}: {reason}") from error
