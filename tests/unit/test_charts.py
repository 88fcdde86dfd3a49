"""What the charts say: closing digits, refusals, missing cells, tails that the data cannot carry."""

from __future__ import annotations

import math
import random
import re
from typing import Any

import pytest

from gapbook import charts
from gapbook.charts import Figure, Gate, LatencySeries, LatencyTrial, Step
from gapbook.method.interval import format_factor
from tests.unit import chart_inputs as inputs


def texts(figure: Figure) -> list[str]:
    return [box.text for box in figure.wide.boxes]


def draw_waterfall(shares: list[tuple[str, str, str, float]]) -> Figure:
    start, steps, end = inputs.ladder(shares, start=1_000.0)
    return charts.waterfall(start, steps, end, provenance=inputs.PROVENANCE, title="T", subtitle="")


def product(closing: charts.Closing) -> float:
    return math.prod(map(float, closing.factors))


def test_closing_line_of_the_reference_gap() -> None:
    named = [1.22, 1.38, 1.18, 1.72, 1.95, 1.24, 0.93]
    closing = charts.close(7_400, [*named, 104_300 / 7_400 / math.prod(named)], 104_300)
    assert (
        closing.line
        == "Check: 1.22 × 1.38 × 1.18 × 1.72 × 1.95 × 1.24 × 0.930 × 1.83 = ×14.1 = 104,000 ÷ 7,400"
    )


@pytest.mark.parametrize("seed", range(200))
def test_printed_factors_multiply_to_the_printed_total(seed: int) -> None:
    draw = random.Random(seed)
    factors = [math.exp(draw.gauss(0.3, 0.8)) for _ in range(draw.randint(1, 9))]
    start = 10 ** draw.uniform(1, 5)
    closing = charts.close(start, factors, start * math.prod(factors))
    decimals = len(closing.total.partition(".")[2])
    half_a_digit = 0.5 * 10.0**-decimals * (1 + 1e-9)
    assert abs(product(closing) - float(closing.total)) <= half_a_digit
    quotient = float(closing.end.replace(",", "")) / float(closing.start.replace(",", ""))
    assert abs(quotient - float(closing.total)) <= half_a_digit


@pytest.mark.parametrize("seed", range(200))
def test_one_factor_more_closes_on_the_next_printed_total(seed: int) -> None:
    draw = random.Random(seed)
    factors = [math.exp(draw.gauss(0.3, 0.8)) for _ in range(draw.randint(1, 9))]
    more, start_there = math.exp(draw.gauss(0, 1)), 10 ** draw.uniform(1, 5)
    end_there = start_there * math.prod(factors) * more
    closing = charts.close(100, factors, 100 * math.prod(factors), then=(more, start_there, end_there))
    assert closing.then is not None
    quotient = float(closing.then.end.replace(",", "")) / float(closing.then.start.replace(",", ""))
    assert format_factor(product(closing)) == closing.total
    for found in (product(closing) * float(closing.then.factor), quotient):
        assert format_factor(found) == closing.then.total
    assert closing.line.endswith(closing.then.line)


def then(factor: float, whole: float) -> charts.Then:
    step = Step("Contention", "α = 0.5 → α = 1.5", "workload", inputs.interval(factor))
    return charts.Then(
        step,
        "α = 0.5",
        "α = 1.5",
        inputs.interval(500.0),
        inputs.interval(500.0 * whole),
        inputs.interval(whole),
    )


def test_a_step_further_is_the_last_row_and_must_close_too() -> None:
    start, steps, end = inputs.ladder([("Client", "", "stack", 4.0)], start=1_000.0)
    about: dict[str, Any] = {"provenance": inputs.PROVENANCE, "title": "T", "subtitle": ""}
    figure = charts.waterfall(start, steps, end, then=then(1.5, 6.0), **about)
    assert (figure.wide.problems(), figure.phone.problems()) == ([], [])
    assert [row[0] for row in figure.table.rows[-5:]] == [
        "whole gap",
        "Contention",
        "Postgres stack, α = 1.5",
        "SpacetimeDB stack, α = 1.5",
        "whole gap",
    ]
    assert {"×1", "×4.00", "×6.00", "Whole gap, α = 1.5"} <= set(texts(figure))
    with pytest.raises(ValueError, match=r"×4 and ×6 after ×1.4 more: a waterfall must close"):
        charts.waterfall(start, steps, end, then=then(1.4, 6.0), **about)


def test_digits_are_added_where_three_do_not_close() -> None:
    factors = [1.0049] * 8
    closing = charts.close(100.0, factors, 100.0 * math.prod(factors))
    assert closing.factors[0] == "1.005"
    assert closing.total == "1.04"


def test_factors_of_another_gap_are_refused() -> None:
    start, steps, end = inputs.gap_steps()
    with pytest.raises(ValueError, match=r"multiply to ×.*, but the gap is ×.*must close"):
        charts.waterfall(start, steps[:-1], end, provenance=inputs.PROVENANCE, title="T", subtitle="")


def test_total_of_another_gap_is_refused() -> None:
    start, steps, end = inputs.gap_steps()
    with pytest.raises(ValueError, match="the total ×3 is not"):
        charts.waterfall(
            start,
            steps,
            end,
            provenance=inputs.PROVENANCE,
            title="T",
            subtitle="",
            total=inputs.interval(3.0),
        )


