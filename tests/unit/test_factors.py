"""Shares close exactly; games worked by hand come out; infeasible cells leave out their orderings."""

import math
import random
from itertools import product

import pytest

from gapbook.factors import Cell, Factor, decompose

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
        assert math.prod(share.by_block[block] for share in parts.shares) == pytest.approx(gap, rel=1e-12)


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
