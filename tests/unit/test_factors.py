"""Shares close exactly; games worked by hand come out; infeasible cells leave out their orderings."""

import math
import random
from itertools import product

import numpy as np
import pytest

from gapbook.method.estimate import geometric_interval
from gapbook.method.factors import Cell, Decomposition, Factor, decompose, further

Cells = dict[Cell, dict[int, float]]

CLIENT = Factor("Client", "client", "node", "rust", "stack")
DEPTH = Factor("Pipelining", "in flight", "1", "64", "wire")
ENGINE = Factor("Engine", "system", "a", "b", "residual")


def test_two_factors_by_hand() -> None:
    # log2: both orders give depth 1 then 3 or 2; client 2 or 1. Means: 1.5 and 2.5.
    cells: Cells = {
        ("node", "1"): {0: 1.0},
        ("rust", "1"): {0: 4.0},
        ("node", "64"): {0: 8.0},
        ("rust", "64"): {0: 16.0},
    }
    parts = decompose([CLIENT, DEPTH], cells)
    assert parts is not None
    client, depth = parts.shares
    assert client.multiplier.estimate == pytest.approx(2**1.5)
    assert depth.multiplier.estimate == pytest.approx(2**2.5)
    assert (client.order_low, client.order_high) == pytest.approx((2, 4))
    assert (depth.order_low, depth.order_high) == pytest.approx((4, 8))
    assert parts.orderings == parts.orderings_possible == 2


def test_an_infeasible_cell_leaves_one_ordering() -> None:
    cells: Cells = {("node", "1"): {0: 1.0}, ("rust", "1"): {0: 4.0}, ("rust", "64"): {0: 16.0}}
    parts = decompose([CLIENT, DEPTH], cells)
    assert parts is not None
    assert [share.multiplier.estimate for share in parts.shares] == pytest.approx([4, 4])
    assert (parts.orderings, parts.cells_measured, parts.cells_possible) == (1, 3, 4)


def test_a_dummy_factor_gets_one_and_symmetric_factors_get_the_same() -> None:
    cells: Cells = {}
    for client, depth, engine in product(("node", "rust"), ("1", "64"), ("a", "b")):
        cells[client, depth, engine] = {0: 3.0 ** ((client == "rust") + (depth == "64"))}
    parts = decompose([CLIENT, DEPTH, ENGINE], cells)
    assert parts is not None
    assert [share.multiplier.estimate for share in parts.shares] == pytest.approx([3, 3, 1])


def binary(count: int) -> list[Factor]:
    return [Factor(f"factor {i}", f"dimension {i}", "0", "1", "stack") for i in range(count)]


def test_the_glove_game() -> None:
    # One left glove, two right ones; a pair is worth 1. By hand: the left one 2/3, each right one 1/6.
    cells: Cells = {
        (left, one, other): {0: math.exp(left == "1" and "1" in {one, other})}
        for left, one, other in product("01", repeat=3)
    }
    parts = decompose(binary(3), cells)
    assert parts is not None
    logs = [math.log(share.multiplier.estimate) for share in parts.shares]
    assert logs == pytest.approx([2 / 3, 1 / 6, 1 / 6])
    assert [math.log(share.order_low) for share in parts.shares] == pytest.approx([0, 0, 0])
    assert [math.log(share.order_high) for share in parts.shares] == pytest.approx([1, 1, 1])


def test_a_precedence_restricted_game_by_hand() -> None:
    # The second factor can only come after the first (no Rust client for that interface). Of 6 orders
    # 3 remain: 1 2 3, 1 3 2, 3 1 2. Values: {1} 1, {3} 2, {12} 4, {13} 5, {123} 9.
    worth = {"000": 0, "100": 1, "001": 2, "110": 4, "101": 5, "111": 9}
    cells: Cells = {tuple(cell): {0: math.exp(value)} for cell, value in worth.items()}
    parts = decompose(binary(3), cells)
    assert parts is not None
    assert (parts.orderings, parts.orderings_possible) == (3, 6)
    logs = [math.log(share.multiplier.estimate) for share in parts.shares]
    # First: 1, 1, 3. Second: 3, 4, 4. Third: 5, 4, 2.
    assert logs == pytest.approx([5 / 3, 11 / 3, 11 / 3])
    assert [math.log(share.order_low) for share in parts.shares] == pytest.approx([1, 3, 2])
    assert [math.log(share.order_high) for share in parts.shares] == pytest.approx([3, 4, 5])


