"""What machines found together holds the next one's ratio as often as it claims; what one found does not."""

from __future__ import annotations

import math

import pytest

from gapbook.method.machine_coverage import measure_machine_coverage
from gapbook.method.random_effects import expected
from gapbook.method.spread import usual_noise, usual_spread

_PLANTS = 400


def _held(machines: int, spread_log: float) -> float:
    found = measure_machine_coverage(machines, spread_log=spread_log, noise_log=0.1, blocks=5, plants=_PLANTS)
    return found.held / found.plants


def test_where_machines_do_not_differ_one_holds_for_all_as_often_as_it_claims() -> None:
    assert 0.92 <= _held(1, 0.0) <= 0.975


def test_one_machine_says_little_of_another_and_five_what_they_claim() -> None:
    assert _held(1, 0.3) < 0.5
    assert _held(5, 0.3) > 0.9
    narrow, wide = (
        measure_machine_coverage(known, spread_log=0.3, noise_log=0.1, blocks=5, plants=50).half_log
        for known in (1, 5)
    )
    assert narrow < wide


def test_of_one_run_its_own_interval_is_expected_and_of_two_their_range_widened() -> None:
    half = 2.776 * 0.1
    assert expected([1.0], [0.1], [5]) == pytest.approx((1 - half, 1 + half), rel=1e-3)
    half = 2.306 * 0.1 / math.sqrt(2)
    assert expected([1.0, 2.0], [0.1, 0.1], [5, 5]) == pytest.approx((1 - half, 2 + half), rel=1e-3)
    with pytest.raises(ValueError, match="no estimate"):
        expected([], [], [])


def test_the_noise_of_the_stored_runs_is_that_of_intervals_of_ten_percent_or_so() -> None:
    assert 0.02 < usual_noise() < 0.25
    assert usual_noise() < usual_spread(same_processor=False).ratios
