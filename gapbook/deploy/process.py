"""A child process, what it says, and the ports of this machine."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import signal
import socket
import subprocess
import threading
from pathlib import Path
from typing import IO, TypeVar

import msgspec

from gapbook.deploy import usage
from gapbook.deploy.warden import kill_tree
from gapbook.errors import StackError
from gapbook.paths import CHECKOUT

__all__ = [
    "LOOPBACK",
    "Announced",
    "Process",
    "Ready",
    "end_with_parent",
    "free_port",
    "log_tail",
    "require_port_free",
]

LOOPBACK = "127.0.0.1"
_Said = TypeVar("_Said")
_SAID_WITHIN_S = 30.0
_PR_SET_PDEATHSIG = 1  # see prctl(2)
_LIBC = ctypes.CDLL(None)
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_READ_AT_MOST_BYTES, _TOLD_AT_MOST = 2**16, 600
_NAMES_AN_ERROR = re.compile(
    r"^(Uncaught |\[?[\w.]+\]?: )?([\w.]*(Error|Exception)\b|Fatal |thread .* panicked)"
)
_SAYS_NOTHING = re.compile(
    r"[\W_]+$|Node\.js v\d|Bun v\d|at \S.*[:)]|File \".*\", line \d|note: run with|Extension modules: "
    r"|.*\(most recent call (first|last)\):$"
)
"""Lines that runtimes print around an error: braces and carets, versions, frames."""


class Ready(msgspec.Struct):
    """What a process says once it can be used: a JSON object, of which nothing is read."""


class Announced(msgspec.Struct, kw_only=True):
    """What a server says once it can be called: at which port, and how it is set."""

    port: int
    settings: dict[str, str | int | float | bool | None] = {}


def end_with_parent(number: signal.Signals) -> None:
    """Have the calling process sent this signal when the thread that started it ends, however it ends."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, int(number))


def free_port() -> int:
    """A loopback TCP port that nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])


def require_port_free(port: int, what: str) -> None:
    """Raise StackError when the port that the reader asked for is taken."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError as error:
            raise StackError(
                f"{what}: port {port} of {LOOPBACK} cannot be used ({error.strerror}); "
                "name another port, or none to take a free one"
            ) from error


def log_tail(path: Path, lines: int = 3) -> str:
    """The last words of a log on one line, for an error message.

    Where the last lines are what a runtime prints below an error (frames, fields, its version), the line that names
    the error is told, with those that follow it. A run keeps such words, and its page shows them: files are told from
    the checkout and from the home of whoever measures, which are nobody's business.
    """
    with contextlib.suppress(OSError), path.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - _READ_AT_MOST_BYTES))
        text = _COLOURS.sub("", file.read().decode(errors="replace"))
        text = text.replace(f"{CHECKOUT}{os.sep}", "")
        if (home := Path.home()).name:  # else it is the root of all files
            text = text.replace(f"{home}{os.sep}", f"~{os.sep}")
        said = [line.strip() for line in text.splitlines() if line.strip()]
        words = [line for line in said if not _SAYS_NOTHING.match(line)] or said
        telling = [at for at, line in enumerate(words) if _NAMES_AN_ERROR.search(line)]
        if telling and telling[-1] < len(words) - lines and words != said:
            words = words[telling[-1] :][:lines]
        return " | ".join(words[-lines:])[-_TOLD_AT_MOST:] or "(empty log)"
    return "(no log)"


class Process:
    """A child process of a deployment. ``pid`` is its identity together with its start time."""

    def __init__(self, popen: subprocess.Popen[bytes], name: str, log_path: Path, stop_signal: int) -> None:
        self.popen = popen
        self.name = name
        self.log_path = log_path
        self.stop_signal = stop_signal

    @property
    def pid(self) -> int:
        return self.popen.pid

    @property
    def running(self) -> bool:
        return self.popen.poll() is None

    @property
    def stdin(self) -> IO[bytes]:
        if self.popen.stdin is None:
            raise ValueError(f"{self.name} was started without a standard input")
        return self.popen.stdin

    @property
    def stdout(self) -> IO[bytes]:
        if self.popen.stdout is None:
            raise ValueError(f"{self.name} was started without a piped standard output")
        return self.popen.stdout

    @property
    def stderr(self) -> IO[bytes]:
        if self.popen.stderr is None:
            raise ValueError(f"{self.name} was started without a piped standard error")
        return self.popen.stderr

    def said(self, what: str, kind: type[_Said]) -> _Said:
        """The next line of standard output, JSON of that kind.

        Raises StackError when it says anything else. One that says nothing is ended after a bound, which
        makes the read return.
        """
        timer = threading.Timer(_SAID_WITHIN_S, self.popen.kill)
        timer.start()
        try:
            line = self.stdout.readline()
        finally:
            timer.cancel()
        try:
            return msgspec.json.decode(line, type=kind)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise StackError(f"{what}: not ready: {log_tail(self.log_path)}") from error

    def last_words(self) -> str:
        return log_tail(self.log_path)

    def cpu_s(self) -> float:
        """CPU seconds of its tree of processes, ended children included; in steps of 10 ms."""
        return usage.cpu_s([self.pid])

    def memory_bytes(self) -> int:
        """Proportional set size of its tree of processes."""
        return usage.proportional_memory_bytes([self.pid])

    def kill(self) -> None:
        """End every process of its tree at once with SIGKILL."""
        kill_tree(self.pid)

    def require_running(self) -> None:
        """Raise StackError, with the end of its log, when the process has ended."""
        code = self.popen.poll()
        if code == -signal.SIGKILL:
            # Nothing in its log is about what came from outside.
            raise StackError(f"{self.name} ended with code {code}: it was killed")
        if code is not None:
            raise StackError(f"{self.name} ended with code {code}: {log_tail(self.log_path)}")

    def stop(self, grace_s: float = 10.0) -> None:
        """End the process: its stop signal, then SIGKILL after the grace."""
        if self.popen.stdin is not None:
            with contextlib.suppress(OSError):
                self.popen.stdin.close()
        if self.running:
            self.popen.send_signal(self.stop_signal)
            try:
                self.popen.wait(grace_s)
            except subprocess.TimeoutExpired:
                self.popen.kill()
        self.popen.wait()
        for pipe in (self.popen.stdout, self.popen.stderr):
            if pipe is not None:
                pipe.close()
