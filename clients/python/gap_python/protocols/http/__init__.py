"""HTTP through httpx: one client with one TCP connection for each connection of the load."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import httpcore
import httpx
import msgspec

from gap_python.answer import Answer, Connection, ConnectionLostError
from gap_python.decode import Decoded, choose, decode, refused
from gap_python.failure import EXIT_CONFIGURATION, EXIT_ENDPOINT, ClientError, message_of
from gap_python.protocols import Demand
from gap_python.protocols.http.answers import Judge, Pattern
from gap_python.protocols.http.template import compile_template, in_json, in_path
from gap_python.workload import Kind, Operation

_HANDSHAKE_TIMEOUT_S = 10.0
_CONTENT_TYPE = "content-type"
_JSON = "application/json"


class _Declared(Decoded):
    method: str
    path: str
    success: Pattern
    headers: dict[str, str] = msgspec.field(default_factory=dict)
    body: str | None = None
    refusals: dict[str, Pattern] = msgspec.field(default_factory=dict)
    retries: str | None = None


class _Endpoint(Decoded):
    host: str
    port: int
    requests: dict[str, _Declared]


class Request:
    """The request of one kind of operation, compiled from its declaration."""

    def __init__(self, declared: _Declared, kind: Kind, demand: Demand, path: str) -> None:
        for name in declared.refusals:
            choose(f"{path}.refusals", name, demand.refusals)
        self.method = declared.method
        self.judge = Judge(declared.success, declared.refusals, declared.retries).judge
        self.path = compile_template(declared.path, kind, f"{path}.path", in_path)
        self.body = (
            None if declared.body is None else compile_template(declared.body, kind, f"{path}.body", in_json)
        )
        headers = dict(declared.headers)
        if self.body is not None and _CONTENT_TYPE not in map(str.lower, headers):
            headers[_CONTENT_TYPE] = _JSON
        self.headers = {
            name: compile_template(value, kind, f"{path}.headers.{name}") for name, value in headers.items()
        }


def connector(endpoint: Mapping[str, Any], demand: Demand) -> Callable[[], Connection]:
    """See :func:`gap_python.protocols.connector`."""
    at = decode(endpoint, _Endpoint, "endpoint")
    if demand.in_flight > 1:
        raise refused("in_flight", demand.in_flight, "1 with the protocol http")
    requests = {}
    for name, kind in demand.kinds.items():
        path = f"endpoint.requests.{name}"
        if name not in at.requests:
            raise ClientError(EXIT_CONFIGURATION, f"{path}: missing; allowed: the request of this kind")
        requests[name] = Request(at.requests[name], kind, demand, path)
    return lambda: HttpConnection(at.host, at.port, requests)


class HttpConnection:
    """Has one request out at a time, and is lost when its TCP connection is."""

    def __init__(self, host: str, port: int, requests: Mapping[str, Request]) -> None:
        self._host, self._port = host, port
        self._origin = f"http://{f'[{host}]' if ':' in host else host}:{port}"
        self._requests = requests

    async def open(self) -> None:
        """Connects; HTTP has no other handshake."""
        backend = _ConnectOnce()
        try:
            await backend.open(self._host, self._port)
        except (httpx.HTTPError, *_BROKEN) as error:
            where = f"http at {self._host}:{self._port}"
            raise ClientError(EXIT_ENDPOINT, f"{where}: {message_of(error)}") from error
        self._client = httpx.AsyncClient(transport=_OneConnection(backend), timeout=None)

    async def call(self, index: int, operation: Operation) -> Answer:
        del index
        request = self._requests[operation.kind]
        fields = operation.fields
        try:
            reply = await self._client.request(
                request.method,
                self._origin + request.path(fields),
                headers={name: write(fields) for name, write in request.headers.items()},
                content=None if request.body is None else request.body(fields).encode(),
            )
        except (httpx.HTTPError, *_BROKEN) as error:
            raise ConnectionLostError(message_of(error)) from error
        return request.judge(reply.status_code, reply.content)

    def agreed(self) -> dict[str, str]:
        return {}

    def close(self) -> None:
        # The load cancels what is out, which closes the socket; closing the client would have to be awaited.
        return


_BROKEN = (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException, OSError)


class _ConnectOnce(httpcore.AnyIOBackend):
    """Hands over the connection that was opened before the load, and no other: it would quietly take the place of
    one that was closed."""

    def __init__(self) -> None:
        self._opened: httpcore.AsyncNetworkStream | None = None

    async def open(self, host: str, port: int) -> None:
        self._opened = await super().connect_tcp(host, port, timeout=_HANDSHAKE_TIMEOUT_S)

    async def connect_tcp(self, *_arguments: Any, **_options: Any) -> httpcore.AsyncNetworkStream:
        opened, self._opened = self._opened, None
        if opened is None:
            raise httpcore.ConnectError("the server closed the connection")
        return opened


class _OneConnection(httpx.AsyncBaseTransport):
    """httpx over a pool of one connection."""

    def __init__(self, backend: _ConnectOnce) -> None:
        self._pool = httpcore.AsyncConnectionPool(
            max_connections=1,
            max_keepalive_connections=1,
            keepalive_expiry=None,
            network_backend=backend,
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
