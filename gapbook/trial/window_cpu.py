"""CPU inside the window, by who used it: counters read when the client says where its edges are."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from gapbook.deploy.backend import Running, cpu_s_of
from gapbook.deploy.usage import machine_cpu

__all__ = ["WindowCpu", "WindowSampler"]


@dataclass(frozen=True)
class WindowCpu:
    """CPU seconds inside the window; NaN where nobody could read them."""

    server_s: float
    tier_s: float
    harness_s: float
    machine_busy_s: float
    steal_s: float

    def other_s(self, client_s: float) -> float:
        """What neither server, tier, client nor harness used; NaN for a server that is not ours to watch.

        Counters of the machine and of processes are not read at one instant, nor in one grain: on a quiet
        machine the difference lies on both sides of 0, and is left as it is.
        """
        return self.machine_busy_s - self.server_s - self.tier_s - self.harness_s - client_s


@dataclass
class WindowSampler:
    """Samples taken at ``window_start`` and ``window_end``.

    ``server`` is empty for an engine inside its client or tier, whose CPU is theirs, and None for a server
    that the reader named by its endpoint. ``between`` is what stands between client and server.
    """

    server: Sequence[Running] | None
    between: Sequence[Running]
    _samples: dict[str, WindowCpu] = field(default_factory=dict)

    def on_event(self, event: dict[str, Any]) -> None:
        """Progress of a client (clients/CONTRACT.md); other events are passed over."""
        name = event.get("event")
        if name in {"window_start", "window_end"}:
            machine = machine_cpu()
            self._samples[name] = WindowCpu(
                math.nan if self.server is None else _cpu_s(self.server),
                _cpu_s(self.between),
                time.process_time(),
                machine.busy_s,
                machine.steal_s,
            )

    def window_cpu(self) -> WindowCpu:
        """Differences between both edges; all NaN when the client never told them."""
        if len(self._samples) < 2:
            return WindowCpu(*[math.nan] * 5)
        start, end = self._samples["window_start"], self._samples["window_end"]
        return WindowCpu(
            *(getattr(end, name) - getattr(start, name) for name in WindowCpu.__dataclass_fields__)
        )


def _cpu_s(several: Sequence[Running]) -> float:
    found = cpu_s_of(several)
    return math.nan if found is None else found
