"""The line between who measures and a host that makes load: messages over one TCP connection, each wait bounded.

Dask brings both together, and is asked nothing while a load is under way: what travels then goes straight.
"""

from __future__ import annotations

import select
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Self

__all__ = ["Line", "LineError", "Listener", "address_towards"]

_LENGTH_BYTES = 8
_MOST_BYTES = 2**31
"""Of a message; the longest is a report, which lists what failed."""
_LOST_AFTER_S = 8
_PROBES = 4
_READ_BYTES = 2**20
_LOOKS_EVERY_S = 0.1


class LineError(Exception):
    """What befell a line, in words that follow the name of a host."""


class Line:
    """One end. What the other end does not take or say in time, and a line that is cut, raises LineError.

    A host that vanished sends nothing that would tell: the kernel asks for it where both are silent, and gives up what it
    was sent after :data:`_LOST_AFTER_S` seconds.
    """

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, _LOST_AFTER_S // _PROBES)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, _LOST_AFTER_S // _PROBES)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, _PROBES)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _LOST_AFTER_S * 1000)

    @classmethod
    @contextmanager
    def to(cls, host: str, port: int, within_s: float) -> Iterator[Self]:
        """A line to who listens there; raises LineError where nobody does."""
        try:
            connection = socket.create_connection((host, port), within_s)
        except OSError as error:
            raise LineError(f"reaches nobody at {host}:{port} ({error})") from error
        with connection:
            yield cls(connection)

    def fileno(self) -> int:
        """For a selector: it is readable when a message has begun, or the other end is gone."""
        return self._connection.fileno()

    def send(self, message: bytes, within_s: float) -> None:
        self._connection.settimeout(within_s)
        try:
            self._connection.sendall(len(message).to_bytes(_LENGTH_BYTES, "big") + message)
        except TimeoutError:
            raise LineError(f"took no message within {within_s:g} s") from None
        except OSError as error:
            raise LineError(f"is lost ({error.strerror or error})") from error

    def receive(self, within_s: float) -> bytes:
        """The next message, whole within that time."""
        ends_s = time.monotonic() + within_s
        length = int.from_bytes(self._read(_LENGTH_BYTES, ends_s, within_s), "big")
        if length > _MOST_BYTES:
            raise LineError(f"sent a message of {length:,} bytes; allowed: {_MOST_BYTES:,}")
        return self._read(length, ends_s, within_s)

    def _read(self, count: int, ends_s: float, within_s: float) -> bytes:
        parts = []
        while count:
            left_s = ends_s - time.monotonic()
            if left_s <= 0:
                raise LineError(f"said nothing for {within_s:g} s")
            self._connection.settimeout(left_s)
            try:
                part = self._connection.recv(min(count, _READ_BYTES))
            except TimeoutError:
                continue
            except OSError as error:
                raise LineError(f"is lost ({error.strerror or error})") from error
            if not part:
                raise LineError("is lost (it closed its connection)")
            parts.append(part)
            count -= len(part)
        return b"".join(parts)

    def wait_until_cut(self, over: threading.Event) -> bool:
        """True when the other end closes the line or cannot be reached, False when it is ``over`` before; nothing is
        read. For another thread than the one that sends."""
        hearing = select.poll()
        hearing.register(self._connection, select.POLLRDHUP)
        while not over.is_set():
            if hearing.poll(_LOOKS_EVERY_S * 1000):
                return True
        return False

    def cut(self) -> None:
        """End it for both ends, from any thread; it stays ours to close."""
        # One that the other end cut before cannot be cut again.
        with suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)

    def shut(self) -> None:
        """Cut and close it."""
        self.cut()
        self._connection.close()


class Listener:
    """Where hosts call: on one address of this machine, at a free port."""

    def __init__(self, address: str) -> None:
        self._socket = socket.create_server((address, 0))
        self.address = address
        self.port: int = self._socket.getsockname()[1]

    def accept(self, within_s: float) -> Line:
        """The next line; raises LineError where nobody called in time."""
        self._socket.settimeout(max(within_s, 0.001))
        try:
            connection, _ = self._socket.accept()
        except OSError as error:
            raise LineError(f"did not call within {within_s:.0f} s") from error
        return Line(connection)

    def close(self) -> None:
        self._socket.close()


def address_towards(host: str, port: int) -> str:
    """The address that this machine has on the way to another; raises OSError where no way leads there.

    A datagram socket is connected, and sends nothing.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((host, port))
        return str(probe.getsockname()[0])
