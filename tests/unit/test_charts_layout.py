"""Text of every chart stays on its canvas and apart, at both widths, for the shapes that runs take."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from gapbook import charts
from gapbook.charts import Figure, Gate
from gapbook.charts._canvas import Canvas, Plane
from gapbook.charts._scale import LogScale, log_domain, log_ticks, short_count
from gapbook.charts._text import measure, wrap, wrap_evenly
from tests.unit import chart_inputs as inputs

LONG = "A contestant whose name was written by somebody who wished to leave nothing unsaid"
UNBROKEN = "postgres_procedure_read_committed_synchronous_commit_on"


def waterfall(shares: list[tuple[str, str, str, float]], start: float = 7_400.0) -> Figure:
    first, steps, last = inputs.ladder(shares, start=start)
    return charts.waterfall(
        first,
        steps,
        last,
        provenance=inputs.PROVENANCE,
        title=LONG,
        subtitle="Every step multiplies: ×14.1 [13.4–14.8].",
    )


def whole_gap() -> Figure:
    first, steps, last = inputs.gap_steps()
    return charts.waterfall(first, steps, last, provenance=inputs.PROVENANCE, title=LONG, subtitle=LONG)


def large_ratio() -> Figure:
    return waterfall(
        [("Client", "Node → Rust", "stack", 8.31), ("Engine residual", "", "residual", 500 / 8.31)], 210
    )


def steps_below_one() -> Figure:
    shares = [
        ("Client", "", "stack", 0.41),
        ("Contention", "", "workload", 0.0123),
        ("Residual", "", "residual", 99.0),
    ]
    return waterfall(shares)


def long_steps() -> Figure:
    return waterfall([(LONG, LONG, "wire", 1.2345), (UNBROKEN, UNBROKEN, "residual", 12.5)], 123_456.0)


def single_block() -> Figure:
    first, steps, last = inputs.gap_steps()
    unbounded = [
        charts.Step(step.name, step.detail, step.family, inputs.interval(step.factor.estimate, n=1))
        for step in steps
    ]
    return charts.waterfall(
        first, unbounded, last, provenance=inputs.PROVENANCE, title="One block", subtitle=""
    )


def latency(count: int, n: int) -> Figure:
    series = inputs.latency_series(count=count, n=n)
    return charts.latency(
        series, provenance=inputs.PROVENANCE, title=LONG, subtitle="Service time by percentile."
    )


def gates(cells: list[Gate]) -> Figure:
    return charts.gates(
        cells, provenance=inputs.PROVENANCE, title=LONG, subtitle="", summary="numbers published"
    )


def long_gates() -> Figure:
    return gates([Gate(LONG, UNBROKEN, LONG, (3_000.0, 1.0), 5.0, 0, 2, "refused all") for _ in range(4)])


SHAPES: dict[str, Callable[[], Figure]] = {
    "eight factors": whole_gap,
    "a gap of 500": large_ratio,
    "factors below one": steps_below_one,
    "long factor names": long_steps,
    "one block": single_block,
    "no factor but the residual": lambda: waterfall([("Engine residual", "", "residual", 1.0)]),
    "seven latency series": lambda: latency(7, 5),
    "one latency series of one trial": lambda: latency(1, 1),
    "seven gates": lambda: gates(inputs.seven_gates()),
    "one gate": lambda: gates(inputs.seven_gates()[:1]),
    "twelve gates": lambda: gates((inputs.seven_gates() * 2)[:12]),
    "long gate names": long_gates,
    "a missing chart": lambda: charts.missing(LONG, f"{LONG} {UNBROKEN}", provenance=inputs.PROVENANCE),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_text_neither_overlaps_nor_leaves_the_canvas(shape: str) -> None:
    figure = SHAPES[shape]()
    assert figure.wide.problems() == []
    assert figure.phone.problems() == []
    assert (figure.wide.width, figure.phone.width) == (688, 328)


def test_lint_finds_what_it_is_for() -> None:
    canvas = Canvas(328)
    canvas.text(300, 20, "leaves the canvas", size=12)
    canvas.text(10, 50, "one label", size=12)
    canvas.text(30, 54, "another label", size=12)
    canvas.y = 80
    assert canvas.draw().problems() == [
        "'leaves the canvas' leaves the 328x80 canvas",
        "'one label' overlaps 'another label'",
    ]


def test_data_marks_lie_where_the_scale_of_the_labels_says() -> None:
    canvas = Canvas(688)
    canvas.x_scale = LogScale(100, 100_000, 50, 600)
    canvas.point(7_400, 30, token="postgres", space="x")
    canvas.rect((200, 40, 5_000, 50), token="wire", plane=Plane.BAR, space="x")
    canvas.y = 80
    svg = canvas.draw().svg
    assert inputs.dots_of(svg) == [[(round(canvas.x_scale(7_400), 1), 30)]]
    left, width = canvas.x_scale(200), canvas.x_scale(5_000) - canvas.x_scale(200)
    assert f"M{left:.2f},40h{width:.2f}" in svg


def test_dots_over_each_other_are_darker() -> None:
    """Within one path what lies over each other is painted once."""
    canvas = Canvas(328)
    for x in (20.0, 21.0, 60.0, 22.0, *[100.0] * 9):
        canvas.point(x, 30, token="postgres", plane=Plane.TRIAL, size=9, opacity=0.6)
    canvas.y = 80
    assert inputs.dots_of(canvas.draw().svg) == [
        [(20, 30), (60, 30), (100, 30)],
        [(21, 30), (100, 30)],
        [(22, 30), (100, 30)],
        [(100, 30)],
    ]


def test_a_mark_without_a_place_on_its_scale_is_left_out() -> None:
    canvas = Canvas(328)
    canvas.x_scale = LogScale(1, 100, 0, 300)
    for value in (10.0, 0.0, math.inf, math.nan):
        canvas.point(value, 30, token="postgres", space="x")
    canvas.y = 80
    assert inputs.dots_of(canvas.draw().svg) == [[(150, 30)]]


def test_wrapped_lines_fit_and_lose_nothing() -> None:
    lines = wrap(f"{LONG} {UNBROKEN}", 12, 120)
    assert all(measure(line, 12) <= 120 for line in lines)
    assert "".join(lines).replace(" ", "") == f"{LONG}{UNBROKEN}".replace(" ", "")
    evenly = wrap_evenly("Under contention nothing but the engine helps", 12, 230)
    assert len(evenly) == len(wrap("Under contention nothing but the engine helps", 12, 230))
    assert min(map(len, evenly)) > 12


def test_ticks_are_round_few_and_inside() -> None:
    for low, high in ((0.2, 0.31), (7_000, 9_000), (400, 130_000), (1, 1e9)):
        ticks = log_ticks(low, high, most=6)
        assert 2 <= len(ticks) <= 6
        assert all(low <= tick <= high for tick in ticks)
    assert log_ticks(5_000, 120_000, most=6) == [5_000, 10_000, 20_000, 50_000, 100_000]


def test_domain_ignores_what_no_log_axis_can_show() -> None:
    low, high = log_domain([0.0, -3.0, math.nan, math.inf, 50.0, 60.0])
    assert 30 < low < 50
    assert 60 < high < 80


def test_short_numbers() -> None:
    assert [short_count(value) for value in (300, 20_000, 1_500_000)] == ["300", "20k", "1.5M"]
