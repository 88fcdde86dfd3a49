"""Plans are complete, randomised and repeatable; intervals are those of the textbook."""

import math
from collections import Counter

import numpy as np
import polars as pl
import pytest
import scipy

from gapbook.method.estimate import (
    BlockFit,
    bootstrap_intervals,
    chance_within,
    geometric_interval,
    metric_interval,
    ratio_interval,
    values_by_contestant,
)
from gapbook.method.interval import Interval
from gapbook.model.plan import make_plan
from gapbook.record.metric import METRICS


def test_every_block_is_complete_and_orders_differ() -> None:
    plan = make_plan(["a", "b", "c"], [0.5, 1.5], blocks=6, seed=1)
    by_block = [[(t.contestant, t.treatment) for t in plan if t.block == block] for block in range(6)]
    assert all(sorted(block) == sorted(by_block[0]) for block in by_block)
    assert len({tuple(block) for block in by_block}) > 1
    assert [t.number for t in plan] == list(range(36))


def test_the_same_seed_gives_the_same_plan_and_another_seed_another() -> None:
    assert make_plan(["a", "b"], [0.0], blocks=4, seed=1) == make_plan(["a", "b"], [0.0], blocks=4, seed=1)
    assert make_plan(["a", "b"], [0.0], blocks=4, seed=1) != make_plan(["a", "b"], [0.0], blocks=4, seed=2)


def test_contestants_of_a_block_draw_the_same_work_and_blocks_different_work() -> None:
    plan = make_plan(["a", "b"], [0.5], blocks=3, seed=9)
    seeds = {block: {t.work_seed for t in plan if t.block == block} for block in range(3)}
    assert all(len(found) == 1 for found in seeds.values())
    assert len(set.union(*seeds.values())) == 3


def test_a_contestant_runs_only_at_the_values_that_the_plan_has_of_its_own() -> None:
    plan = make_plan(["a", "b", "c"], [1, 20, 50], blocks=4, seed=1, only_at={"b": (50, 200), "c": (7,)})
    planned = {name: {trial.treatment for trial in plan if trial.contestant == name} for name in "abc"}
    assert planned == {"a": {1, 20, 50}, "b": {50}, "c": {1, 20, 50}}
    assert len(plan) == 4 * (3 + 1 + 3)


def test_what_much_hangs_on_has_more_trials_in_each_block_and_what_is_screened_less() -> None:
    plan = make_plan(["a", "b", "c"], [0.5, 1.5], blocks=8, seed=1, trials_per_block={"a": 3, "c": 5 / 8})
    by_block = [Counter((t.contestant, t.treatment) for t in plan if t.block == block) for block in range(8)]
    assert all(
        block["a", alpha] == 3 and block["b", alpha] == 1 for block in by_block for alpha in (0.5, 1.5)
    )
    assert [block["c", 0.5] for block in by_block] == [1, 1, 0, 1, 1, 0, 1, 0]
    assert [block["c", 1.5] for block in by_block] == [block["c", 0.5] for block in by_block]
    with pytest.raises(ValueError, match="trials_per_block: b must be a number above 0"):
        make_plan(["a", "b"], [0.5], blocks=2, seed=1, trials_per_block={"b": 0})


def test_a_block_with_several_trials_of_a_cell_counts_as_their_geometric_mean() -> None:
    trials = pl.DataFrame(
        [
            ("a", 0.5, 0, True, 10.0),
            ("a", 0.5, 0, True, 40.0),
            ("a", 0.5, 0, False, 9000.0),
            ("a", 0.5, 1, True, 7.0),
            ("a", 1.5, 1, True, 3.0),
        ],
        schema=["contestant", "treatment", "block", "valid", "goodput_per_s"],
        orient="row",
    )
    assert values_by_contestant(trials, 0.5) == {"a": pytest.approx({0: 20.0, 1: 7.0})}


def test_interval_by_hand() -> None:
    # Logs 0, 1, 2: mean 1, s = 1, half width t(0.975, 2) / sqrt(3) = 4.302653 / 1.732051.
    interval = geometric_interval([1.0, math.e, math.e**2])
    half = 4.302653 / math.sqrt(3)
    assert interval.estimate == pytest.approx(math.e)
    assert interval.low == pytest.approx(math.exp(1 - half), rel=1e-6)
    assert interval.high == pytest.approx(math.exp(1 + half), rel=1e-6)


def test_one_block_has_no_interval_and_a_zero_is_refused() -> None:
    assert not geometric_interval([5.0]).bounded
    with pytest.raises(ValueError, match="above 0"):
        geometric_interval([1.0, 0.0])


