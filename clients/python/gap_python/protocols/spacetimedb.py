"""SpacetimeDB, protocol version 1: a WebSocket on which each binary message is one reducer call, in BSATN.

The server runs a connection's calls one after the other, so answers come in the order of the calls. A committed
call returns its request id, which is checked; in 1.2.0 a failed one returns 0.
"""

from __future__ import annotations

import asyncio
import struct
from collections import deque

import websockets
from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Subprotocol

from gap_python.answer import ACKNOWLEDGED, INSUFFICIENT, Answer, ConnectionLostError
from gap_python.config import SpacetimeDbEndpoint
from gap_python.failure import EXIT_ENDPOINT, EXIT_INTEGRITY, ClientError, message_of
from gap_python.work import Transfer

_SUBPROTOCOL = Subprotocol("v1.bsatn.spacetimedb")
_HANDSHAKE_TIMEOUT_S = 10.0
_REDUCER = b"transfer"
_UNKNOWN_REDUCER = "no such reducer"
_NOTIFY_CALLER = 0
_CALL_REDUCER = 0
_TRANSACTION_UPDATE = 1
_IDENTITY_TOKEN = 3
_UNCOMPRESSED = 0
_COMMITTED, _FAILED, _OUT_OF_ENERGY = range(3)
_REQUEST_IDS = 2**32 - 1
# tag, reducer, length of arguments, arguments, request id, flags
_CALL = struct.Struct(f"<BI{len(_REDUCER)}sIIIIIB")
_PROBE = struct.Struct(f"<BI{len(_REDUCER)}sIIB")
_ARGUMENTS_BYTES = 12
# timestamp, caller's identity, caller's connection
_BEFORE_REDUCER_BYTES = 8 + 32 + 16
# energy, duration
_AFTER_REQUEST_ID_BYTES = 16 + 8
_U32 = struct.Struct("<I")


def encode(request_id: int, transfer: Transfer) -> bytes:
    return _CALL.pack(
        _CALL_REDUCER, len(_REDUCER), _REDUCER, _ARGUMENTS_BYTES, *transfer, request_id, _NOTIFY_CALLER
    )


def encode_probe() -> bytes:
    """A call without arguments: the server refuses it before it runs anything, and says so if there is no
    such reducer."""
    return _PROBE.pack(_CALL_REDUCER, len(_REDUCER), _REDUCER, 0, 0, _NOTIFY_CALLER)


def read(message: str | bytes) -> tuple[int, Answer] | None:
    """Request id (0 where the server gives none) and answer; None for the server's first message.

    Raises ClientError for what does not belong here.
    """
    if not isinstance(message, bytes):
        raise _broken("a text message")
    if len(message) < 2 or message[0] != _UNCOMPRESSED:
        raise _broken("an empty or compressed message, where no compression was asked for")
    if message[1] == _IDENTITY_TOKEN:
        return None
    if message[1] != _TRANSACTION_UPDATE:
        raise _broken(f"a message with tag {message[1]}, which answers no call")
    try:
        return _read_update(message)
    except struct.error as error:
        raise _broken("a transaction update shorter than its parts") from error


def _read_update(message: bytes) -> tuple[int, Answer]:
    status, at = message[2:3], 3
    if status == bytes([_COMMITTED]):
        (tables,) = _U32.unpack_from(message, at)
        if tables:
            raise _broken(f"rows of {tables} tables, though nothing is subscribed to")
        answer, at = ACKNOWLEDGED, at + 4
    elif status == bytes([_FAILED]):
        end = _skip(message, at)
        text = message[at + 4 : end].decode(errors="replace")
        answer, at = (INSUFFICIENT if text == "insufficient" else Answer("error", text)), end
    elif status == bytes([_OUT_OF_ENERGY]):
        answer = Answer("error", "out of energy")
    else:
        raise _broken(f"a transaction update with status {status.hex()}")
    # The reducer's name, its id, its arguments, the request id; nothing may be left over.
    at = _skip(message, _skip(message, at + _BEFORE_REDUCER_BYTES) + 4)
    (request_id,) = _U32.unpack_from(message, at)
    if len(message) != at + 4 + _AFTER_REQUEST_ID_BYTES:
        raise _broken("a transaction update of another length than its parts")
    if request_id == 0 and answer is ACKNOWLEDGED:
        raise _broken("a committed transaction without its request id")
    return request_id, answer


