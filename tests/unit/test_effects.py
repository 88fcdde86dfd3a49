"""Effects and interactions worked by hand; what was not measured is not tested."""

import math

import pytest

from gapbook.method.effects import Effect, effect_of, interactions, screen
from gapbook.method.factors import Cell
from gapbook.method.interval import Interval

DIMENSIONS = ("client", "in flight", "alpha")
CLIENT = ("client", "node", "rust")
DEPTH = ("in flight", "1", "64")
ALPHA = ("alpha", "0", "1.5")
JITTER = (1.0, 1.01, 0.99, 1.02, 0.98)


def blocks(value: float) -> dict[int, float]:
    """Five blocks, all with the same luck: ratios are then exact."""
    return {block: value * luck for block, luck in enumerate(JITTER)}


# Rust is worth 2 at depth 1 and 8 at depth 64 without contention, 2 at depth 1 with it.
CELLS: dict[Cell, dict[int, float]] = {
    ("node", "1", "0"): blocks(10),
    ("rust", "1", "0"): blocks(20),
    ("node", "64", "0"): blocks(30),
    ("rust", "64", "0"): blocks(240),
    ("node", "1", "1.5"): blocks(5),
    ("rust", "1", "1.5"): blocks(10),
    ("node", "64", "1.5"): blocks(7),
}


def test_an_effect_is_given_in_every_state_that_was_measured() -> None:
    effect = effect_of(CELLS, DIMENSIONS, *CLIENT)
    found = {(state["in flight"], state["alpha"]): value.estimate for state, value in effect.states}
    assert found == pytest.approx({("1", "0"): 2, ("64", "0"): 8, ("1", "1.5"): 2})
    assert effect.states_possible == 4
    assert effect.mean is not None
    assert effect.mean.estimate == pytest.approx(32 ** (1 / 3))


def test_without_a_state_there_is_no_effect() -> None:
    effect = effect_of({("node", "1", "0"): blocks(1)}, DIMENSIONS, *CLIENT)
    assert (effect.mean, effect.states) == (None, ())


def test_an_interaction_is_a_ratio_of_ratios_over_whole_squares() -> None:
    found = interactions(CELLS, DIMENSIONS, {"Client": CLIENT, "Pipelining": DEPTH, "Contention": ALPHA})
    by_pair = {(one.first, one.second): one for one in found}
    pipelined = by_pair["Client", "Pipelining"]
    assert pipelined.ratio.estimate == pytest.approx(4)
    assert pipelined.by_state == pytest.approx((4,))
    assert by_pair["Client", "Contention"].ratio.estimate == pytest.approx(1)
    assert by_pair["Pipelining", "Contention"].ratio.estimate == pytest.approx((7 / 5) / 3)
    assert [one.second for one in found] == ["Pipelining", "Contention", "Contention"]


def test_a_mean_that_no_state_has_is_told_with_what_each_has() -> None:
    cells = CELLS | {("rust", "64", "1.5"): blocks(3.5)}
    (only,) = interactions(cells, DIMENSIONS, {"Client": CLIENT, "Pipelining": DEPTH})
    assert only.ratio.estimate == pytest.approx(1)
    assert sorted(only.by_state) == pytest.approx([0.25, 4])


def test_the_p_value_is_that_of_the_paired_t_test_and_holm_adjusts_over_all_tested() -> None:
    # Logs of the client's ratio of ratios: 0, 1, 2: mean 1, s = 1, t = sqrt(3) on 2 degrees of freedom.
    cells: dict[Cell, dict[int, float]] = {
        ("node", "1"): {0: 1.0, 1: 1.0, 2: 1.0},
        ("rust", "1"): {0: 1.0, 1: 1.0, 2: 1.0},
        ("node", "64"): {0: 1.0, 1: 1.0, 2: 1.0},
        ("rust", "64"): {0: 1.0, 1: math.e, 2: math.e**2},
    }
    (only,) = interactions(cells, ("client", "in flight"), {"Client": CLIENT, "Pipelining": DEPTH})
    assert only.p == pytest.approx(0.2254, abs=1e-4)
    assert only.adjusted_p == only.p
    three_cells: dict[Cell, dict[int, float]] = {("x", *cell): values for cell, values in cells.items()} | {
        ("y", *cell): {b: v * (1 + 0.3 * b * len(cell[0])) for b, v in values.items()}
        for cell, values in cells.items()
    }
    changes = {"System": ("system", "x", "y"), "Client": CLIENT, "Pipelining": DEPTH}
    found = sorted(interactions(three_cells, ("system", "client", "in flight"), changes), key=lambda i: i.p)
    assert len(found) == 3
    assert found[0].adjusted_p == pytest.approx(min(1, 3 * found[0].p))
    assert [one.adjusted_p for one in found] == sorted(one.adjusted_p for one in found)


def interval(low: float, high: float) -> Interval:
    return Interval(math.sqrt(low * high), low, high, 5)


@pytest.mark.parametrize(
    ("mean", "states", "expected"),
    [
        ((1.2, 1.4), [(1.0, 1.5)], "matters"),
        ((0.97, 1.03), [(0.95, 1.05)], "negligible"),
        ((0.97, 1.03), [(0.5, 0.6), (1.7, 1.9)], "matters"),
        ((0.5, 2.0), [(0.4, 2.5)], "unresolved"),
        ((0.97, 1.03), [(math.nan, math.nan)], "unresolved"),
    ],
)
def test_only_a_factor_shown_to_be_negligible_everywhere_is_screened_out(
    mean: tuple[float, float], states: list[tuple[float, float]], expected: str
) -> None:
    effect = Effect(interval(*mean), tuple(({}, interval(*state)) for state in states), len(states))
    assert screen(effect) == expected


def test_a_factor_without_any_state_is_unresolved() -> None:
    assert screen(Effect(None, (), 4)) == "unresolved"