def test_an_edge_on_no_whole_path_counts_for_nothing() -> None:
    # 010 can be reached from the start, but leads nowhere: its step of 50 must not show.
    worth = {"000": 0, "100": 1, "010": 50, "101": 3, "111": 6}
    parts = decompose(binary(3), {tuple(cell): {0: math.exp(value)} for cell, value in worth.items()})
    assert parts is not None
    assert parts.orderings == 1
    assert [math.log(share.multiplier.estimate) for share in parts.shares] == pytest.approx([1, 3, 2])
    assert [math.log(share.order_high) for share in parts.shares] == pytest.approx([1, 3, 2])


def test_orderings_of_ten_factors_are_counted_exactly_and_close() -> None:
    draw = random.Random(0)
    cells: Cells = {
        corner: {b: math.exp(draw.gauss(5, 2)) for b in range(4)} for corner in product("01", repeat=10)
    }
    whole = decompose(binary(10), cells)
    assert whole is not None
    assert whole.orderings == whole.orderings_possible == math.factorial(10)
    assert whole.closing_error_log < 1e-9
    # All orderings that start with factor 0 pass this cell.
    del cells["1", *"0" * 9]
    without = decompose(binary(10), cells)
    assert without is not None
    assert without.orderings == math.factorial(10) - math.factorial(9)
    assert without.closing_error_log < 1e-9


def test_missing_trials_change_nothing_where_factors_and_blocks_multiply() -> None:
    draw = random.Random(3)
    effects, luck = [0.5, -0.2, 1.0, 0.1], [0.0, 0.3, -0.2, 0.1, 0.05]
    cells: Cells = {
        corner: {
            b: math.exp(sum(e for e, bit in zip(effects, corner, strict=True) if bit == "1") + luck[b])
            for b in range(5)
            if draw.random() > 0.2
        }
        for corner in product("01", repeat=4)
    }
    parts = decompose(binary(4), cells)
    assert parts is not None
    assert parts.trials_missing > 5
    assert parts.blocks_incomplete == 4
    for share, effect in zip(parts.shares, effects, strict=True):
        assert math.log(share.multiplier.estimate) == pytest.approx(effect)
        assert math.log(share.order_low) == pytest.approx(math.log(share.order_high)) == pytest.approx(effect)


def test_the_bootstrap_stands_beside_every_interval() -> None:
    draw = random.Random(4)
    cells: Cells = {
        corner: {b: math.exp(draw.gauss(5, 0.1)) for b in range(6)} for corner in product("01", repeat=2)
    }
    parts = decompose(binary(2), cells)
    assert parts is not None
    for t, bootstrap in [
        (parts.gap, parts.gap_bootstrap),
        *((s.multiplier, s.bootstrap) for s in parts.shares),
    ]:
        assert bootstrap is not None
        assert t.low < bootstrap.low < bootstrap.estimate < bootstrap.high < t.high


def test_too_many_factors_and_a_factor_that_changes_nothing_are_refused() -> None:
    with pytest.raises(ValueError, match="at most 16"):
        decompose(binary(17), {})
    with pytest.raises(ValueError, match="two levels"):
        decompose([Factor("Same", "d", "0", "0", "stack")], {("0",): {0: 1.0}})


@pytest.mark.parametrize("seed", range(20))
def test_shares_close_on_any_lattice_and_in_every_block(seed: int) -> None:
    draw = random.Random(seed)
    corners: list[Cell] = list(product(("node", "rust"), ("1", "64"), ("a", "b")))
    cells: Cells = {corner: {b: math.exp(draw.gauss(5, 2)) for b in range(5)} for corner in corners}
    for corner in draw.sample(corners[1:-1], draw.randint(0, 3)):
        del cells[corner]
    parts = decompose([CLIENT, DEPTH, ENGINE], cells)
    if parts is None:
        assert len(cells) < 8
        return
    assert parts.closing_error_log < 1e-9
    for block in range(5):
        gap = cells[corners[-1]][block] / cells[corners[0]][block]
        assert math.prod(share.contrast.factor_by_block[block] for share in parts.shares) == pytest.approx(
            gap, rel=1e-12
        )