def test_an_interval_of_counts_does_not_go_below_zero() -> None:
    counts, times = metric_interval([0.0, 0.0, 3.0], METRICS["catch-up"]), [1.0, 2.0, 4.0]
    assert (counts.estimate, counts.low) == (1.0, 0.0)
    assert counts.high > 3
    assert metric_interval(times, METRICS["goodput"]) == geometric_interval(times)
    assert not metric_interval([0.0], METRICS["catch-up"]).bounded


def test_ratios_are_paired_by_block() -> None:
    ratio = ratio_interval({0: 10.0, 1: 40.0, 2: 7.0}, {0: 5.0, 1: 20.0, 3: 1.0})
    assert ratio is not None
    assert ratio.estimate == pytest.approx(2.0)
    assert ratio.n == 2
    assert ratio_interval({0: 1.0}, {1: 1.0}) is None


def test_missing_trials_are_fitted_as_cell_plus_block() -> None:
    # Least squares by hand: cell b lacks block 1; block 1 is +2 for a and c, so b's mean there is 5 + 2.
    fit = BlockFit([{0: 1.0, 1: math.e**2}, {0: math.e**5}, {0: math.e, 1: math.e**3}])
    assert fit.mean_logs == pytest.approx([1, 6, 2])
    (ratio, mean) = fit.contrasts(np.array([[-1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]))
    assert ratio is not None
    assert ratio.log == pytest.approx(5)
    assert not ratio.interval.bounded  # without block 0 nothing is known of b
    assert mean is not None
    assert mean.log == pytest.approx(2)


def test_with_no_trial_missing_a_contrast_is_the_paired_t_interval() -> None:
    over, under = {0: 10.0, 1: 42.0, 2: 7.0, 3: 9.0}, {0: 5.0, 1: 20.0, 2: 3.0, 3: 4.0}
    third = {0: 1.0, 1: 90.0, 2: 2.0, 3: 5.0}
    (contrast,) = BlockFit([over, under, third]).contrasts(np.array([[1.0, -1.0, 0.0]]))
    expected = ratio_interval(over, under)
    assert contrast is not None
    assert expected is not None
    assert contrast.degrees_of_freedom == pytest.approx(3)
    for name in ("estimate", "low", "high"):
        assert getattr(contrast.interval, name) == pytest.approx(getattr(expected, name))
    assert contrast.factor_by_block == pytest.approx({b: over[b] / under[b] for b in over})


def test_blocks_that_no_cell_links_cannot_be_compared() -> None:
    assert BlockFit([{0: 1.0}, {1: 2.0}]).contrasts(np.array([[1.0, -1.0]])) == [None]


def test_only_blocks_with_both_sides_count_and_are_told() -> None:
    start = {0: 100.0, 1: 110.0, 2: 90.0, 3: 105.0}
    middle, end = {0: 210.0, 2: 150.0}, {block: 3 * value for block, value in start.items()}
    step, whole = BlockFit([start, middle, end]).contrasts(np.array([[-1.0, 1.0, 0.0], [-1.0, 0.0, 1.0]]))
    assert step is not None
    assert whole is not None
    assert (step.n, step.interval.n, whole.n) == (2, 2, 4)
    assert step.told_factor_by_block == pytest.approx({0: 2.1, 2: 150 / 90})
    assert whole.told_factor_by_block == pytest.approx(dict.fromkeys(range(4), 3.0))


def test_the_bootstrap_stays_within_the_values_and_is_repeatable() -> None:
    values = {0: 1.0, 1: 2.0, 2: 4.0, 3: 8.0, 4: 16.0}
    found, none = bootstrap_intervals([values, {0: 1.0}], seed=3)
    assert found is not None
    assert [found] == bootstrap_intervals([values], seed=3)
    assert found.estimate == pytest.approx(4)
    assert 1 < found.low < 4 < found.high < 16
    t = geometric_interval(list(values.values()))
    assert t.low < found.low
    assert found.high < t.high
    assert none is None


def test_chance_that_an_interval_lies_inside_a_band_round_the_truth() -> None:
    """Against drawn estimates whose intervals all have the width that is given."""
    half, blocks = 0.04, 6
    interval = Interval(1.0, math.exp(-half), math.exp(half), blocks)
    error = half / scipy.stats.t.ppf(0.975, blocks - 1)
    drawn = np.random.default_rng(5).normal(0, error, 200_000)
    inside = (drawn - half >= math.log(0.9)) & (drawn + half <= math.log(1.1))
    assert chance_within(interval, 0.1) == pytest.approx(inside.mean(), abs=0.005)
    assert chance_within(Interval(1.0, 0.8, 1.25, blocks), 0.1) == 0
    with pytest.raises(ValueError, match="without bounds"):
        chance_within(Interval(1.0, math.nan, math.nan, 1), 0.1)
