"""A server that answers wrongly when it is told to: it listens, or stands between a client and a true server.

How it answers: ``true`` hands everything through; ``mute`` takes connections and says nothing; ``garbage`` says
bytes of no protocol; ``half`` hands through a part of the next answer and then nothing more; ``closed`` ends every
connection at once.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import socket
import traceback
from dataclasses import dataclass, field
from typing import NoReturn

from faults.parents import end_with_parent

__all__ = ["FalseServer"]

_CHUNK = 65536
_GARBAGE = bytes(range(255, -1, -1)) * 4


class FalseServer:
    """A process of its own that listens on ``port``; ``answer`` says from now on how."""

    def __init__(self, answers: str, true_port: int | None = None) -> None:
        """``true_port``: where the true server listens; without one there is nothing to hand through."""
        listening = socket.create_server(("127.0.0.1", 0))
        self.port = int(listening.getsockname()[1])
        ours, theirs = socket.socketpair()
        self._orders = ours
        self.pid = os.fork()
        if self.pid == 0:
            ours.close()
            _serve(_Serving(listening, theirs, true_port, answers))
        listening.close()
        theirs.close()

    def answer(self, how: str) -> None:
        """Answer so from now on; returns once it does. Raises OSError where it ended."""
        self._orders.sendall(f"{how}\n".encode())
        if not self._orders.recv(1):
            raise OSError(f"the false server on port {self.port} ended")

    def end(self) -> None:
        self._orders.close()
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


@dataclass
class _Serving:
    listening: socket.socket
    orders: socket.socket
    true_port: int | None
    answers: str
    selector: selectors.DefaultSelector = field(default_factory=selectors.DefaultSelector)
    peers: dict[socket.socket, socket.socket | None] = field(default_factory=dict)
    from_server: set[socket.socket] = field(default_factory=set)
    halved: set[socket.socket] = field(default_factory=set)

    def accept(self) -> None:
        client, _ = self.listening.accept()
        if self.answers == "closed":
            client.close()
            return
        server = None
        if self.true_port is not None:
            try:
                server = socket.create_connection(("127.0.0.1", self.true_port))
            except OSError:
                client.close()
                return
            self.peers[server] = client
            self.from_server.add(server)
            self.selector.register(server, selectors.EVENT_READ)
        self.peers[client] = server
        self.selector.register(client, selectors.EVENT_READ)

    def hand_on(self, source: socket.socket) -> None:
        data = b""
        with contextlib.suppress(OSError):
            data = source.recv(_CHUNK)
        if not data:
            self.close(source)
            return
        target = self.peers.get(source)
        if self.answers == "true":
            self._send(target, data)
        elif self.answers == "closed":
            self.close(source)
        elif source in self.from_server:
            if self.answers == "garbage":
                self._send(target, _GARBAGE)
            elif self.answers == "half" and source not in self.halved:
                self.halved.add(source)
                self._send(target, data[: len(data) // 2])
        elif target is not None and self.answers != "mute":
            self._send(target, data)
        elif target is None and self.answers != "mute":
            self._send(source, _GARBAGE if self.answers == "garbage" else b"HTTP/1.1 200 OK\r\ncontent-le")

    def _send(self, target: socket.socket | None, data: bytes) -> None:
        if target is not None:
            try:
                target.sendall(data)
            except OSError:
                self.close(target)

    def close(self, one: socket.socket) -> None:
        other = self.peers.pop(one, None)
        for end in (one, other):
            if end is not None:
                self.peers.pop(end, None)
                self.from_server.discard(end)
                self.halved.discard(end)
                with contextlib.suppress(KeyError, ValueError):
                    self.selector.unregister(end)
                end.close()

    def take_order(self) -> None:
        order = self.orders.recv(_CHUNK).decode()
        if not order:
            os._exit(0)
        self.answers = order.split()[-1]
        if self.answers == "true":
            # What was answered wrongly before cannot be set right.
            for one in list(self.peers):
                self.close(one)
        self.orders.sendall(b".")


def _serve(serving: _Serving) -> NoReturn:
    """Until it is told no more."""
    try:
        os.setsid()
        end_with_parent()
        serving.selector.register(serving.listening, selectors.EVENT_READ)
        serving.selector.register(serving.orders, selectors.EVENT_READ)
        while True:
            for key, _ in serving.selector.select():
                if key.fileobj is serving.listening:
                    serving.accept()
                elif key.fileobj is serving.orders:
                    serving.take_order()
                elif isinstance(key.fileobj, socket.socket) and key.fileobj in serving.peers:
                    serving.hand_on(key.fileobj)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(1)
