"""The warden: ends a deployment's processes and removes its directory when its owner is gone.

The owner (a notebook kernel, a test, the command line) holds the writing end of this process's
standard input. When that end closes without the word ``done``, the owner died, and the warden does
what the owner no longer can. It finds processes by the process ids that the owner registered, by
their descendants, by the deployment's token in their environment and by their working directory; it
never looks for a name. One of these alone is not enough: Postgres writes its process title over the
environment of its backends, and backends that have lost their parent are nobody's descendants.

Run as a script, with the standard library only, so that it starts in milliseconds.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

__all__ = ["TOKEN_VARIABLE", "descendants", "end_processes", "process_start_ticks", "processes_of"]

TOKEN_VARIABLE = "GAPBOOK_DEPLOYMENT"
_GRACE_S = 5.0


def process_start_ticks(pid: int) -> int | None:
    """The start time of a process in clock ticks since boot: with the pid, its identity."""
    fields = _stat(pid)
    return None if fields is None else int(fields[19])


def processes_of(token: str, directory: Path) -> dict[int, int]:
    """pid -> start ticks of the processes of a deployment, whoever their parent is.

    They carry its token in their environment, or work in its directory without a terminal (a reader's
    shell that looks at the logs there has one).
    """
    wanted = f"{TOKEN_VARIABLE}={token}".encode()
    found = {}
    for pid in _pids():
        fields = _stat(pid)
        if fields is None or pid == os.getpid():
            continue
        with contextlib.suppress(OSError):
            working_directory = Path(f"/proc/{pid}/cwd").readlink()
            without_terminal = fields[4] == "0"
            if (without_terminal and working_directory.is_relative_to(directory)) or (
                wanted in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
            ):
                found[pid] = int(fields[19])
    return found


def descendants(roots: Iterable[int]) -> dict[int, int]:
    """pid -> start ticks of the children of processes, and of theirs."""
    children: dict[int, dict[int, int]] = {}
    for pid in _pids():
        fields = _stat(pid)
        if fields is not None:
            children.setdefault(int(fields[1]), {})[pid] = int(fields[19])
    found: dict[int, int] = {}
    pending = list(roots)
    while pending:
        for pid, ticks in children.pop(pending.pop(), {}).items():
            found[pid] = ticks
            pending.append(pid)
    return found


def _pids() -> Iterator[int]:
    return (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())


def _stat(pid: int) -> list[str] | None:
    """The fields of /proc/PID/stat from the state on (see proc(5), field 3); None for an ended process."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] == "Z" else fields


def end_processes(processes: dict[int, int], first_signal: int, grace_s: float = _GRACE_S) -> None:
    """Send the signal to each process that is still the one meant, then SIGKILL what remains."""

    def alive() -> list[int]:
        return [pid for pid, ticks in processes.items() if process_start_ticks(pid) == ticks]

    for number in (first_signal, signal.SIGKILL):
        for pid in alive():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)
        deadline = time.monotonic() + grace_s
        while alive() and time.monotonic() < deadline:
            time.sleep(0.02)


def _watch(token: str, directory: Path) -> None:
    registered: dict[int, int] = {}
    for line in sys.stdin:
        words = line.split()
        if words == ["done"]:
            return
        registered[int(words[0])] = int(words[1])
    ours = {pid: ticks for pid, ticks in registered.items() if process_start_ticks(pid) == ticks}
    # SIGQUIT is Postgres's immediate shutdown, which removes its shared memory; others just end.
    end_processes(ours | descendants(ours) | processes_of(token, directory), signal.SIGQUIT)
    end_processes(processes_of(token, directory), signal.SIGKILL)
    shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    _watch(sys.argv[1], Path(sys.argv[2]))
