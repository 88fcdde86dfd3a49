"""Connections that have one request out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, LiteralString

import psycopg
from psycopg import pq, sql
from psycopg.types.numeric import Int4, Int8

from gap_python.answer import ACKNOWLEDGED, ERROR, Answer, ConnectionLostError, error_answer
from gap_python.decode import Decoded
from gap_python.failure import EXIT_ENDPOINT, ClientError, message_of
from gap_python.protocols.postgres.function import Function
from gap_python.workload import Operation
from gap_python.workloads.transfer import INSUFFICIENT, transfer_of

_CONNECT_TIMEOUT_S = 10
_REFUSED_FOR_NOW = frozenset(["40001", "40P01"])
ENDS_SESSION = frozenset(["FATAL", "PANIC"])


class Endpoint(Decoded):
    host: str
    port: int
    user: str
    password: str
    database: str
    mode: str = "procedure"
    function: str | None = None
    functions: dict[str, str] | None = None


class _PostgresConnection(ABC):
    """Logs in; what is called when and how, the classes below say."""

    _connection: psycopg.AsyncConnection[Any]
    _cursor: psycopg.AsyncCursor[Any]

    def __init__(self, endpoint: Endpoint) -> None:
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

    @abstractmethod
    async def _check(self) -> None:
        """Raises psycopg.Error when the database cannot serve the operations of this connection."""

    def _judge(self, error: psycopg.Error) -> Answer:
        """The server's refusal; raises ConnectionLostError when it answers nothing more."""
        if error.sqlstate is None or error.diag.severity_nonlocalized in ENDS_SESSION:
            raise ConnectionLostError(message_of(error)) from error
        return refusal_of(error.sqlstate, message_of(error))

    async def _execute(self, statement: LiteralString | sql.Composed, parameters: Sequence[Any] = ()) -> None:
        await self._cursor.execute(statement, parameters, prepare=True)

    def agreed(self) -> dict[str, str]:
        return {}

    def close(self) -> None:
        # Not AsyncConnection.close, which would wait for the answers that are out.
        if hasattr(self, "_connection"):
            self._connection.pgconn.finish()


class FunctionsConnection(_PostgresConnection):
    """Calls a function for each kind of operation."""

    def __init__(self, endpoint: Endpoint, functions: Mapping[str, Function]) -> None:
        super().__init__(endpoint)
        self._functions = functions

    async def _check(self) -> None:
        for function in self._functions.values():
            await self._connection.execute("SELECT %s::regprocedure", (function.signature,), prepare=False)


class ProcedureConnection(FunctionsConnection):
    """One call of a function is one transaction and one round trip."""

    async def call(self, index: int, operation: Operation) -> Answer:
        del index
        function = self._functions[operation.kind]
        try:
            await self._execute(function.call, function.parameters(operation.fields))
            row = await self._cursor.fetchone()
        except psycopg.Error as error:
            return self._judge(error)
        return function.answer(row and row[0])


class StatementsConnection(_PostgresConnection):
    """BEGIN, SELECT ... FOR UPDATE, two UPDATEs, COMMIT: five round trips."""

    async def _check(self) -> None:
        await self._connection.execute("SELECT id, balance FROM accounts LIMIT 0", prepare=False)

    async def call(self, index: int, operation: Operation) -> Answer:
        del index
        try:
            try:
                await self._execute("BEGIN")
                answer = await self._within(operation)
                await self._execute("COMMIT" if answer.refusal != ERROR else "ROLLBACK")
            except psycopg.Error as error:
                answer = self._judge(error)
                # A refused COMMIT has ended the transaction already.
                if self._connection.pgconn.transaction_status != pq.TransactionStatus.IDLE:
                    await self._execute("ROLLBACK")
        except psycopg.Error as error:
            raise ConnectionLostError(message_of(error)) from error
        return answer

    async def _within(self, operation: Operation) -> Answer:
        source, destination, amount = transfer_of(operation)
        await self._execute(
            "SELECT id, balance FROM accounts WHERE id IN (%s, %s) ORDER BY id FOR UPDATE",
            (Int4(source), Int4(destination)),
        )
        balances = dict(await self._cursor.fetchall())
        for account in (source, destination):
            if account not in balances:
                return error_answer(f"account {account} does not exist")
        if balances[source] < amount:
            return Answer(INSUFFICIENT)
        update: LiteralString = "UPDATE accounts SET balance = %s WHERE id = %s"
        await self._execute(update, (Int8(balances[source] - amount), Int4(source)))
        await self._execute(update, (Int8(balances[destination] + amount), Int4(destination)))
        return ACKNOWLEDGED


def refusal_of(sqlstate: str, text: str) -> Answer:
    return Answer(ERROR, f"{sqlstate}: {text}", refused_for_now=sqlstate in _REFUSED_FOR_NOW)
