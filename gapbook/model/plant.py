"""The truth about a plant: what a perfect measurement of a simulated machine would find.

A plant (clients/rust/gap-plant) is a closed queueing network with deterministic times: an operation
waits for one of ``lanes`` and is served, takes the lock if it needs it, waits for the commit timer,
and its answer travels for the round trip. A client in a closed loop sends its next operation when an
answer comes, in no time of its own.

Noise multiplies all times of a trial by one factor, so goodput is divided by it: the truth is that
of factor 1, the median.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, fields, replace

from gapbook.errors import ParameterError

__all__ = ["Knobs", "counted_bounds_per_s", "true_goodput_per_s"]

_NS_PER_US = 1000
_NS_PER_S = 1_000_000_000
_TRANSFERS_SIMULATED = 100_000
_PERIODS_WARMED_UP = 3
_PERIODS_SIMULATED = 10


@dataclass(frozen=True)
class Knobs:
    """What a plant is told to be; names and meanings are those of the program.

    ``hot`` is the share of operations that need the lock, None those that touch account or counter 0. ``compute_us`` is how
    much of its service time each operation keeps a processor busy: no part of the truth, which is that of a machine with
    processors enough.
    """

    service_us: float = 0.0
    lanes: int = 1
    compute_us: float = 0.0
    round_trip_us: float = 0.0
    commit_timer_us: float = 0.0
    lock_us: float = 0.0
    hot: float | None = None
    stall_us: float = 0.0
    stall_every_us: float = 0.0
    noise_seed: int = 0
    noise_sd: float = 0.0
    drift_sd: float = 0.0

    @classmethod
    def parse(cls, database: str) -> Knobs:
        """``plant service_us=100 ...``; raises ParameterError naming a word that is no knob."""
        first, *words = database.split() or [""]
        if first != "plant":
            raise ParameterError(f"database: {database!r} is no plant; say plant, then knobs")
        known = {knob.name for knob in fields(cls)}
        values: dict[str, float] = {}
        for word in words:
            name, _, number = word.partition("=")
            if name not in known:
                raise ParameterError(f"knob: {name!r} is unknown; allowed: {', '.join(sorted(known))}")
            values[name] = float(number)
        lanes, seed = int(values.pop("lanes", 1)), int(values.pop("noise_seed", 0))
        return cls(lanes=lanes, noise_seed=seed, **values)

    def farther(self, added_ms: float) -> Knobs:
        """The same machine behind a round trip that is longer by so much."""
        return replace(self, round_trip_us=self.round_trip_us + added_ms * 1000)


def counted_bounds_per_s(
    knobs: Knobs, connections: int, in_flight: int, window_s: float
) -> tuple[float, float]:
    """The least and the most goodput that a perfect client can count in one window of a plant.

    Answers of a plant with a commit timer come in ticks, and a window that is no whole number of them
    long holds one more or one less, as it falls. Without a timer both are the truth.
    """
    truth_per_s = true_goodput_per_s(knobs, connections, in_flight)
    timer_s = knobs.commit_timer_us / 1e6
    if not timer_s:
        return truth_per_s, truth_per_s
    ticks = round(window_s / timer_s, 9)
    in_a_tick = truth_per_s * timer_s
    return math.floor(ticks) * in_a_tick / window_s, math.ceil(ticks) * in_a_tick / window_s


def true_goodput_per_s(
    knobs: Knobs,
    connections: int,
    in_flight: int,
    *,
    hot_share: float | None = None,
) -> float:
    """Operations a second of a closed loop against a noiseless plant, after any transient: what a client
    counts as goodput, in the mean over where its window falls.

    Exact in closed form
    - without timer, lock and stalls: ``min(lanes / service, n / (service + round trip))`` for n in flight,
    - with a timer alone, when all in flight fit into one of its periods: ``n / timer``.

    Everything else is simulated operation by operation on the program's own schedule, exact but for the
    edges of the simulated window (under 0.1 % from ten periods of a stall or timer on). Where the
    lock is taken for account 0 its share must be given (:func:`gapbook.model.work.hot_share`) and is spread evenly,
    while a real load draws it: exact only where the lock or the lane is always busy.

    The truth is for a client and a network that take no time. A real loop adds some d to each round
    trip, which lowers an unsaturated goodput by about d / (service + round trip) and leaves a
    saturated one alone.
    """
    knobs, n = _with_share(knobs, hot_share), connections * in_flight
    truth_per_s = _closed_form(knobs, n)
    return _simulate(knobs, connections, in_flight) if truth_per_s is None else truth_per_s


def _with_share(knobs: Knobs, share: float | None) -> Knobs:
    if knobs.lock_us == 0:
        return replace(knobs, hot=0.0)
    if knobs.hot is None and share is None:
        raise ParameterError(
            "hot_share: needed for a lock that account 0 takes; give the share of transfers that touch it"
        )
    return knobs if knobs.hot is not None else replace(knobs, hot=share)


def _closed_form(knobs: Knobs, n: int) -> float | None:
    """Operations a second with n in flight; None where no closed form is exact."""
    if knobs.lock_us or knobs.stall_us:
        return None
    cycle_us = knobs.service_us + knobs.round_trip_us
    if knobs.commit_timer_us == 0:
        capacity = knobs.lanes / knobs.service_us if knobs.service_us else math.inf
        return 1e6 * min(capacity, n / cycle_us if cycle_us else math.inf)
    busy_us = math.ceil(n / knobs.lanes) * knobs.service_us
    if knobs.round_trip_us + busy_us <= knobs.commit_timer_us:
        return 1e6 * n / knobs.commit_timer_us
    return None


class _Machine:
    """The schedule of the program's machine.rs, in the same whole nanoseconds."""

    def __init__(self, knobs: Knobs) -> None:
        self.service, self.round_trip, self.timer, self.lock, self.stall, self.stall_every = (
            round(time_us * _NS_PER_US)
            for time_us in (
                knobs.service_us,
                knobs.round_trip_us,
                knobs.commit_timer_us,
                knobs.lock_us,
                knobs.stall_us,
                knobs.stall_every_us,
            )
        )
        self.hot = knobs.hot or 0.0
        self._lanes = [0] * knobs.lanes
        self._lock_free = 0
        self._admitted = 0

    def admit(self, arrival: int) -> int:
        end = self._work(max(arrival, self._lanes[0]), self.service)
        heapq.heapreplace(self._lanes, end)
        number = self._admitted
        self._admitted += 1
        if math.floor((number + 1) * self.hot) > math.floor(number * self.hot):
            end = self._lock_free = self._work(max(end, self._lock_free), self.lock)
        if self.timer:
            end = -(-end // self.timer) * self.timer
        return end + self.round_trip

    def _work(self, start: int, work: int) -> int:
        if not work or not self.stall:
            return start + work
        active = self.stall_every - self.stall
        worked = start // self.stall_every * active + min(start % self.stall_every, active) + work
        periods = (worked - 1) // active
        return periods * self.stall_every + worked - periods * active


def _simulate(knobs: Knobs, connections: int, in_flight: int) -> float:
    """Answers a second between two moments a whole number of periods apart."""
    machine = _Machine(knobs)
    n = connections * in_flight
    turn = n * (machine.service + machine.lock) + machine.round_trip
    period = max(machine.stall_every, machine.timer, turn)
    if machine.stall and machine.timer:
        period = math.lcm(machine.stall_every, machine.timer)
    start = _PERIODS_WARMED_UP * period
    arrivals = [(0, number, number % connections) for number in range(n)]
    last_due = [0] * connections
    counts: list[int] = []
    number = n
    while True:
        arrival, _, connection = heapq.heappop(arrivals)
        if arrival > start:
            elapsed = (arrival - 1 - start) // period
            if elapsed >= len(counts):
                counts.extend([0] * (elapsed + 1 - len(counts)))
            if number >= _TRANSFERS_SIMULATED and len(counts) > _PERIODS_SIMULATED:
                # The period under way is not whole.
                return sum(counts[:-1]) / (len(counts) - 1) / period * _NS_PER_S
            counts[elapsed] += 1
        # Answers on one connection keep their order.
        last_due[connection] = max(last_due[connection], machine.admit(arrival))
        heapq.heappush(arrivals, (last_due[connection], number, connection))
        number += 1
