"""The task that Dask hands to a worker: a process for the session, ended when nobody wants its answer any more."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time

import msgspec
from distributed import get_worker

from gapbook.hosts.request import Answer
from gapbook.paths import CHECKOUT

__all__ = ["measure_session"]

_LOOKS_EVERY_S = 0.5


def measure_session(request: bytes) -> bytes:
    """The answer to a request (:mod:`gapbook.hosts.request`), both encoded. Runs in a thread of a worker."""
    worker = get_worker()
    key = str(worker.get_current_task())
    # A file without a name, of which nothing is left when this worker is killed.
    with tempfile.TemporaryFile() as answer:
        process = subprocess.Popen(
            [sys.executable, "-m", "gapbook.hosts.session", f"/dev/fd/{answer.fileno()}"],
            cwd=CHECKOUT,
            stdin=subprocess.PIPE,
            pass_fds=[answer.fileno()],
        )
        assert process.stdin is not None
        with process.stdin:
            process.stdin.write(len(request).to_bytes(8, "big") + request)
            process.stdin.flush()
            while process.poll() is None and _is_wanted(worker, key):
                time.sleep(_LOOKS_EVERY_S)
        if process.wait() == 0:
            answer.seek(0)
            return answer.read()
    ended = Answer(error=f"its process ended with {process.returncode} and left no answer")
    return msgspec.msgpack.encode(ended)


def _is_wanted(worker: object, key: str) -> bool:
    """Whether the scheduler still waits for a task that runs here."""
    state = worker.state.tasks.get(key)  # type: ignore[attr-defined]
    return state is not None and state.state == "executing"
