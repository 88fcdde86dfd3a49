"""A connection that has several requests out."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping

import psycopg
from psycopg import pq

from gap_python.answer import Answer, ConnectionLostError
from gap_python.failure import EXIT_INTEGRITY, ClientError, message_of
from gap_python.protocols.postgres.connection import ENDS_SESSION, Endpoint, FunctionsConnection, refusal_of
from gap_python.protocols.postgres.function import Function
from gap_python.workload import Operation

_BINARY = 1
_INT4_BYTES = 4


class PipelineConnection(FunctionsConnection):
    """Several calls out at a time, in libpq's pipeline mode: one Sync for each, so each is its own transaction.

    psycopg's own pipeline waits for all answers at every Sync, so this reads libpq's results itself.
    """

    def __init__(self, endpoint: Endpoint, functions: Mapping[str, Function]) -> None:
        super().__init__(endpoint, functions)
        self._pending: deque[tuple[Function, asyncio.Future[Answer]]] = deque()
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
        for kind, function in self._functions.items():
            oids = [each.oid for each in function.types]
            prepared = self._connection.pgconn.prepare(kind.encode(), function.statement, oids)
            if prepared.status != pq.ExecStatus.COMMAND_OK:
                raise psycopg.ProgrammingError(prepared.get_error_message())

    async def call(self, index: int, operation: Operation) -> Answer:
        del index
        if self._lost is not None:
            raise self._lost
        function = self._functions[operation.kind]
        answered: asyncio.Future[Answer] = self._loop.create_future()
        try:
            pgconn = self._connection.pgconn
            pgconn.send_query_prepared(
                operation.kind.encode(),
                function.binary(operation.fields),
                param_formats=[_BINARY] * len(operation.fields),
                result_format=_BINARY,
            )
            pgconn.pipeline_sync()
            self._pending.append((function, answered))
            self._write()
        except psycopg.Error as error:
            raise ConnectionLostError(message_of(error)) from error
        return await answered

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
            _, answered = self._pending.popleft()
            if not answered.done():
                answered.set_result(answer)
        elif result.status == pq.ExecStatus.TUPLES_OK:
            function, _ = self._pending[0]
            value = result.get_value(0, 0)
            status: object = value
            if value is not None and len(value) == _INT4_BYTES:
                status = int.from_bytes(value, "big", signed=True)
            self._answer = function.answer(status)
        else:
            sqlstate = result.error_field(pq.DiagnosticField.SQLSTATE)
            severity = result.error_field(pq.DiagnosticField.SEVERITY_NONLOCALIZED) or b""
            if sqlstate is None or severity.decode() in ENDS_SESSION:
                raise psycopg.OperationalError(result.get_error_message())
            # A Sync that fails refuses what its call had answered: a commit may still be serialized away.
            self._answer = refusal_of(sqlstate.decode(), result.get_error_message().partition("\n")[0])

    def _break(self, error: BaseException) -> None:
        self._lost = error
        self._loop.remove_reader(self._socket)
        self._loop.remove_writer(self._socket)
        for _, answered in self._pending:
            if not answered.done():
                answered.set_exception(error)
