"""Do the parts of a gap hold on another machine? They multiply to the gap on each, so the movement comes apart as well."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gapbook.markup import Html, values_table
from gapbook.method.factors import Factor
from gapbook.method.findings import Findings
from gapbook.method.interval import format_factor
from gapbook.method.travelled import OnProcessor, on_processors

__all__ = ["travelled"]


def travelled(found: Findings, factors: Sequence[Factor], treatment: float) -> Html:
    """A sentence that names the factor that moves most, and a table of each factor by processor; empty where fewer than
    two processors closed the gap."""
    by_processor = on_processors(found, factors, treatment)
    if len(by_processor) < 2:
        return Html("")
    least, greatest = by_processor[0], by_processor[-1]
    moved = [after / before for before, after in zip(least.shares, greatest.shares, strict=True)]
    most = max(range(len(moved)), key=lambda index: abs(math.log(moved[index])))
    lead = Html(
        "<p>At {} the largest gap is ×{} the smallest. The changes of the factors multiply to that; the largest change is that "
        "of <em>{}</em>, ×{}. Factors are means over {}.</p>"
    ).format(
        found.at(treatment),
        format_factor(greatest.gap / least.gap),
        factors[most].name,
        format_factor(moved[most]),
        _orders(least.each[0].orderings),
    )
    columns = ["factor", *(_named(one) for one in by_processor), "largest gap ÷ smallest"]
    rows = [
        [factor.name, *(_factor(one.shares[index]) for one in by_processor), _factor(moved[index])]
        for index, factor in enumerate(factors)
    ]
    whole = ["whole gap", *(_factor(one.gap) for one in by_processor), _factor(greatest.gap / least.gap)]
    return lead + values_table(columns, [*rows, whole])


def _orders(number: int) -> str:
    return (
        "one order of the steps"
        if number == 1
        else f"the {number} orders of the steps that every run measured"
    )


def _named(one: OnProcessor) -> str:
    return f"{one.processor}, {len(one.each)} run{'' if len(one.each) == 1 else 's'}"


def _factor(value: float) -> str:
    return f"×{format_factor(value)}"
