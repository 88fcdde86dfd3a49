"""A line between hosts: messages arrive whole, and no wait on it is without an end."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from gapbook.load import line
from gapbook.load.line import Line, LineError, Listener, address_towards


@contextmanager
def _both_ends() -> Iterator[tuple[Line, Line]]:
    listener = Listener("127.0.0.1")
    try:
        with Line.to("127.0.0.1", listener.port, 5) as theirs:
            ours = listener.accept(5)
            yield ours, theirs
            ours.shut()
    finally:
        listener.close()


def test_messages_arrive_whole_and_in_order() -> None:
    long = b"x" * 5_000_000
    with _both_ends() as (ours, theirs):

        def send() -> None:
            for message in (b"", b"first", long):
                theirs.send(message, 5)

        sender = threading.Thread(target=send)
        sender.start()
        assert [ours.receive(5) for _ in range(3)] == [b"", b"first", long]
        sender.join()


def test_silence_ends_a_wait() -> None:
    with _both_ends() as (ours, _):
        began_s = time.monotonic()
        with pytest.raises(LineError, match=r"^said nothing for 0\.2 s$"):
            ours.receive(0.2)
        assert time.monotonic() - began_s < 2


def test_a_message_that_stops_in_its_middle_ends_a_wait_too() -> None:
    with _both_ends() as (ours, theirs):
        theirs._connection.sendall((100).to_bytes(8, "big") + b"half")
        with pytest.raises(LineError, match="said nothing"):
            ours.receive(0.2)


def test_nobody_who_takes_what_is_sent_ends_a_wait() -> None:
    with _both_ends() as (ours, _), pytest.raises(LineError, match=r"^took no message within 0\.2 s$"):
        ours.send(b"x" * 50_000_000, 0.2)


def test_an_end_that_closes_is_told_at_once() -> None:
    with _both_ends() as (ours, theirs):
        cut = list[bool]()
        waited = threading.Thread(target=lambda: cut.append(ours.wait_until_cut(threading.Event())))
        waited.start()
        # What arrives is no end.
        theirs.send(b"word", 5)
        assert ours.receive(5) == b"word"
        assert waited.is_alive()
        theirs.shut()
        waited.join(5)
        assert cut == [True]
        with pytest.raises(LineError, match=r"^is lost"):
            ours.receive(5)


def test_who_watches_a_line_is_let_go() -> None:
    with _both_ends() as (ours, _):
        over = threading.Event()
        over.set()
        assert not ours.wait_until_cut(over)


def test_a_length_that_no_message_has_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line, "_MOST_BYTES", 10)
    with _both_ends() as (ours, theirs):
        theirs.send(b"x" * 11, 5)
        with pytest.raises(LineError, match=r"11 bytes; allowed: 10"):
            ours.receive(5)


def test_nobody_there_is_told_with_the_address() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with (
        pytest.raises(LineError, match=rf"^reaches nobody at 127\.0\.0\.1:{port} "),
        Line.to("127.0.0.1", port, 1),
    ):
        pass
    listener = Listener("127.0.0.1")
    with pytest.raises(LineError, match=r"^did not call within"):
        listener.accept(0.05)
    listener.close()


def test_the_address_towards_this_machine_is_its_loopback() -> None:
    assert address_towards("127.0.0.1", 9) == "127.0.0.1"