def _skip(message: bytes, at: int) -> int:
    """Where the bytes end whose length stands at ``at``."""
    (length,) = _U32.unpack_from(message, at)
    return at + 4 + int(length)


def _broken(what: str) -> ClientError:
    return ClientError(EXIT_INTEGRITY, f"SpacetimeDB sent {what}")


class SpacetimeDbConnection:
    """Any number of calls out at a time."""

    def __init__(self, endpoint: SpacetimeDbEndpoint) -> None:
        self._endpoint = endpoint
        self._pending: deque[tuple[int, asyncio.Future[Answer]]] = deque()
        self._lost: BaseException | None = None

    async def open(self) -> None:
        endpoint = self._endpoint
        where = f"spacetimedb at {endpoint.host}:{endpoint.port}, database {endpoint.database!r}"
        host = f"[{endpoint.host}]" if ":" in endpoint.host else endpoint.host
        confirmed = "" if endpoint.confirmed is None else f"&confirmed={str(endpoint.confirmed).lower()}"
        try:
            async with asyncio.timeout(_HANDSHAKE_TIMEOUT_S):
                self._socket: ClientConnection = await connect(
                    f"ws://{host}:{endpoint.port}/v1/database/{endpoint.database}/subscribe"
                    f"?compression=None{confirmed}",
                    subprotocols=[_SUBPROTOCOL],
                    additional_headers={"Authorization": f"Bearer {endpoint.token}"},
                    compression=None,
                    ping_interval=None,
                    max_size=None,
                    proxy=None,
                )
                if self._socket.subprotocol != _SUBPROTOCOL:
                    raise ClientError(EXIT_ENDPOINT, f"{where}: it does not agree on {_SUBPROTOCOL}")
                await self._check_reducer(where)
        except (OSError, TimeoutError, websockets.WebSocketException) as error:
            raise ClientError(EXIT_ENDPOINT, f"{where}: {message_of(error)}") from error
        self._loop = asyncio.get_running_loop()
        self._reader = asyncio.create_task(self._read())

    async def _check_reducer(self, where: str) -> None:
        await self._socket.send(encode_probe())
        while (answered := read(await self._socket.recv())) is None:
            pass
        answer = answered[1]
        if answer.verdict != "error" or _UNKNOWN_REDUCER in answer.text:
            raise ClientError(
                EXIT_ENDPOINT, f"{where}: no reducer transfer(from, to, amount); publish the module"
            )

    async def call(self, index: int, transfer: Transfer) -> Answer:
        if self._lost is not None:
            raise self._lost
        request_id = index % _REQUEST_IDS + 1
        answered: asyncio.Future[Answer] = self._loop.create_future()
        self._pending.append((request_id, answered))
        try:
            await self._socket.send(encode(request_id, transfer))
        except websockets.WebSocketException as error:
            raise ConnectionLostError(message_of(error)) from error
        return await answered

    def close(self) -> None:
        if hasattr(self, "_reader"):
            self._reader.cancel()
            self._socket.transport.abort()

    async def _read(self) -> None:
        try:
            while True:
                message = await self._socket.recv()
                answered = read(message)
                if answered is not None:
                    self._settle(*answered)
        except (OSError, websockets.WebSocketException) as error:
            self._break(ConnectionLostError(message_of(error)))
        except ClientError as error:
            self._break(error)

    def _settle(self, request_id: int, answer: Answer) -> None:
        if not self._pending:
            raise _broken("an answer to no call")
        expected, answered = self._pending.popleft()
        if request_id not in {0, expected}:
            raise _broken(f"the answer to request {request_id}, where {expected} is the oldest")
        if not answered.done():
            answered.set_result(answer)

    def _break(self, error: BaseException) -> None:
        self._lost = error
        for _, answered in self._pending:
            if not answered.done():
                answered.set_exception(error)
