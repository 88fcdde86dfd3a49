"""HTTP through httpx: one client with one TCP connection for each connection of the load."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import httpcore
import httpx

from gap_python.answer import ACKNOWLEDGED, Answer, ConnectionLostError
from gap_python.config import HttpEndpoint
from gap_python.failure import EXIT_ENDPOINT, ClientError, message_of
from gap_python.work import Transfer

_HANDSHAKE_TIMEOUT_S = 10.0
_KEPT_ERROR_CHARACTERS = 500
_RETRIES_MAX = 65_535
_OK_BODY = b'{"ok":true}'
_HEADERS = {"content-type": "application/json"}


class HttpConnection:
    """Has one request out at a time, and is lost when its TCP connection is."""

    def __init__(self, endpoint: HttpEndpoint) -> None:
        host = f"[{endpoint.host}]" if ":" in endpoint.host else endpoint.host
        self._endpoint = endpoint
        self._url = httpx.URL(f"http://{host}:{endpoint.port}{endpoint.path}")

    async def open(self) -> None:
        """Finds out whether the path is served by a transfer that names no accounts."""
        self._client = httpx.AsyncClient(transport=_OneConnection(), headers=_HEADERS, timeout=None)
        where = f"http at {self._endpoint.host}:{self._endpoint.port}"
        try:
            reply = await self._client.post(self._url, content=b"{}", timeout=_HANDSHAKE_TIMEOUT_S)
        except (httpx.HTTPError, *_BROKEN) as error:
            raise ClientError(EXIT_ENDPOINT, f"{where}: {message_of(error)}") from error
        if reply.status_code in {404, 405}:
            raise ClientError(
                EXIT_ENDPOINT,
                f"{where}: POST {self._endpoint.path} is not served (status {reply.status_code})",
            )

    async def call(self, index: int, transfer: Transfer) -> Answer:
        del index
        source, destination, amount = transfer
        body = f'{{"from":{source},"to":{destination},"amount":{amount}}}'
        try:
            reply = await self._client.post(self._url, content=body.encode())
        except (httpx.HTTPError, *_BROKEN) as error:
            raise ConnectionLostError(message_of(error)) from error
        return judge(reply.status_code, reply.content)

    def agreed(self) -> dict[str, str]:
        return {}

    def close(self) -> None:
        # The load cancels what is out, which closes the socket; closing the client would have to be awaited.
        return


def judge(status: int, body: bytes) -> Answer:
    """Only the answers that the contract names are success or refusal."""
    if status == 200 and body == _OK_BODY:
        return ACKNOWLEDGED
    text = f"status {status}: {body.decode(errors='replace')[:_KEPT_ERROR_CHARACTERS]}"
    try:
        answer = json.loads(body)
    except ValueError:
        return Answer("error", text)
    if not isinstance(answer, dict):
        return Answer("error", text)
    retries = answer.get("retries", 0)
    if type(retries) is not int or not 0 <= retries <= _RETRIES_MAX:
        return Answer("error", text)
    ok, error = answer.get("ok"), answer.get("error")
    if status == 200 and ok is True and error is None:
        return Answer("acknowledged", retries=retries)
    if status == 200 and ok is False and error == "insufficient":
        return Answer("insufficient", retries=retries)
    return Answer("error", text, retries=retries)


_BROKEN = (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException, OSError)


class _OneConnection(httpx.AsyncBaseTransport):
    """httpx over a pool that connects once: another would quietly take the place of one that was closed."""

    def __init__(self) -> None:
        self._pool = httpcore.AsyncConnectionPool(
            max_connections=1,
            max_keepalive_connections=1,
            keepalive_expiry=None,
            network_backend=_ConnectOnce(),
        )

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        assert isinstance(request.stream, httpx.AsyncByteStream)
        url = request.url
        reply = await self._pool.handle_async_request(
            httpcore.Request(
                method=request.method,
                url=httpcore.URL(
                    scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
                ),
                headers=request.headers.raw,
                content=request.stream,
                extensions=request.extensions,
            )
        )
        return httpx.Response(
            reply.status, headers=reply.headers, stream=_Body(reply.stream), extensions=reply.extensions
        )


class _Body(httpx.AsyncByteStream):
    def __init__(self, stream: Any) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._stream:
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


class _ConnectOnce(httpcore.AnyIOBackend):
    def __init__(self) -> None:
        self._connected = False

    async def connect_tcp(self, *arguments: Any, **options: Any) -> httpcore.AsyncNetworkStream:
        if self._connected:
            raise httpcore.ConnectError("the server closed the connection")
        self._connected = True
        return await super().connect_tcp(*arguments, **options)
