"""What is read of replicators while they are under load: memory, processor time, and when a strike is due."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass, field
from typing import Literal

from gapbook.declared.module import Replication
from gapbook.deploy.stack import Ahead
from gapbook.deploy.together import Together
from gapbook.deploy.usage import Memory
from gapbook.model.event import Event, Progress
from gapbook.record.own_metric import OwnMetric

__all__ = ["Observed", "told"]

_MIB = 2**20
_RELENTED = 2
_MEMORY_WORDS = {"rss": "RSS", "pss": "PSS", "private": "private memory"}


def told(
    name: str, value: float, unit: str, better: Literal["higher", "lower"] = "lower"
) -> dict[str, OwnMetric]:
    """One metric of a trial's own (:mod:`gapbook.record.measured`); its value is never below 0."""
    return {name: OwnMetric(float(value), unit, better)}


@dataclass
class Observed:
    """A trial of replicators as it goes: ``wanted`` is what the access level says of it."""

    wanted: Replication
    ahead: Ahead
    replicators: Together
    idle: Memory = field(default_factory=lambda: Memory(0, 0, 0))
    ended_s: float = 0.0
    """When the load was over, on the clock of :func:`time.monotonic`."""
    restored_s: list[float] = field(default_factory=list)
    _samples: list[Memory] = field(default_factory=list)
    _cpu_s: float = 0.0
    _began_s: float = 0.0
    _used_frac: float = 0.0
    _struck: int = 0

    @property
    def strike(self) -> str | None:
        return self.wanted.strike

    @property
    def strike_is_over(self) -> bool:
        """Whether what the trial tests has happened, from beginning to end; True where there is no strike."""
        return self.strike is None or self._struck == _RELENTED

    def on_event(self, event: Event) -> Literal["strike", "relent"] | None:
        """Take note; says when a strike of the middle third of the window begins, and when it ends."""
        if event.name == "window_start":
            self._cpu_s, self._began_s = self.replicators.cpu_s(), time.monotonic()
        elif event.name == "window_end":
            self.ended_s = time.monotonic()
            self._samples.append(self.replicators.memory())
            took_s = max(self.ended_s - self._began_s, 1e-9)
            self._used_frac = (self.replicators.cpu_s() - self._cpu_s) / took_s
        elif isinstance(event, Progress) and event.phase == "window":
            if len(self.replicators):
                self._samples.append(self.replicators.memory())
            return self._due(event.elapsed_s)
        return None

    def _due(self, elapsed_s: float) -> Literal["strike", "relent"] | None:
        if self.strike is None:
            return None
        third = int(3 * (elapsed_s - self.ahead.warmup_s) / self.ahead.window_s)
        if third == 1 and self._struck == 0:
            self._struck = 1
            return "strike"
        if third >= 2 and self._struck == 1:
            self._struck = _RELENTED
            return "relent"
        return None

    def metrics(self) -> dict[str, OwnMetric]:
        """Memory idle and under load (the median of what was read each second), processor time, restores."""
        found: dict[str, OwnMetric] = {}
        for kind, word in _MEMORY_WORDS.items():
            found |= told(f"{word}, idle", getattr(self.idle, kind) / _MIB, "MiB")
            loaded = statistics.median(getattr(sample, kind) for sample in self._samples)
            found |= told(f"{word}, written", loaded / _MIB, "MiB")
        found |= told("replicator CPU", 100 * max(self._used_frac, 0.0), "% of a core")
        found |= told("replicator processes", len(self.replicators), "processes")
        if self.restored_s:
            found |= told("restore", statistics.median(self.restored_s), "s")
        return found
