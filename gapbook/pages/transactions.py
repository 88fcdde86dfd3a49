"""Transactions: how many a server counts for each operation that it acknowledged."""

from __future__ import annotations

from collections.abc import Sequence

from gapbook.markup import Html, values_table
from gapbook.method.cells import Named
from gapbook.method.findings import Findings
from gapbook.method.interval import Interval

__all__ = ["transactions_table"]

_METRIC = "transactions"
_SAME = 0.005
"""How near to each other bounds are printed as one number."""


def transactions_table(found: Findings, contestants: Sequence[Named]) -> Html:
    """The transactions of each server by its own count, in whole trials, beside what was acknowledged in them."""
    rows: list[list[str | Html]] = []
    for one in found.contestants(contestants):
        for treatment in found.treatments_of(one.name):
            trials = [row for row in found.rows(one.name, treatment) if row["valid"]]
            told = [row for row in trials if row["metric_transactions"] is not None]
            counted = f"{sum(row['metric_transactions'] for row in told):,}" if told else "not counted"
            rows.append(
                [
                    f"{one.name}, {found.at(treatment)}",
                    counted if trials else "no valid trial",
                    f"{sum(row['acknowledged'] for row in told):,}" if told else "–",
                    _each(found.estimate(one.name, treatment, _METRIC)),
                ]
            )
    return values_table(
        ("contestant", "transactions counted", "operations acknowledged", "transactions for each"), rows
    )


def _each(value: Interval | None) -> str:
    """``3.00 [2.98–3.02]``; without bounds where they are the same to the digits printed."""
    if value is None:
        return "–"
    if not value.bounded or value.high - value.low < _SAME:
        return f"{value.estimate:.2f}"
    return f"{value.estimate:.2f} [{value.low:.2f}–{value.high:.2f}]"
