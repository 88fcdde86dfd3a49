"""Intervals hold the truth as often as they say, and the ways known to break that do break it."""

import math
from collections.abc import Callable

import pytest

from gapbook.markup import Html
from gapbook.method.coverage import AA_FACTOR, TOTAL_GAP, Coverage, Plant, QuantityCoverage, measure_coverage
from gapbook.pages.exhibits.coverage import coverage_table, session_coverage_table
from gapbook.pages.simulated import simulated


def by_name(coverage: Coverage) -> dict[str, QuantityCoverage]:
    return {quantity.name: quantity for quantity in coverage.quantities}


def test_intervals_cover_with_unequal_noise_and_refused_trials() -> None:
    coverage = simulated(measure_coverage, Plant(noise_ratio=3.0, refused=0.1), blocks=5, seeds=400)
    assert {TOTAL_GAP, AA_FACTOR, "factor 1"} <= by_name(coverage).keys()
    for quantity in coverage.quantities:
        assert quantity.wilson[0] <= 0.95 <= quantity.wilson[1], quantity
        assert abs(quantity.bias_log) < 0.01
        assert quantity.tried == coverage.seeds - coverage.without_interval


def test_the_percentile_bootstrap_is_too_narrow_at_five_blocks() -> None:
    coverage = simulated(measure_coverage, Plant(), blocks=5, seeds=400)
    for quantity in coverage.quantities:
        assert quantity.bootstrap_wilson[1] < 0.95


def test_drift_biases_a_fixed_order_and_a_randomised_one_not() -> None:
    drifting = {
        randomised: by_name(
            simulated(
                measure_coverage, Plant(drift_per_trial=0.02, randomised=randomised), blocks=5, seeds=400
            )
        )[TOTAL_GAP]
        for randomised in (True, False)
    }
    assert drifting[True].wilson[1] >= 0.95
    assert drifting[False].wilson[1] < 0.1
    assert abs(drifting[False].bias_log) > 5 * abs(drifting[True].bias_log)


def test_autocorrelated_noise_leaves_randomised_intervals_right() -> None:
    coverage = simulated(measure_coverage, Plant(autocorrelation=0.8), blocks=5, seeds=250)
    for quantity in coverage.quantities:
        assert quantity.wilson[1] >= 0.95 >= quantity.wilson[0] - 0.01


def test_the_aa_factor_of_a_plant_is_one_in_truth_whatever_the_others_are_at() -> None:
    coverage = measure_coverage(Plant(trial_noise=0.0), blocks=3, seeds=5)
    aa = by_name(coverage)[AA_FACTOR]
    assert (aa.covered, aa.tried) == (5, 5)
    assert abs(aa.bias_log) < 1e-12
    assert aa.width_log < 1e-9


def test_more_trials_of_the_ends_narrow_the_whole_gap_and_its_interval_still_holds() -> None:
    plain, more = (simulated(measure_coverage, Plant(end_trials=n), blocks=5, seeds=1000) for n in (1, 8))
    plain_gap, more_gap = by_name(plain)[TOTAL_GAP], by_name(more)[TOTAL_GAP]
    # Trial noise falls with the square root of eight, in expectation.
    assert more_gap.width_log == pytest.approx(plain_gap.width_log / math.sqrt(8), rel=0.15)
    for quantity in more.quantities:
        assert quantity.rate == pytest.approx(0.95, abs=0.02)


def test_one_block_has_no_coverage_to_measure() -> None:
    with pytest.raises(ValueError, match="at least 2 blocks"):
        measure_coverage(Plant(), blocks=1, seeds=1)


@pytest.mark.parametrize("table", [coverage_table, session_coverage_table])
def test_a_table_of_one_quantity_has_a_row_for_each_design(table: Callable[..., Html]) -> None:
    designs = [(name, measure_coverage(Plant(), blocks=3, seeds=2)) for name in ("one", "other")]
    rows = table(designs, only=TOTAL_GAP).html.partition("<tbody>")[2]
    assert rows.count("<tr>") == len(designs) < table(designs).html.partition("<tbody>")[2].count("<tr>")
    assert all(f"{name}: {TOTAL_GAP}" in rows for name, _ in designs)
