"""Postgres through psycopg: binary, every statement prepared once for each connection."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any, LiteralString

import psycopg
from psycopg import pq, sql
from psycopg.types.numeric import Int4, Int8

from gap_python.answer import ACKNOWLEDGED, INSUFFICIENT, Answer, Connection, ConnectionLostError
from gap_python.config import PostgresEndpoint
from gap_python.failure import EXIT_ENDPOINT, EXIT_INTEGRITY, ClientError, message_of
from gap_python.work import Transfer

_CONNECT_TIMEOUT_S = 10
_REFUSED_FOR_NOW = frozenset(["40001", "40P01"])
_ENDS_SESSION = frozenset(["FATAL", "PANIC"])
_BINARY = 1
_PREPARED = b"transfer"
_INT4_OID = 23
_STATUSES = {b"\0\0\0\1": ACKNOWLEDGED, b"\0\0\0\0": INSUFFICIENT}


def create_connection(endpoint: PostgresEndpoint, in_flight: int) -> Connection:
    """A connection for the endpoint's mode; a pipeline only where more than one request may be out."""
    if endpoint.mode == "sql":
        return StatementsConnection(endpoint)
    return ProcedureConnection(endpoint) if in_flight == 1 else PipelineConnection(endpoint)


class _PostgresConnection:
    """Logs in; what is called when and how, the classes below say."""

    _connection: psycopg.AsyncConnection[Any]
    _cursor: psycopg.AsyncCursor[Any]

    def __init__(self, endpoint: PostgresEndpoint) -> None:
        self._endpoint = endpoint

    async def open(self) -> None:
        endpoint = self._endpoint
        try:
            self._connection = await psycopg.AsyncConnection.connect(
                host=endpoint.host,
                port=endpoint.port,
                user=endpoint.user,
                password=endpoint.password,
                dbname=endpoint.database,
                autocommit=True,
                connect_timeout=_CONNECT_TIMEOUT_S,
            )
            self._cursor = self._connection.cursor(binary=True)
            await self._check()
        except psycopg.Error as error:
            where = f"{endpoint.host}:{endpoint.port}"
            raise ClientError(EXIT_ENDPOINT, f"postgres at {where}: {message_of(error)}") from error

    async def _check(self) -> None:
        """Raises psycopg.Error when the database cannot serve the transfers of this connection."""
        await self._connection.execute(
            "SELECT %s::regprocedure", (f"{self._endpoint.function}(int4, int4, int4)",), prepare=False
        )

    def _judge(self, error: psycopg.Error) -> Answer:
        """The server's refusal; raises ConnectionLostError when it answers nothing more."""
        if error.sqlstate is None or error.diag.severity_nonlocalized in _ENDS_SESSION:
            raise ConnectionLostError(message_of(error)) from error
        return _refusal(error.sqlstate, message_of(error))

    async def _execute(
        self, statement: LiteralString | sql.Composed, parameters: tuple[Any, ...] = ()
    ) -> None:
        await self._cursor.execute(statement, parameters, prepare=True)

    def agreed(self) -> dict[str, str]:
        return {}

    def close(self) -> None:
        # Not AsyncConnection.close, which would wait for the answers that are out.
        if hasattr(self, "_connection"):
            self._connection.pgconn.finish()


class ProcedureConnection(_PostgresConnection):
    """One call of a function is one transaction and one round trip."""

    def __init__(self, endpoint: PostgresEndpoint) -> None:
        super().__init__(endpoint)
        self._call = sql.SQL("SELECT {}(%s, %s, %s)").format(sql.Identifier(endpoint.function))

    async def call(self, index: int, transfer: Transfer) -> Answer:
        del index
        source, destination, amount = transfer
        try:
            await self._execute(self._call, (Int4(source), Int4(destination), Int4(amount)))
            row = await self._cursor.fetchone()
        except psycopg.Error as error:
            return self._judge(error)
        if row == (1,):
            return ACKNOWLEDGED
        return INSUFFICIENT if row == (0,) else Answer("error", f"{self._endpoint.function} returned {row}")


class StatementsConnection(_PostgresConnection):
    """BEGIN, SELECT ... FOR UPDATE, two UPDATEs, COMMIT: five round trips."""

    async def _check(self) -> None:
        await self._connection.execute("SELECT id, balance FROM accounts LIMIT 0", prepare=False)

    async def call(self, index: int, transfer: Transfer) -> Answer:
        del index
        try:
            try:
                await self._execute("BEGIN")
                answer = await self._within(transfer)
                await self._execute("COMMIT" if answer.verdict != "error" else "ROLLBACK")
            except psycopg.Error as error:
                answer = self._judge(error)
                # A refused COMMIT has ended the transaction already.
                if self._connection.pgconn.transaction_status != pq.TransactionStatus.IDLE:
                    await self._execute("ROLLBACK")
        except psycopg.Error as error:
            raise ConnectionLostError(message_of(error)) from error
        return answer

    async def _within(self, transfer: Transfer) -> Answer:
        source, destination, amount = transfer
        await self._execute(
            "SELECT id, balance FROM accounts WHERE id IN (%s, %s) ORDER BY id FOR UPDATE",
            (Int4(source), Int4(destination)),
        )
        balances = dict(await self._cursor.fetchall())
        for account in (source, destination):
            if account not in balances:
                return Answer("error", f"account {account} does not exist")
        if balances[source] < amount:
            return INSUFFICIENT
        update: LiteralString = "UPDATE accounts SET balance = %s WHERE id = %s"
        await self._execute(update, (Int8(balances[source] - amount), Int4(source)))
        await self._execute(update, (Int8(balances[destination] + amount), Int4(destination)))
        return ACKNOWLEDGED


