"""Numbers as they are printed."""

from __future__ import annotations

import pytest

from gapbook.method.interval import Interval, format_factor, format_percent


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        (0.00123, "0.0012"),
        (0.5, "0.500"),
        (9.996, "10.00"),
        (14.14, "14.1"),
        (316.4, "316"),
        (7283.0, "7280"),
        (10_130_633.0, "10,100,000"),
    ],
)
def test_a_factor_has_three_significant_digits(value: float, printed: str) -> None:
    assert format_factor(value) == printed


@pytest.mark.parametrize(
    ("frac", "printed"), [(0.0734, "7.3"), (0.4, "40"), (0.996, "100"), (1.064, "110"), (-0.112, "-11")]
)
def test_a_percentage_has_two_significant_digits_and_no_exponent(frac: float, printed: str) -> None:
    assert format_percent(frac) == printed


def test_an_interval_says_where_its_bounds_are_and_keeps_them_apart_from_none() -> None:
    assert Interval(2.0, 1.5, 2.6, 5).as_factor() == "×2.00 [1.50–2.60]"
    assert Interval(2.0, float("nan"), float("nan"), 1).as_factor() == "×2.00"
