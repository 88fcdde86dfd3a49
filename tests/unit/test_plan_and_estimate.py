"""Plans are complete, randomised and repeatable; intervals are those of the textbook."""

import math

import pytest

from gapbook.estimate import geometric_interval, ratio_interval
from gapbook.plan import make_plan


def test_every_block_is_complete_and_orders_differ() -> None:
    plan = make_plan(["a", "b", "c"], [0.5, 1.5], blocks=6, seed=1)
    by_block = [[(t.contestant, t.alpha) for t in plan if t.block == block] for block in range(6)]
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


def test_ratios_are_paired_by_block() -> None:
    ratio = ratio_interval({0: 10.0, 1: 40.0, 2: 7.0}, {0: 5.0, 1: 20.0, 3: 1.0})
    assert ratio is not None
    assert ratio.estimate == pytest.approx(2.0)
    assert ratio.n == 2
    assert ratio_interval({0: 1.0}, {1: 1.0}) is None