def test_a_refused_trial_costs_that_trial_only() -> None:
    cells: Cells = {
        ("node", "1"): {0: 1.0, 1: 2.0, 2: 4.0},
        ("rust", "1"): {0: 4.0, 1: 8.0},
        ("rust", "64"): {0: 16.0, 1: 32.0, 2: 64.0},
    }
    parts = decompose([CLIENT, DEPTH], cells)
    assert parts is not None
    assert (parts.blocks, parts.blocks_incomplete, parts.trials_missing) == (3, 1, 1)
    assert parts.gap.n == 3
    # Each block doubles all cells, so the missing trial would have been 16.
    assert [share.multiplier.estimate for share in parts.shares] == pytest.approx([4, 4])
    assert parts.end.estimate / parts.start.estimate == pytest.approx(parts.gap.estimate, rel=1e-12)
    assert parts.start.estimate == pytest.approx(2)


def test_a_cell_with_one_trial_among_many_blocks_counts_as_not_measured() -> None:
    cells: Cells = {
        ("node", "1"): {0: 1.0, 1: 1.0},
        ("rust", "1"): {0: 4.0},
        ("node", "64"): {0: 2.0, 1: 2.0},
        ("rust", "64"): {0: 16.0, 1: 16.0},
    }
    parts = decompose([CLIENT, DEPTH], cells)
    assert parts is not None
    assert (parts.orderings, parts.cells_measured) == (1, 3)
    assert [share.multiplier.estimate for share in parts.shares] == pytest.approx([8, 2])


def test_where_only_one_trial_remains_on_the_only_path_there_is_no_interval() -> None:
    cells: Cells = {
        ("node", "1"): {0: 1.0, 1: 1.0},
        ("rust", "1"): {0: 4.0},
        ("rust", "64"): {0: 16.0, 1: 100.0},
    }
    parts = decompose([CLIENT, DEPTH], cells)
    assert parts is not None
    assert parts.gap.estimate == pytest.approx(40)
    assert parts.gap.bounded
    assert parts.closing_error_log < 1e-9
    assert [share.multiplier.bounded for share in parts.shares] == [False, False]
    assert [share.bootstrap for share in parts.shares] == [None, None]


def test_no_path_or_no_common_block_gives_nothing() -> None:
    assert decompose([CLIENT, DEPTH], {("node", "1"): {0: 1.0}, ("rust", "64"): {0: 2.0}}) is None
    disjoint: Cells = {("node", "1"): {0: 1.0}, ("rust", "1"): {1: 2.0}, ("rust", "64"): {0: 2.0}}
    assert decompose([CLIENT, DEPTH], disjoint) is None


def test_orders_are_counted_among_those_that_can_be_run_where_that_is_known() -> None:
    cells: Cells = {tuple(cell): {0: 1.0 + int(cell, 2)} for cell in ("000", "100", "110", "111")}
    found = []
    # Measured is what can be run, whoever says else; 011 alone leads nowhere.
    for feasible in (None, [], [("0", "1", "1")], [("0", "1", "0")], list(product("01", repeat=3))):
        parts = decompose(binary(3), cells, feasible)
        assert parts is not None
        assert parts.orderings == 1
        found.append((parts.orderings_possible, parts.cells_possible, parts.feasible_known))
    assert found == [(6, 8, False), (1, 4, True), (1, 5, True), (2, 5, True), (6, 8, True)]


def test_factors_together_are_what_they_multiply_to_block_by_block() -> None:
    draw = random.Random(3)
    cells = list(product("ab", repeat=3))
    factors = [Factor(f"factor {i}", f"dimension {i}", "a", "b", "stack") for i in range(3)]
    parts = decompose(factors, {cell: {b: math.exp(draw.gauss(0, 0.3)) for b in range(5)} for cell in cells})
    assert parts is not None
    found = parts.together(factors[:2])
    by_block = [
        math.prod(share.contrast.factor_by_block[block] for share in parts.shares[:2]) for block in range(5)
    ]
    by_hand = geometric_interval(by_block)
    assert vars(found.interval) == pytest.approx(vars(by_hand))
    whole = parts.together(factors).interval
    assert vars(whole) == pytest.approx(vars(parts.gap))
    alone = parts.together(factors[1:2])
    assert vars(alone.interval) == pytest.approx(vars(parts.shares[1].multiplier))


