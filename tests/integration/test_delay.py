"""The delay proxy: a round trip longer, everything else as without it."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from gapbook.deploy.delay import delay_proxy
from gapbook.deploy.deployment import Deployment
from gapbook.deploy.endpoint import Endpoint
from gapbook.deploy.process import free_port
from gapbook.errors import StackError

_TIMEOUT_S = 20.0
_READ_BYTES = 65536


def _echo(connection: socket.socket) -> None:
    """Sends back what comes; ends its side after the other's end."""
    with connection, contextlib.suppress(OSError):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while data := connection.recv(_READ_BYTES):
            connection.sendall(data)


@pytest.fixture(name="echo", scope="module")
def _echo_endpoint() -> Iterator[Endpoint]:
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=_echo, args=(listener.accept()[0],), daemon=True).start()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    yield {"protocol": "echo", "host": "127.0.0.1", "port": listener.getsockname()[1]}
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join(_TIMEOUT_S)


def _connect(endpoint: Endpoint) -> socket.socket:
    connection = socket.create_connection((endpoint["host"], endpoint["port"]), timeout=_TIMEOUT_S)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def _read_exactly(connection: socket.socket, count: int) -> bytes:
    data = bytearray()
    while len(data) < count and (read := connection.recv(min(count - len(data), _READ_BYTES))):
        data += read
    return bytes(data)


def _round_trip_ms(connection: socket.socket) -> float:
    started = time.perf_counter()
    connection.sendall(b"ping")
    assert _read_exactly(connection, 4) == b"ping"
    return (time.perf_counter() - started) * 1000


@pytest.mark.parametrize("round_trip_ms", [0.0, 0.5, 5.0])
def test_every_round_trip_takes_at_least_what_is_added(
    deployment: Deployment, echo: Endpoint, round_trip_ms: float
) -> None:
    with delay_proxy(deployment, echo, round_trip_ms) as (_, through), _connect(through) as connection:
        seen_ms = [_round_trip_ms(connection) for _ in range(100)]
    assert min(seen_ms) >= round_trip_ms
    # Twice the delay, or one per byte, would be far above. The least of many: a busy machine delays most of them.
    assert min(seen_ms) < 1.8 * round_trip_ms + 3.0


def test_a_pipeline_is_delayed_once_not_by_turns(deployment: Deployment, echo: Endpoint) -> None:
    count, round_trip_ms = 50, 200.0
    with delay_proxy(deployment, echo, round_trip_ms) as (_, through), _connect(through) as connection:
        started = time.perf_counter()
        for number in range(count):
            connection.sendall(number.to_bytes(4))
            time.sleep(0.002)
        received = _read_exactly(connection, 4 * count)
        took_ms = (time.perf_counter() - started) * 1000
    assert received == b"".join(number.to_bytes(4) for number in range(count))
    assert round_trip_ms <= took_ms < count * round_trip_ms / 4


def test_order_and_content_of_deep_pipelines(deployment: Deployment, echo: Endpoint) -> None:
    connections, messages = 50, 4000

    async def pipeline(endpoint: Endpoint, connection: int) -> bool:
        reader, writer = await asyncio.open_connection(endpoint["host"], endpoint["port"])
        sent = b"".join(
            connection.to_bytes(4) + number.to_bytes(4) + bytes(number % 61) for number in range(messages)
        )

        async def write() -> None:
            for at in range(0, len(sent), 1009):
                writer.write(sent[at : at + 1009])
                await writer.drain()
            writer.write_eof()

        writing = asyncio.create_task(write())
        received = await reader.read(-1)
        await writing
        writer.close()
        return received == sent

    async def everything(endpoint: Endpoint) -> list[bool]:
        return await asyncio.gather(*(pipeline(endpoint, number) for number in range(connections)))

    # In a thread of its own: a browser opened by another test has an event loop running in this one.
    with delay_proxy(deployment, echo, 2.0) as (_, through), ThreadPoolExecutor(1) as pool:
        whole = asyncio.wait_for(everything(through), _TIMEOUT_S)
        assert pool.submit(asyncio.run, whole).result() == [True] * connections


def test_a_client_that_does_not_read_stalls_nobody_else(deployment: Deployment, echo: Endpoint) -> None:
    with (
        delay_proxy(deployment, echo, 0.5) as (_, through),
        _connect(through) as stuck,
        _connect(through) as lively,
    ):
        stuck.settimeout(0.5)
        sent = 0
        with contextlib.suppress(TimeoutError):
            while sent < 256 * 1024 * 1024:
                sent += stuck.send(bytes(_READ_BYTES))
        assert sent < 256 * 1024 * 1024, "nothing slowed the sender down"
        assert _round_trip_ms(lively) >= 0.5
        stuck.settimeout(_TIMEOUT_S)
        assert len(_read_exactly(stuck, sent)) == sent


def test_the_end_of_one_side_leaves_the_other_open(deployment: Deployment) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(_TIMEOUT_S)
        endpoint: Endpoint = {"host": "127.0.0.1", "port": listener.getsockname()[1]}
        with delay_proxy(deployment, endpoint, 1.0) as (_, through), _connect(through) as client:
            server, _ = listener.accept()
            with server:
                server.settimeout(_TIMEOUT_S)
                client.sendall(b"last words")
                client.shutdown(socket.SHUT_WR)
                assert _read_exactly(server, 100) == b"last words"
                server.sendall(b"an answer")
                assert _read_exactly(client, 9) == b"an answer"
            assert client.recv(1) == b""


def test_what_a_server_said_before_it_closed_arrives(deployment: Deployment) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(_TIMEOUT_S)
        endpoint: Endpoint = {"host": "127.0.0.1", "port": listener.getsockname()[1]}
        with delay_proxy(deployment, endpoint, 50.0) as (_, through), _connect(through) as client:
            server, _ = listener.accept()
            server.sendall(b"farewell")
            server.close()
            client.sendall(b"too late")
            assert _read_exactly(client, 100) == b"farewell"


def test_a_target_that_refuses_shows_as_a_closed_connection(deployment: Deployment, echo: Endpoint) -> None:
    endpoint: Endpoint = {"host": "127.0.0.1", "port": free_port()}
    with delay_proxy(deployment, endpoint, 1.0) as (process, through):
        for _ in range(2):
            with _connect(through) as connection, contextlib.suppress(ConnectionResetError):
                assert connection.recv(1) == b""
        assert process.running
        assert "Connection refused" in process.log_path.read_text(encoding="utf-8")
    assert not process.running
    with delay_proxy(deployment, echo, 0.0) as (_, through), _connect(through) as connection:
        assert _round_trip_ms(connection) >= 0


def test_a_round_trip_that_cannot_be_is_refused(deployment: Deployment, echo: Endpoint) -> None:
    with (
        pytest.raises(StackError, match=r"delay of -1 ms to .* is refused; usage"),
        delay_proxy(deployment, echo, -1),
    ):
        pass


def test_the_rest_of_the_endpoint_is_kept(deployment: Deployment, echo: Endpoint) -> None:
    endpoint: Endpoint = {**echo, "user": "bank", "database": "bank"}
    with delay_proxy(deployment, endpoint, 1.0) as (_, through):
        assert through == {**endpoint, "port": through["port"]}
        assert through["port"] != endpoint["port"]
