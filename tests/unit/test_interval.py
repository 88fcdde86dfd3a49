"""Numbers as they are printed."""

from __future__ import annotations

import pytest

from gapbook.method.interval import Interval, format_factor


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


def test_an_interval_says_where_its_bounds_are_and_keeps_them_apart_from_none() -> None:
    assert Interval(2.0, 1.5, 2.6, 5).as_factor() == "×2.00 [1.50–2.60]"
    assert Interval(2.0, float("nan"), float("nan"), 1).as_factor() == "×2.00"
