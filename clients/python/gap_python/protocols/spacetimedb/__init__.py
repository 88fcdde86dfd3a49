"""SpacetimeDB's WebSocket in the newest version of its protocol that both sides speak.

The server runs a connection's calls one after the other, so answers come in the order of the calls; the request id
of an answer is checked wherever the server gives one.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

import websockets
from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Subprotocol

from gap_python.answer import ERROR, Answer, Connection, ConnectionLostError
from gap_python.decode import Decoded, decode
from gap_python.failure import EXIT_ENDPOINT, ClientError, message_of
from gap_python.protocols import Demand, names_by_kind
from gap_python.protocols.spacetimedb.messages import AmountType, Calls, broken, read
from gap_python.workload import Operation

_SUBPROTOCOLS = {version: Subprotocol(f"{version}.bsatn.spacetimedb") for version in ("v3", "v2", "v1")}
_HANDSHAKE_TIMEOUT_S = 10.0
_UNKNOWN_REDUCER = "no such reducer"
_REQUEST_IDS = 2**32 - 1
_PAYLOAD_BYTES_MAX = 65_535


class _Endpoint(Decoded):
    host: str
    port: int
    database: str
    token: str
    newest: Literal["v1", "v2", "v3"] = "v3"
    """The newest version of the protocol that is offered."""
    coalesce: bool = True
    confirmed: bool = False
    reducer: str | None = None
    reducers: dict[str, str] | None = None
    amount: AmountType = "u32"


def connector(endpoint: Mapping[str, Any], demand: Demand) -> Callable[[], Connection]:
    """See :func:`gap_python.protocols.connector`."""
    at = decode(endpoint, _Endpoint, "endpoint")
    reducers = names_by_kind(demand, ("reducer", at.reducer), ("reducers", at.reducers))
    return lambda: SpacetimeDbConnection(at, reducers, demand)


class SpacetimeDbConnection:
    """Any number of calls out at a time."""

    def __init__(self, endpoint: _Endpoint, reducers: Mapping[str, str], demand: Demand) -> None:
        self._endpoint = endpoint
        self._reducers = reducers
        self._demand = demand
        self._pending: deque[tuple[int, asyncio.Future[Answer]]] = deque()
        self._lost: BaseException | None = None
        self._unsent: list[bytes] = []
        self._sender: asyncio.Task[None] | None = None

    async def open(self) -> None:
        endpoint = self._endpoint
        where = f"spacetimedb at {endpoint.host}:{endpoint.port}, database {endpoint.database!r}"
        host = f"[{endpoint.host}]" if ":" in endpoint.host else endpoint.host
        offered = {name: version for version, name in _SUBPROTOCOLS.items() if version <= endpoint.newest}
        try:
            async with asyncio.timeout(_HANDSHAKE_TIMEOUT_S):
                self._socket: ClientConnection = await connect(
                    f"ws://{host}:{endpoint.port}/v1/database/{endpoint.database}/subscribe"
                    f"?compression=None&confirmed={str(endpoint.confirmed).lower()}",
                    subprotocols=list(offered),
                    additional_headers={"Authorization": f"Bearer {endpoint.token}"},
                    compression=None,
                    ping_interval=None,
                    max_size=None,
                    proxy=None,
                )
                picked = self._socket.subprotocol
                if picked not in offered:
                    raise ClientError(
                        EXIT_ENDPOINT, f"{where}: it picked no subprotocol; offered: {', '.join(offered)}"
                    )
                self._version = offered[picked]
                self._calls = {
                    kind: Calls(self._version, reducer, self._demand.kinds[kind], endpoint.amount)
                    for kind, reducer in self._reducers.items()
                }
                for kind in self._calls:
                    await self._check_reducer(kind, where)
        except (OSError, TimeoutError, websockets.WebSocketException) as error:
            raise ClientError(EXIT_ENDPOINT, f"{where}: {message_of(error)}") from error
        self._coalesce = endpoint.coalesce and self._version == "v3"
        self._loop = asyncio.get_running_loop()
        self._reader = asyncio.create_task(self._read())

    def agreed(self) -> dict[str, str]:
        """What the open connection agreed on with the server."""
        return {
            "protocol": self._version,
            "calls in a payload": "all that are ready" if self._coalesce else "one",
            "confirmed": str(self._endpoint.confirmed).lower(),
        }

    async def _check_reducer(self, kind: str, where: str) -> None:
        await self._socket.send(self._calls[kind].encode_probe())
        while not (answers := list(self._answers(await self._socket.recv()))):
            pass
        _, answer = answers[0]
        if answer.refusal != ERROR or _UNKNOWN_REDUCER in answer.text:
            parameters = ", ".join(self._demand.kinds[kind])
            raise ClientError(
                EXIT_ENDPOINT,
                f"{where}: no reducer {self._reducers[kind]}({parameters}); publish the module",
            )

    def _answers(self, payload: str | bytes) -> Iterator[tuple[int, Answer]]:
        return read(self._version, payload, self._demand.refusals)

    async def call(self, index: int, operation: Operation) -> Answer:
        if self._lost is not None:
            raise self._lost
        request_id = index % _REQUEST_IDS + 1
        answered: asyncio.Future[Answer] = self._loop.create_future()
        self._pending.append((request_id, answered))
        call = self._calls[operation.kind].encode(request_id, operation.fields)
        if self._coalesce:
            self._unsent.append(call)
            if self._sender is None:
                self._sender = self._loop.create_task(self._send())
            return await answered
        try:
            await self._socket.send(call)
        except websockets.WebSocketException as error:
            raise ConnectionLostError(message_of(error)) from error
        return await answered

    async def _send(self) -> None:
        """Sends what is ready, as many calls in a payload as it takes."""
        try:
            while self._unsent:
                ready = calls_of_payload(self._unsent)
                del self._unsent[: len(ready)]
                await self._socket.send(b"".join(ready))
        except (OSError, websockets.WebSocketException) as error:
            self._break(ConnectionLostError(message_of(error)))
        finally:
            self._sender = None

    def close(self) -> None:
        if hasattr(self, "_reader"):
            self._reader.cancel()
            if self._sender is not None:
                self._sender.cancel()
            self._socket.transport.abort()

    async def _read(self) -> None:
        try:
            while True:
                for request_id, answer in self._answers(await self._socket.recv()):
                    self._settle(request_id, answer)
        except (OSError, websockets.WebSocketException) as error:
            self._break(ConnectionLostError(message_of(error)))
        except ClientError as error:
            self._break(error)

    def _settle(self, request_id: int, answer: Answer) -> None:
        if not self._pending:
            raise broken("an answer to no call")
        expected, answered = self._pending.popleft()
        if request_id not in {0, expected}:
            raise broken(f"the answer to request {request_id}, where {expected} is the oldest")
        if not answered.done():
            answered.set_result(answer)

    def _break(self, error: BaseException) -> None:
        self._lost = error
        for _, answered in self._pending:
            if not answered.done():
                answered.set_exception(error)


def calls_of_payload(calls: Sequence[bytes]) -> Sequence[bytes]:
    """As many of the first calls as a payload takes: all, or those within its limit, and one at least."""
    size = 0
    for place, call in enumerate(calls):
        size += len(call)
        if size > _PAYLOAD_BYTES_MAX:
            return calls[: max(place, 1)]
    return calls[:]
