"""Closed loops: Little's law on what a loop does, and on the rows that were published."""

from __future__ import annotations

import random

import pytest

from gapbook.claims.arithmetic import compute
from gapbook.claims.closed_loop import (
    Row,
    explained,
    in_flight,
    in_flight_with_tail,
    most_per_s,
    outside_ms,
    published_rows,
)
from gapbook.errors import ParameterError

_USERS = (20, 50, 100, 200, 500)
_DURATION_S = 30.0


def _loop(users: int, latency_s: float, pause_s: float, *, counts_tail: bool) -> Row:
    """A closed loop, user by user: its rate over the duration and the mean of the latencies that were counted."""
    draw = random.Random(7)
    latencies = []
    for _ in range(users):
        at_s = 0.0
        while at_s < _DURATION_S:
            took_s = draw.uniform(0.9, 1.1) * latency_s
            if counts_tail or at_s + took_s <= _DURATION_S:
                latencies.append(took_s)
            at_s += took_s + pause_s
    return Row(users, len(latencies) / _DURATION_S, 1000 * sum(latencies) / len(latencies))


def test_requests_under_way_are_the_users_where_they_do_nothing_else() -> None:
    row = _loop(50, 0.01, 0.0, counts_tail=False)
    assert row.in_flight == pytest.approx(50, rel=0.002)
    assert row.departure_frac == pytest.approx(0, abs=0.002)
    assert row.is_possible(_DURATION_S)


def test_a_counted_tail_shows_more_requests_than_users() -> None:
    row = _loop(400, 2.0, 0.0, counts_tail=True)
    assert row.in_flight > 405
    assert row.in_flight == pytest.approx(in_flight_with_tail(400, row.latency_ms, _DURATION_S), rel=0.005)


def test_what_users_do_between_requests_is_told_from_the_row() -> None:
    row = _loop(20, 0.002, 0.0005, counts_tail=False)
    assert row.in_flight < 17
    assert outside_ms(row.users, row.rate_per_s, row.latency_ms) == pytest.approx(0.5, rel=0.02)


def test_the_most_is_what_keeps_every_user_busy() -> None:
    assert most_per_s(500, 82.4) == pytest.approx(6068, abs=1)
    assert in_flight(most_per_s(500, 82.4), 82.4) == pytest.approx(500)


def test_printed_digits_bound_the_time_outside() -> None:
    least, most = Row(20, 9042, 2.1).outside_ms
    assert least < outside_ms(20, 9042, 2.1) < most
    assert most - least == pytest.approx(0.1, rel=0.01)  # the last digit of 2.1, almost alone


@pytest.mark.parametrize("system", ["convex", "spacetimedb"])
def test_latencies_that_were_published_restate_the_throughputs(system: str) -> None:
    assert all(abs(row.departure_frac) < 0.055 for row in published_rows("convex", system, _USERS))


def test_one_published_row_cannot_be() -> None:
    impossible = {
        (system, row.users)
        for system in ("convex", "spacetimedb")
        for row in published_rows("convex", system, _USERS)
        if not row.is_possible(_DURATION_S)
    }
    assert impossible == {("spacetimedb", 500)}


def test_models_are_held_against_every_row() -> None:
    rows = published_rows("convex", "convex", _USERS)
    distances = explained(rows, {"flat": [228.2] * 5, "linear": [12.2 * users for users in _USERS]})
    assert distances["flat"] < 0.1
    assert distances["linear"] > 1
    with pytest.raises(ParameterError, match="model short: 1 rates for 5 rows"):
        explained(rows, {"short": [1.0]})


def test_a_row_that_was_not_published_is_refused() -> None:
    with pytest.raises(ParameterError, match="convex-throughput-convex-1000vu"):
        published_rows("convex", "convex", [1000])


def test_rows_are_those_of_the_benchmark_that_is_named() -> None:
    with pytest.raises(ParameterError, match="other-throughput-convex-20vu"):
        published_rows("other", "convex", [20])


def test_formulas_can_use_them() -> None:
    terms = {"rate": 6379.0, "ms": 82.4}
    assert compute("in_flight(rate, ms)", terms).shown == "in flight(6,379, 82.4) = 525.6"
    assert compute("greatest(rate, ms) - least(rate, ms)", terms).result == pytest.approx(6296.6)
    assert compute("geometric_mean(2, 8)", {}).result == pytest.approx(4)
    assert compute("mean(2, 8)", {}).result == 5
