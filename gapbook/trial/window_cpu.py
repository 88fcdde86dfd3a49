"""CPU inside the window, by who used it: counters read when the client says where its edges are."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from gapbook.deploy.backend import Running, cpu_s_of, memory_bytes_of
from gapbook.deploy.limits import throttled_s
from gapbook.deploy.usage import LivingCpu, MachineCpu, living_cpu, machine_cpu, used_s
from gapbook.model.event import Event, Progress
from gapbook.record.row import Watched

__all__ = ["WindowCpu", "WindowSampler"]


@dataclass(frozen=True)
class WindowCpu:
    """CPU seconds inside the window; NaN where nobody could read them.

    ``programs_s`` is that of all programs on the processors that we may use, ours among them, and ``kernel_s`` that of interrupts
    and kernel threads, whoever gave them work. Where the kernel does not time interrupts by themselves, one
    that interrupts a program is in both. ``throttled_s`` are seconds for which a quota kept what was ready to run
    waiting (:func:`gapbook.deploy.limits.throttled_s`).
    """

    server_s: float
    tier_s: float
    harness_s: float
    programs_s: float
    kernel_s: float
    steal_s: float
    throttled_s: float = 0.0
    server_elsewhere: bool = False

    def other_s(self, client_s: float) -> float:
        """What neither server, tier, client nor harness used; NaN for a server here that is not ours to watch.

        Counters of the machine and of processes are not read at one instant, nor in one grain: on a quiet
        machine the difference lies on both sides of 0, and is left as it is.
        """
        server_here_s = 0.0 if self.server_elsewhere else self.server_s
        return self.programs_s - server_here_s - self.tier_s - self.harness_s - client_s


@dataclass(frozen=True)
class _Edge:
    server_s: float
    tier_s: float
    harness_s: float
    machine: MachineCpu
    living: LivingCpu
    throttled_s: float


@dataclass
class WindowSampler:
    """Samples taken at ``window_start`` and ``window_end``.

    ``server`` is empty for an engine inside its client or tier, whose CPU is theirs, and None for a server
    that the reader named by its endpoint. ``between`` is what stands between client and server. ``elsewhere`` says
    that the server takes nothing of this machine.
    """

    server: Sequence[Running] | None
    between: Sequence[Running]
    watches: bool = False
    """Whether the server is read at each word of progress too, which a client says once a second."""
    elsewhere: bool = False
    watched: list[Watched] = field(default_factory=list)
    _edges: dict[str, _Edge] = field(default_factory=dict)

    def on_event(self, event: Event) -> None:
        """Progress of a client (clients/CONTRACT.md); other events are passed over."""
        if isinstance(event, Progress) and self.watches and self.server:
            self.watched.append(
                Watched(
                    elapsed_s=event.elapsed_s,
                    cpu_s=cpu_s_of(self.server),
                    memory_bytes=memory_bytes_of(self.server),
                )
            )
        if event.name in {"window_start", "window_end"}:
            # The server right after the machine: to look at all that lives takes the longest where most is at work.
            machine = machine_cpu()
            self._edges[event.name] = _Edge(
                math.nan if self.server is None else _cpu_s(self.server),
                _cpu_s(self.between),
                time.process_time(),
                machine,
                living_cpu(),
                throttled_s(),
            )

    def window_cpu(self) -> WindowCpu:
        """Differences between both edges; all NaN when the client never told them."""
        if len(self._edges) < 2:
            nan = math.nan
            return WindowCpu(nan, nan, nan, nan, nan, nan, nan, server_elsewhere=self.elsewhere)
        start, end = self._edges["window_start"], self._edges["window_end"]
        ending = end.living.here()
        threads_s = used_s(start.living.kernel_threads, ending.kernel_threads)
        return WindowCpu(
            end.server_s - start.server_s,
            end.tier_s - start.tier_s,
            end.harness_s - start.harness_s,
            _programs_s(start, end, ending, threads_s),
            end.machine.interrupts_s - start.machine.interrupts_s + threads_s,
            end.machine.steal_s - start.machine.steal_s,
            end.throttled_s - start.throttled_s,
            server_elsewhere=self.elsewhere,
        )


def _programs_s(start: _Edge, end: _Edge, ending: LivingCpu, threads_s: float) -> float:
    """What programs used, counted in two ways; the larger, for each can only miss something.

    The machine's own count lacks interrupts that ran on top of a program, which the program's count has where
    the kernel does not time interrupts by themselves: less what ours used, that would hide as much of others.
    The sum over all programs lacks those that ended before the window did, and has all of what
    another program used that ran here last, wherever it was before.
    """
    charged_s = end.machine.charged_s - start.machine.charged_s - threads_s
    return max(charged_s, used_s(start.living.programs, ending.programs))


def _cpu_s(several: Sequence[Running]) -> float:
    found = cpu_s_of(several)
    return math.nan if found is None else found