class PipelineConnection(_PostgresConnection):
    """Several calls out at a time, in libpq's pipeline mode: one Sync for each, so each is its own transaction.

    psycopg's own pipeline waits for all answers at every Sync, so this reads libpq's results itself.
    """

    def __init__(self, endpoint: PostgresEndpoint) -> None:
        super().__init__(endpoint)
        self._pending: deque[asyncio.Future[Answer]] = deque()
        self._answer: Answer | None = None
        self._writing = False
        self._lost: BaseException | None = None

    async def open(self) -> None:
        await super().open()
        self._loop = asyncio.get_running_loop()
        self._socket = self._connection.pgconn.socket
        self._connection.pgconn.nonblocking = 1
        self._connection.pgconn.enter_pipeline_mode()
        self._loop.add_reader(self._socket, self._read)

    async def _check(self) -> None:
        await super()._check()
        query = f"SELECT {self._endpoint.function}($1, $2, $3)".encode()
        prepared = self._connection.pgconn.prepare(_PREPARED, query, [_INT4_OID] * 3)
        if prepared.status != pq.ExecStatus.COMMAND_OK:
            raise psycopg.ProgrammingError(prepared.get_error_message())

    async def call(self, index: int, transfer: Transfer) -> Answer:
        del index
        if self._lost is not None:
            raise self._lost
        answered: asyncio.Future[Answer] = self._loop.create_future()
        try:
            pgconn = self._connection.pgconn
            pgconn.send_query_prepared(
                _PREPARED,
                [number.to_bytes(4, "big") for number in transfer],
                param_formats=[_BINARY] * 3,
                result_format=_BINARY,
            )
            pgconn.pipeline_sync()
            self._pending.append(answered)
            self._write()
        except psycopg.Error as error:
            raise ConnectionLostError(message_of(error)) from error
        return await answered

    def agreed(self) -> dict[str, str]:
        return {}

    def close(self) -> None:
        if hasattr(self, "_socket"):
            self._loop.remove_reader(self._socket)
            self._loop.remove_writer(self._socket)
        super().close()

    def _write(self) -> None:
        """Hand libpq's buffer to the socket, and the rest when there is room again."""
        unsent = self._connection.pgconn.flush() != 0
        if unsent and not self._writing:
            self._loop.add_writer(self._socket, self._write_again)
        elif self._writing and not unsent:
            self._loop.remove_writer(self._socket)
        self._writing = unsent

    def _write_again(self) -> None:
        try:
            self._write()
        except psycopg.Error as error:
            self._break(ConnectionLostError(message_of(error)))

    def _read(self) -> None:
        pgconn = self._connection.pgconn
        try:
            pgconn.consume_input()
            while self._pending and not pgconn.is_busy():
                result = pgconn.get_result()
                if result is not None:
                    self._take(result)
        except psycopg.Error as error:
            self._break(ConnectionLostError(message_of(error)))
        except ClientError as error:
            self._break(error)

    def _take(self, result: pq.abc.PGresult) -> None:
        """A call is answered by one result and its Sync by another, which says that it is committed."""
        if result.status == pq.ExecStatus.PIPELINE_SYNC:
            answer, self._answer = self._answer, None
            if answer is None:
                raise ClientError(EXIT_INTEGRITY, "postgres: a Sync was answered without the call before it")
            answered = self._pending.popleft()
            if not answered.done():
                answered.set_result(answer)
        elif result.status == pq.ExecStatus.TUPLES_OK:
            value = result.get_value(0, 0)
            self._answer = _STATUSES.get(
                value or b"", Answer("error", f"{self._endpoint.function} returned {value!r}")
            )
        else:
            sqlstate = result.error_field(pq.DiagnosticField.SQLSTATE)
            severity = result.error_field(pq.DiagnosticField.SEVERITY_NONLOCALIZED) or b""
            if sqlstate is None or severity.decode() in _ENDS_SESSION:
                raise psycopg.OperationalError(result.get_error_message())
            # A Sync that fails refuses what its call had answered: a commit may still be serialized away.
            self._answer = _refusal(sqlstate.decode(), result.get_error_message().partition("\n")[0])

    def _break(self, error: BaseException) -> None:
        self._lost = error
        self._loop.remove_reader(self._socket)
        self._loop.remove_writer(self._socket)
        for answered in self._pending:
            if not answered.done():
                answered.set_exception(error)


def _refusal(sqlstate: str, text: str) -> Answer:
    return Answer("error", f"{sqlstate}: {text}", refused_for_now=sqlstate in _REFUSED_FOR_NOW)
