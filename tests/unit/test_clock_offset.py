"""The clock of another host: its offset lies within its bound, whatever the ways take and the clock says."""

from __future__ import annotations

import random

import pytest

from gapbook.errors import ClientError
from gapbook.load.clock_offset import (
    EXCHANGES,
    MOST_BOUND_S,
    ClockOffset,
    measured_offset,
    require_same_clock,
)


class _Exchange:
    """Two clocks and the ways between them, which take what is drawn; the host's clock is ahead by ``ahead_s``."""

    def __init__(self, ahead_s: float, ways_s: list[tuple[float, float]]) -> None:
        self.ahead_s = ahead_s
        self.ways_s = iter(ways_s)
        self.true_s = 1_800_000_000.0

    def now(self) -> float:
        return self.true_s

    def ask(self) -> float:
        there_s, back_s = next(self.ways_s)
        self.true_s += there_s
        said_s = self.true_s + self.ahead_s
        self.true_s += back_s
        return said_s


@pytest.mark.parametrize("ahead_s", [0.0, 1.0, -3600.0, 1e-4])
@pytest.mark.parametrize("seed", range(20))
def test_the_offset_lies_within_its_bound_however_unequal_the_ways_are(ahead_s: float, seed: int) -> None:
    draw = random.Random(seed)
    ways_s = [(draw.expovariate(2000), draw.expovariate(200)) for _ in range(EXCHANGES)]
    exchange = _Exchange(ahead_s, ways_s)
    found = measured_offset(exchange.ask, exchange.now)
    # A double of such a time has a grain of a quarter of a microsecond.
    assert abs(found.offset_s - ahead_s) <= found.bound_s + 1e-6
    assert found.bound_s == pytest.approx(min(map(sum, ways_s)) / 2, abs=1e-6)
    assert found.there(100.0) == pytest.approx(100.0 + found.offset_s)


def test_the_quickest_exchange_counts() -> None:
    exchange = _Exchange(1.0, [(0.004, 0.0), (0.0001, 0.0001), (0.0, 0.003)])
    found = measured_offset(exchange.ask, exchange.now, exchanges=3)
    assert found.offset_s == pytest.approx(1.0, abs=1e-6)
    assert found.bound_s == pytest.approx(0.0001, abs=1e-6)


def test_a_clock_that_is_not_known_well_is_refused_with_its_bound_and_the_limit() -> None:
    far = _Exchange(0.0, [(MOST_BOUND_S, MOST_BOUND_S * 1.6)] * EXCHANGES)
    with pytest.raises(
        ClientError, match=r"^its clock is known within 6\.5 ms only, .*; allowed: 5 ms"
    ) as said:
        measured_offset(far.ask, far.now)
    assert "\n" not in str(said.value)


def test_a_clock_of_ours_that_is_set_back_makes_no_bound() -> None:
    exchange = _Exchange(0.5, [(0.0, -1.0), (0.001, 0.001)])
    found = measured_offset(exchange.ask, exchange.now, exchanges=2)
    assert found.offset_s == pytest.approx(0.5, abs=1e-6)
    assert found.bound_s == pytest.approx(0.001, abs=1e-6)


def test_a_clock_that_is_set_while_it_loads_is_refused() -> None:
    before = ClockOffset(1.0, 0.001)
    require_same_clock(before, ClockOffset(1.0 + MOST_BOUND_S, 0.001))
    with pytest.raises(ClientError, match=r"^its clock moved by 100\.0 ms"):
        require_same_clock(before, ClockOffset(1.1, 0.001))
