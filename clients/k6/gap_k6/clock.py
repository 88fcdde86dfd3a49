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

_ANSWER_TIMEOUT_S = 0.2


class Clock:
    """Keeps time in threads of its own from the moment at which the users begin until :meth:`stop`."""

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
        # Asking k6 for its counts may take a while, for which an edge must not wait.
        self._threads = [threading.Thread(target=of, daemon=True) for of in (self._edges, self._progress)]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Called when k6 has ended, and before it is forgotten: an edge that is due is still told."""
        self._stopped.set()
        for thread in self._threads:
            thread.join()

    @property
    def window_cpu(self) -> Cpu | None:
        """What k6 and this program took between the edges; None unless both were reached."""
        if len(self._at_edges) != 2:
            return None
        start, end = self._at_edges
        return end.since(start)

    def _edges(self) -> None:
        for at_s, event in (
            (0.0, "ready"),
            (self._window_start_s, "window_start"),
            (self._window_end_s, "window_end"),
        ):
            if not self._wait_until(at_s) and self._elapsed_s() < at_s:
                return
            if event != "ready":
                self._at_edges.append((cpu_of(self._pid) or Cpu(0.0, 0.0)).plus(own_cpu()))
            emit(event)

    def _progress(self) -> None:
        elapsed_s = 1.0
        while self._wait_until(elapsed_s):
            acknowledged, failed = self._counts()
            emit(
                "progress",
                phase=self._phase(elapsed_s),
                elapsed_s=round(self._elapsed_s(), 3),
                acknowledged=acknowledged,
                failed=failed,
            )
            elapsed_s = float(int(self._elapsed_s()) + 1)

    def _phase(self, elapsed_s: float) -> str:
        if elapsed_s < self._window_start_s:
            return "warmup"
        return "window" if elapsed_s < self._window_end_s else "drain"

    def _elapsed_s(self) -> float:
        return time.monotonic() - self._starts

    def _wait_until(self, elapsed_s: float) -> bool:
        """False once the load has ended."""
        while (left_s := elapsed_s - self._elapsed_s()) > 0:
            if self._stopped.wait(left_s):
                return False
        return True


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
