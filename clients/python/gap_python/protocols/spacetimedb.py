"""SpacetimeDB's WebSocket in the newest version of its protocol that both sides speak.

The server runs a connection's calls one after the other, so answers come in the order of the calls; the request id
of an answer is checked wherever the server gives one.
"""

from __future__ import annotations

import asyncio
from collections import deque

import websockets
from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Subprotocol

from gap_python.answer import Answer, ConnectionLostError
from gap_python.config import SPACETIMEDB_VERSIONS, SpacetimeDbEndpoint
from gap_python.failure import EXIT_ENDPOINT, ClientError, message_of
from gap_python.protocols.spacetimedb_messages import Calls, broken, read
from gap_python.work import Transfer

_SUBPROTOCOLS = {version: Subprotocol(f"{version}.bsatn.spacetimedb") for version in SPACETIMEDB_VERSIONS}
_HANDSHAKE_TIMEOUT_S = 10.0
_UNKNOWN_REDUCER = "no such reducer"
_REQUEST_IDS = 2**32 - 1
_PAYLOAD_BYTES_MAX = 65_535


class SpacetimeDbConnection:
    """Any number of calls out at a time."""

    def __init__(self, endpoint: SpacetimeDbEndpoint) -> None:
        self._endpoint = endpoint
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
                self._calls = Calls(self._version, endpoint.reducer, endpoint.amount)
                await self._check_reducer(where)
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

    async def _check_reducer(self, where: str) -> None:
        await self._socket.send(self._calls.encode_probe())
        while not (answers := list(read(self._version, await self._socket.recv()))):
            pass
        _, answer = answers[0]
        if answer.verdict != "error" or _UNKNOWN_REDUCER in answer.text:
            reducer = self._endpoint.reducer
            raise ClientError(
                EXIT_ENDPOINT, f"{where}: no reducer {reducer}(from, to, amount); publish the module"
            )

    async def call(self, index: int, transfer: Transfer) -> Answer:
        if self._lost is not None:
            raise self._lost
        request_id = index % _REQUEST_IDS + 1
        answered: asyncio.Future[Answer] = self._loop.create_future()
        self._pending.append((request_id, answered))
        call = self._calls.encode(request_id, transfer)
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
        calls_max = _PAYLOAD_BYTES_MAX // self._calls.call_bytes
        try:
            while self._unsent:
                ready, self._unsent = self._unsent[:calls_max], self._unsent[calls_max:]
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
                for request_id, answer in read(self._version, await self._socket.recv()):
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
