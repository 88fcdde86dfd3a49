"""How often intervals held the truth where whole benchmarks are simulated."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gapbook.markup import Html, values_table
from gapbook.method.coverage import Coverage, QuantityCoverage
from gapbook.method.interval import format_factor
from gapbook.method.machine_coverage import MachineCoverage

__all__ = ["coverage_table", "machine_coverage_table", "session_coverage_table"]


def coverage_table(found: Sequence[tuple[str, Coverage]], *, only: str = "") -> Html:
    """How often intervals held the truth of virtual plants, by design and quantity; ``only`` one quantity, such as the
    ``total gap``."""
    rows: list[list[str | Html]] = []
    for name, coverage in found:
        for quantity in _shown(coverage, only):
            low, high = quantity.wilson
            rows.append(
                [
                    f"{name}: {quantity.name}",
                    f"{coverage.blocks}",
                    f"{quantity.tried:,}",
                    f"{quantity.covered / quantity.tried:.1%} [{low:.1%}–{high:.1%}]",
                    f"{quantity.bootstrap_covered / quantity.tried:.1%}",
                ]
            )
    return values_table(
        (
            "design: quantity",
            "blocks",
            "benchmarks simulated",
            "t interval holds truth",
            "bootstrap holds truth",
        ),
        rows,
    )


def machine_coverage_table(found: Sequence[tuple[str, MachineCoverage]]) -> Html:
    """How often what some machines found held the ratio of another, and how wide it was, by how machines differ."""
    rows: list[list[str | Html]] = []
    for name, coverage in found:
        low, high = coverage.wilson
        rows.append(
            [
                f"{name}, {coverage.machines} known",
                f"{coverage.plants:,}",
                f"×/÷ {format_factor(math.exp(coverage.half_log))}",
                f"{coverage.held / coverage.plants:.1%} [{low:.1%}–{high:.1%}]",
            ]
        )
    return values_table(("machines", "sets simulated", "width", "holds the next machine's ratio"), rows)


def session_coverage_table(found: Sequence[tuple[str, Coverage]], *, only: str = "") -> Html:
    """How often intervals over blocks and over sessions held the truth where sessions differ, and how wide they are;
    ``only`` as in :func:`coverage_table`."""
    rows: list[list[str | Html]] = []
    for name, coverage in found:
        for quantity in _shown(coverage, only):
            over_sessions = half_width = "–"
            if quantity.session_wilson:
                low, high = quantity.session_wilson
                over_sessions = (
                    f"{(quantity.session_covered or 0) / quantity.tried:.1%} [{low:.1%}–{high:.1%}]"
                )
                half_width = f"±{math.expm1((quantity.session_width_log or 0) / 2):.0%}"
            rows.append(
                [
                    f"{name}: {quantity.name}",
                    f"{coverage.plant.sessions}",
                    f"{coverage.blocks}",
                    f"{quantity.tried:,}",
                    f"{quantity.covered / quantity.tried:.1%}",
                    over_sessions,
                    half_width,
                ]
            )
    columns = (
        "design: quantity",
        "sessions",
        "blocks",
        "benchmarks simulated",
        "over blocks",
        "over sessions",
        "typical half-width over sessions",
    )
    return values_table(columns, rows)


def _shown(coverage: Coverage, only: str) -> list[QuantityCoverage]:
    return [quantity for quantity in coverage.quantities if only in {"", quantity.name}]
