"""The warden: ends a deployment's processes and removes its directory when its owner is gone.

The owner (a notebook kernel, a test, the command line) holds the writing end of this process's
standard input. When that end closes without the word ``done``, the owner died, and the warden does
what the owner no longer can. It finds processes by the deployment's token in their environment and
by the process ids that the owner registered; it never looks for a name.

Run as a script, with the standard library only, so that it starts in milliseconds.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import time
from pathlib import Path

__all__ = ["TOKEN_VARIABLE", "end_processes", "process_start_ticks", "processes_with_token"]

TOKEN_VARIABLE = "GAPBOOK_DEPLOYMENT"
_GRACE_S = 5.0


def process_start_ticks(pid: int) -> int | None:
    """The start time of a process in clock ticks since boot: with the pid, its identity."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] == "Z" else int(fields[19])


def processes_with_token(token: str) -> dict[int, int]:
    """pid -> start ticks of all processes that carry the deployment's token in their environment."""
    wanted = f"{TOKEN_VARIABLE}={token}".encode()
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            environment = (entry / "environ").read_bytes()
        except OSError:
            continue
        ticks = process_start_ticks(int(entry.name))
        if wanted in environment.split(b"\0") and ticks is not None:
            found[int(entry.name)] = ticks
    return found


def end_processes(processes: dict[int, int], first_signal: int, grace_s: float = _GRACE_S) -> None:
    """Send the signal to each process that is still the one meant, then SIGKILL what remains."""

    def alive() -> list[int]:
        return [pid for pid, ticks in processes.items() if process_start_ticks(pid) == ticks]

    for number in (first_signal, signal.SIGKILL):
        for pid in alive():
            with contextlib.suppress(ProcessLookupError):
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
    # SIGQUIT is Postgres's immediate shutdown, which removes its shared memory; others just end.
    end_processes(registered | processes_with_token(token), signal.SIGQUIT)
    end_processes(processes_with_token(token), signal.SIGKILL)
    shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    _watch(sys.argv[1], Path(sys.argv[2]))