# --- a step further ---------------------------------------------------------------------------
def closed(cells: Cells) -> Decomposition:
    parts = decompose([CLIENT, DEPTH], cells)
    assert parts is not None
    return parts


def chain(*goodputs: float, n: int = 4, luck: float = 2.0) -> Cells:
    """The one way through both factors; each block is ``luck`` times as fast as the one before."""
    corners = [("node", "1"), ("rust", "1"), ("rust", "64")]
    return {
        corner: {b: goodput * luck**b for b in range(n)}
        for corner, goodput in zip(corners, goodputs, strict=True)
    }


def test_a_step_further_is_the_ratio_of_both_gaps_and_closes_with_the_shares_of_the_first() -> None:
    here, there = closed(chain(1, 2, 8)), closed(chain(1, 3, 24, luck=0.5))
    found = further(here, there)
    assert found.step.interval.estimate == pytest.approx(3)
    assert found.whole == there.whole
    assert found.end.estimate / found.start.estimate == pytest.approx(24)
    assert math.prod([*(s.multiplier.estimate for s in here.shares), found.step.interval.estimate]) == (
        pytest.approx(24)
    )
    # What moves whole blocks moves no ratio, so nothing is left to be uncertain of.
    assert found.step.standard_error_log == pytest.approx(0)
    assert found.step.factor_by_block == pytest.approx(dict.fromkeys(range(4), 3.0))


def test_a_step_further_of_blocks_that_both_gaps_hold_is_their_paired_t_interval() -> None:
    draw = random.Random(5)
    goodput: list[Cells] = [
        {corner: {b: math.exp(draw.gauss(0, 0.3)) for b in range(6)} for corner in chain(1, 1, 1)}
        for _ in range(2)
    ]
    start, end = ("node", "1"), ("rust", "64")
    by_block = [
        goodput[1][end][b] / goodput[1][start][b] / (goodput[0][end][b] / goodput[0][start][b])
        for b in range(6)
    ]
    found = further(*map(closed, goodput)).step.interval
    by_hand = geometric_interval(by_block)
    assert (found.estimate, found.low, found.high) == pytest.approx(
        (by_hand.estimate, by_hand.low, by_hand.high)
    )


def test_a_step_further_without_an_interval_of_either_gap_has_none_and_closes() -> None:
    here, alone = closed(chain(1, 2, 8)), closed(chain(1, 2, 12, n=1))
    for step in (further(here, alone).step, further(alone, alone).step):
        assert not step.interval.bounded
    assert further(here, alone).step.interval.estimate == pytest.approx(12 / 8)
    assert further(alone, alone).step.by_block == {0: 0.0}


def test_intervals_of_a_step_further_hold_the_truth_where_blocks_are_missing() -> None:
    """As published runs are: the ends in all blocks, what lies between in some, and a trial refused here and there."""
    blocks = {("node", "1"): (0, 2, 4, 6, 8), ("rust", "1"): (0, 3, 6), ("rust", "64"): tuple(range(10))}
    random_ = np.random.default_rng(0)
    held, plants = 0, 400
    for plant in range(plants):
        luck, gaps = random_.normal(0, 0.2, 10), []
        for treatment in range(2):
            # One of each end refused: two patterns, so that each design is computed once.
            lost = {(("node", "1"), 2 * (treatment + plant % 2)), (("rust", "64"), 5 + treatment)}
            gaps.append(
                closed(
                    {
                        corner: {
                            b: math.exp(depth * (1 + treatment) + luck[b] + random_.normal(0, 0.05))
                            for b in inside
                            if (corner, b) not in lost
                        }
                        for depth, (corner, inside) in enumerate(blocks.items())
                    }
                )
            )
        found = further(*gaps).step.interval
        held += found.low <= math.exp(2) <= found.high
    assert 0.93 <= held / plants <= 0.99
