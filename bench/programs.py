"""Programs run to their end, each within a bound, their CPU as the kernel accounts it."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gapbook.deploy.deployment import Deployment
from gapbook.deploy.process import Process, log_tail
from gapbook.errors import ClientError

__all__ = ["Ended", "run_program"]


@dataclass(frozen=True)
class Ended:
    """What a program wrote on standard output, and the user and system time of its whole life."""

    text: str
    cpu_s: float

    @property
    def last_line(self) -> str:
        return (self.text.splitlines() or [""])[-1]


def run_program(
    deployment: Deployment,
    command: Sequence[str | Path],
    *,
    name: str,
    bound_s: float,
    given: str = "",
    environment: Mapping[str, str] | None = None,
    working_directory: Path | None = None,
    on_line: Callable[[int, str], None] = lambda pid, line: None,
) -> Ended:
    """Run a program that is given a text on standard input; ``on_line`` is told its process id and each line.

    Raises ClientError, with the end of its standard error, when it fails or has not ended after ``bound_s``.
    """
    process = deployment.start(
        command,
        name=name,
        stdin=True,
        stdout=True,
        environment=environment,
        working_directory=working_directory,
    )
    over = threading.Event()
    watchdog = threading.Timer(bound_s, _end, (process.pid, over))
    watchdog.start()
    try:
        ended = _watched(process, given, on_line)
    finally:
        watchdog.cancel()
        deployment.stop(process)
    if over.is_set():
        raise ClientError(f"{name}: no end after {bound_s:.0f} s, so it was ended")
    if process.popen.returncode != 0:
        said = log_tail(process.log_path)
        raise ClientError(
            f"{name}: ended with code {process.popen.returncode}: {said} | {ended.last_line[-300:]}"
        )
    return ended


def _watched(process: Process, given: str, on_line: Callable[[int, str], None]) -> Ended:
    with contextlib.suppress(BrokenPipeError):
        process.stdin.write(given.encode())
        process.stdin.close()
    lines = []
    for line in process.stdout:
        lines.append(line.decode(errors="replace").rstrip("\n"))
        on_line(process.pid, lines[-1])
    _, status, usage = os.wait4(process.pid, 0)
    process.popen.returncode = os.waitstatus_to_exitcode(status)
    return Ended("\n".join(lines), usage.ru_utime + usage.ru_stime)


def _end(pid: int, over: threading.Event) -> None:
    """End a program that leads its session, and its children, who may hold its standard output open."""
    over.set()
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
