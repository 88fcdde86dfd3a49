"""The chart of comparisons says every ratio in words, and draws what was measured only."""

from __future__ import annotations

import re

import pytest

from gapbook.charts import ELSEWHERE, PHONE_WIDTH, WIDE_WIDTH, Comparison, Condition, Figure, comparisons
from gapbook.charts._canvas import Canvas
from gapbook.charts._frame import sizes_of
from gapbook.charts._text import measure
from tests.unit.chart_inputs import PROVENANCE, interval, scatter

MEASURED = Condition("α = 0.5", interval(3.2), scatter(3.2), published=8.3)
MISSING = Condition("α = 1.5", None)
ROWS = [Comparison("SpacetimeDB 2.8.3 ÷ Postgres", "spacetimedb", (MEASURED, MISSING))]


def _drawn(rows: list[Comparison]) -> Figure:
    return comparisons(
        rows,
        axis="ratio (log scale)",
        provenance=PROVENANCE,
        title="From ×1 to ×3",
        subtitle="Transfers per second.",
    )


def test_ratios_are_printed_at_both_widths_and_in_the_table() -> None:
    figure = _drawn(ROWS)
    for svg in (figure.svg(), figure.svg(width=PHONE_WIDTH)):
        assert "×3.20 [3.10–3.30]" in svg
        assert "not measured" in svg
    assert "×8.30" in str(figure.table)
    assert "α = 1.5: not measured" in figure.description


def test_what_other_runs_made_of_a_ratio_is_a_mark_a_key_and_a_column_of_its_own() -> None:
    held = Condition("α = 0.5", interval(3.2), scatter(3.2), elsewhere=(2.1, 7.0))
    alone, several = (_drawn([Comparison("a ÷ b", "postgres", (one,))]) for one in (MEASURED, held))
    assert several.table.rows[0][-1] == "×2.10, ×7.00"
    assert several.table.columns[-1] == ELSEWHERE
    assert "another run of ours" in several.svg()
    assert "another run of ours" not in alone.svg()
    for width in (WIDE_WIDTH, PHONE_WIDTH):
        assert "×3.20, 3 runs 2.10–7.00" in several.svg(width=width)
        assert "×3.20 [3.10–3.30]" in alone.svg(width=width)
    assert several.table.rows[0][2] == "×3.20 [3.10–3.30]"


def test_rows_that_other_runs_turn_round_are_known_once_each() -> None:
    turned = Condition("α = 1.5", interval(3.2), elsewhere=(0.7,), turned=True)
    rows = [Comparison("a ÷ b", "postgres", (turned, turned)), Comparison("c ÷ b", "postgres", (MEASURED,))]
    assert _drawn(rows).turned == ("a ÷ b",)


def test_a_name_that_fills_its_line_does_not_run_into_its_condition() -> None:
    name = "Both one request at a time, stored procedure in Postgres, read committed"
    svg = _drawn([Comparison(name, "postgres", (MEASURED,))]).svg()
    (condition,) = re.findall(r'<text x="([\d.]+)" y="[\d.]+">α = 0\.5</text>', svg)
    lines = [line for line in re.findall(r'<text x="0" y="[\d.]+">([^<]+)</text>', svg) if line in name]
    assert " ".join(lines) == name
    size = sizes_of(Canvas(WIDE_WIDTH)).label
    assert all(measure(line, size, bold=True) <= float(condition) - 10 for line in lines)


def test_without_any_ratio_there_is_no_chart() -> None:
    with pytest.raises(ValueError, match="at least one ratio"):
        _drawn([Comparison("nobody", "postgres", (MISSING,))])