@pytest.mark.parametrize("factor", [2.0, 0.5])
def test_step_spans_from_where_it_starts_to_where_it_ends(factor: float) -> None:
    """A step below one goes left."""
    svg = draw_waterfall([("Client", "", "stack", factor)]).wide.svg
    (ends,) = re.findall(r'<g[^>]* stroke-width="8\.37"[^>]*>(.*?)</g>', svg)
    ((first, _),), ((last, _),) = inputs.dots_of(ends)
    assert (first < last) == (factor > 1)
    (bar,) = re.findall(r'd="M([\d.]+),[\d.]+h([\d.]+)v11h[^"]*" fill="#A38B0E"/>', svg)
    left, width = map(float, bar)
    assert left == pytest.approx(min(first, last), abs=0.06)
    assert left + width == pytest.approx(max(first, last), abs=0.06)


def test_residual_is_an_outline_and_not_a_share() -> None:
    shares = [("Client", "", "stack", 2.0), ("Engine residual", "", "residual", 1.5)]
    assert 'stroke-dasharray="4,3"' in draw_waterfall(shares).wide.svg
    assert 'stroke-dasharray="4,3"' not in draw_waterfall(shares[:1]).wide.svg


def test_unknown_family_is_refused() -> None:
    with pytest.raises(ValueError, match="family 'engine' is unknown: use stack, wire"):
        Step("Engine", "", "engine", inputs.interval(1.5))  # type: ignore[arg-type]


def curve(counts_above: tuple[int, ...], scale: float = 1.0) -> LatencyTrial:
    return LatencyTrial(
        (50.0, 90.0, 99.0, 99.9), tuple(scale * value for value in (1.0, 2.0, 4.0, 8.0)), counts_above
    )


def draw_latency(*trials: LatencyTrial) -> Figure:
    series = LatencySeries("postgres", "Postgres", "procedure", trials)
    return charts.latency([series], provenance=inputs.PROVENANCE, title="T", subtitle="")


def test_latency_stops_where_fewer_than_a_hundred_operations_lie_above() -> None:
    figure = draw_latency(curve((50_000, 10_000, 1_000, 100)))
    assert "p99.9 8.00 ms" in texts(figure)
    assert "p99 4.00 ms" in texts(draw_latency(curve((50_000, 10_000, 1_000, 99))))


def test_median_needs_every_trial() -> None:
    """The tail of the trials that happen to have one is not the tail of all."""
    short, full = curve((5_000, 1_000, 100, 10)), curve((50_000, 10_000, 1_000, 100), scale=3.0)
    figure = draw_latency(full, short, full)
    assert "p99 12.0 ms" in texts(figure)
    assert not any("p99.9" in text for text in texts(figure))


def test_latency_inputs_are_checked() -> None:
    with pytest.raises(ValueError, match="same length"):
        LatencyTrial((50.0,), (1.0, 2.0), (100,))
    with pytest.raises(ValueError, match="not including, 100"):
        LatencyTrial((100.0,), (1.0,), (0,))
    with pytest.raises(ValueError, match="share one list of percentiles"):
        draw_latency(curve((500, 400, 300, 200)), LatencyTrial((50.0,), (1.0,), (500,)))
    with pytest.raises(ValueError, match="no percentile has 100"):
        draw_latency(curve((50, 10, 1, 0)))
    with pytest.raises(ValueError, match="1 to 7 series, not 8"):
        charts.latency(
            inputs.latency_series(count=4) * 2, provenance=inputs.PROVENANCE, title="T", subtitle=""
        )


def test_same_system_differs_by_dash() -> None:
    figure = charts.latency(
        inputs.latency_series(count=4, n=1), provenance=inputs.PROVENANCE, title="T", subtitle=""
    )
    assert len(set(re.findall(r'stroke-width="2.2"[^>]*stroke-dasharray="([^"]+)"', figure.wide.svg))) == 3


def test_gate_that_refuses_is_told_by_word_colour_and_shape() -> None:
    figure = charts.gates(
        inputs.seven_gates(), provenance=inputs.PROVENANCE, title="T", subtitle="", summary="so"
    )
    assert "5 of 7 gates refused no trial, 1 refused some, 1 refused all: so" in texts(figure)
    assert "3 of 12" in texts(figure)
    passed = charts.gates(inputs.seven_gates()[:1], provenance=inputs.PROVENANCE, title="T", subtitle="")
    assert "var(--gb-refuted" in figure.html
    assert "var(--gb-refuted" not in passed.html


def test_gates_draw_every_assessed_trial_an_infinite_one_too() -> None:
    def drawn(values: tuple[float, ...], limit: float | None) -> tuple[int, str]:
        gate = Gate("G", "worst", "limit", values, limit, 0, len(values), "refused all")
        figure = charts.gates([gate], provenance=inputs.PROVENANCE, title="T", subtitle="")
        return sum(map(len, inputs.dots_of(figure.wide.svg))), figure.wide.svg

    count, svg = drawn((0.1, math.inf, math.nan), 5.0)
    assert count == 2
    assert "NaN" not in svg
    assert "Infinity" not in svg
    assert drawn((math.inf,), 0.0)[0] == 1
    assert drawn((0.0,) * 140, None)[0] == 140


def test_impossible_gates_are_refused() -> None:
    with pytest.raises(ValueError, match="13 of 12 trials cannot have passed"):
        Gate("G", "0", "limit 0", (), 0.0, 13, 12, "refused none")
    with pytest.raises(ValueError, match="state 'maybe' is unknown"):
        Gate("G", "0", "limit 0", (), 0.0, 1, 12, "maybe")  # type: ignore[arg-type]


def test_missing_chart_gives_the_reason() -> None:
    figure = charts.missing(
        "No waterfall at α = 1.5", "procedure has no valid trial", provenance=inputs.PROVENANCE
    )
    assert "procedure has no valid trial" in texts(figure)
    assert figure.description == "Not drawn: procedure has no valid trial"
