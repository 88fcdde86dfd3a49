"""A release host on loopback, which answers as well or as badly as a test asks it to."""

from __future__ import annotations

import io
import tarfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

__all__ = ["Host", "archive_of", "release_host", "server_program"]


class Host:
    """What it has by path, and who asked for what. ``answers`` maps a path to what is done for a request of it."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.answers: dict[str, Callable[[_Asked], None]] = {}
        self.asked: list[tuple[str, str | None]] = []
        """Path and Range of every request."""

    def at(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}/{path}"

    def holds(self, path: str, content: bytes) -> None:
        self.answers[f"/{path}"] = lambda asked: asked.give(content)

    def gives_pieces(self, path: str, content: bytes, piece: int) -> None:
        """Each answer is cut off after so many bytes."""
        self.answers[f"/{path}"] = lambda asked: asked.give(content, cut_after=piece)

    def ignores_ranges(self, path: str, content: bytes, *, cut_first_after: int) -> None:
        def give(asked: _Asked) -> None:
            first = len(self.asked) == 1
            asked.give(content, cut_after=cut_first_after if first else None, ranges=False)

        self.answers[f"/{path}"] = give

    def redirects(self, path: str, to: str) -> None:
        self.answers[f"/{path}"] = lambda asked: asked.head(302, {"Location": to, "Content-Length": "0"})

    def drips(self, path: str, *, pause_s: float, announced: int = 1_000_000) -> None:
        """A byte now and then, for as long as somebody listens, and no more than a hundred."""
        self.answers[f"/{path}"] = lambda asked: asked.drip(pause_s, announced)


class _Asked(BaseHTTPRequestHandler):
    host: Host

    def do_GET(self) -> None:
        self.host.asked.append((self.path, self.headers.get("Range")))
        answer = self.host.answers.get(self.path)
        if answer is None:
            self.send_error(404)
        else:
            answer(self)

    def head(self, status: int, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def give(self, content: bytes, *, cut_after: int | None = None, ranges: bool = True) -> None:
        start = int((self.headers.get("Range") or "bytes=0-").removeprefix("bytes=").partition("-")[0])
        if not ranges:
            start = 0
        if start >= len(content):
            self.head(416, {"Content-Length": "0"})
            return
        rest = content[start:]
        place = {"Content-Range": f"bytes {start}-{len(content) - 1}/{len(content)}"} if start else {}
        self.head(206 if start else 200, {"Content-Length": str(len(rest)), **place})
        self.wfile.write(rest[:cut_after])
        self.close_connection = True

    def drip(self, pause_s: float, announced: int) -> None:
        self.head(200, {"Content-Length": str(announced)})
        for _ in range(100):
            self.wfile.write(b"x")
            self.wfile.flush()
            time.sleep(pause_s)

    def log_message(self, *_said: object) -> None:
        """Tests read ``asked``."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_of: object) -> None:
        """Whoever asked may leave in the middle, or be killed."""


@contextmanager
def release_host() -> Iterator[Host]:
    class Asked(_Asked):
        pass

    with _Server(("127.0.0.1", 0), Asked) as server:
        Asked.host = Host(server.server_address[1])
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield Asked.host
        finally:
            server.shutdown()


def server_program(version: str) -> bytes:
    """What says that it is a server of that version, and is nothing else."""
    line = f"spacetimedb tool version {version}; spacetimedb-lib version {version};"
    return f"#!/bin/sh\necho '{line}'\n".encode()


def archive_of(*members: tuple[tarfile.TarInfo | str, bytes]) -> bytes:
    """A gzipped tar of files by name, or of members as they are described."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for named, content in members:
            member = tarfile.TarInfo(named) if isinstance(named, str) else named
            if member.isreg():
                member.size, member.mode = len(content), 0o755
            archive.addfile(member, io.BytesIO(content))
    return packed.getvalue()
