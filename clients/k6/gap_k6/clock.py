"""What is due by the clock while k6 runs: the edges of the window, and a line of progress a second."""

from __future__ import annotations

import json
import resource
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence

from gap_k6.config import Configuration
from gap_k6.program import Cpu, cpu_of
from gap_k6.progress import emit

_ANSWER_TIMEOUT_S = 0.5


class Clock:
    """Runs in a thread of its own from the moment at which the users begin until :meth:`stop`."""

    def __init__(
        self,
        configuration: Configuration,
        *,
        starts_unix_s: float,
        pid: int,
        counts: Callable[[], tuple[int, int]],
    ) -> None:
        self.starts_unix_s = starts_unix_s
        self._window_start_s = configuration.warmup_s
        self._window_end_s = configuration.warmup_s + configuration.window_s
        self._pid = pid
        self._counts = counts
        self._starts = time.monotonic() + (starts_unix_s - time.time())
        self._stopped = threading.Event()
        self._at_edges: list[Cpu] = []
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()

    @property
    def window_cpu(self) -> Cpu | None:
        """What k6 and this program took between the edges; None unless both were reached."""
        if len(self._at_edges) != 2:
            return None
        start, end = self._at_edges
        return end.since(start)

    def _run(self) -> None:
        self._sleep_until(0.0)
        emit("ready")
        edges = [(self._window_start_s, "window_start"), (self._window_end_s, "window_end")]
        tick_s = 1.0
        while not self._stopped.is_set():
            due_s = min([tick_s, *(at_s for at_s, _ in edges)])
            if not self._sleep_until(due_s):
                return
            if edges and edges[0][0] <= due_s:
                self._at_edges.append(self._cpu())
                emit(edges.pop(0)[1])
            if tick_s <= due_s:
                self._progress(tick_s)
                tick_s += 1.0

    def _sleep_until(self, elapsed_s: float) -> bool:
        """False once the load has ended."""
        return not self._stopped.wait(max(0.0, self._starts + elapsed_s - time.monotonic()))

    def _progress(self, elapsed_s: float) -> None:
        acknowledged, failed = self._counts()
        inside = self._window_start_s <= elapsed_s < self._window_end_s
        phase = "window" if inside else "warmup" if elapsed_s < self._window_start_s else "drain"
        emit("progress", phase=phase, elapsed_s=elapsed_s, acknowledged=acknowledged, failed=failed)

    def _cpu(self) -> Cpu:
        of_k6 = cpu_of(self._pid) or Cpu(0.0, 0.0)
        return of_k6.plus(own_cpu())


def own_cpu() -> Cpu:
    """What this program itself took."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return Cpu(used.ru_utime, used.ru_stime)


class RunningCounts:
    """The counters that k6 keeps while it runs, asked of its own interface; the last known, where it is silent."""

    def __init__(self, port: int, kinds: Sequence[str]) -> None:
        self._port = port
        self._acknowledged = [f"acknowledged_{kind.replace('-', '_')}" for kind in kinds]
        self._known: dict[str, int] = {}

    def __call__(self) -> tuple[int, int]:
        """Acknowledged and failed."""
        acknowledged = sum(self._counter(name) for name in self._acknowledged)
        return acknowledged, self._counter("refused")

    def _counter(self, name: str) -> int:
        url = f"http://127.0.0.1:{self._port}/v1/metrics/{name}"
        try:
            with urllib.request.urlopen(url, timeout=_ANSWER_TIMEOUT_S) as answer:
                sample = json.load(answer)["data"]["attributes"]["sample"]
            self._known[name] = int(sample["count"])
        except (OSError, urllib.error.URLError, ValueError, KeyError, TypeError):
            # It is not there before its first sample, and gone when k6 ends.
            pass
        return self._known.get(name, 0)
