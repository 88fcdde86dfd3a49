"""Lines and interactions are legible at both widths, in every shape that a run can give them."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from gapbook import charts
from gapbook.charts import FactorStates, Figure, Line, LinePoint, Panel
from gapbook.method.interval import Interval
from gapbook.record.metric import GOODPUT, metric_named
from tests.unit import chart_inputs as inputs

SYSTEMS = ("postgres", "spacetimedb", "sqlite")


def point(x: float, goodput_per_s: float, *, n: int = 5) -> LinePoint:
    return LinePoint(x, inputs.interval(goodput_per_s, n=n), inputs.scatter(goodput_per_s, n=n))


def draw_lines(
    series: list[Line], *, log: bool = False, ticks: list[float] | None = None, label: str = "depth"
) -> Figure:
    return charts.lines(
        series,
        x_label=label,
        x_ticks=ticks or sorted({p.x for line in series for p in line.points}),
        x_log=log,
        provenance=inputs.PROVENANCE,
        title="From the near end to the far end, one way does ×0.12 of what it did, another ×0.98",
        subtitle="Verified goodput. Durability delayed(500 ms).",
    )


def several(count: int, xs: tuple[float, ...] = (0.0, 0.5, 1.0, 1.5), *, apart: float = 1.7) -> list[Line]:
    return [
        Line(
            SYSTEMS[number % 3],
            f"way number {number + 1}, described in some words",
            tuple(point(x, 1000 * apart**number / (1 + x)) for x in xs),
        )
        for number in range(count)
    ]


def with_ceiling() -> list[Line]:
    rates = ((0.5, 40_000.0), (1.5, 2_400.0))
    ceiling = tuple(LinePoint(x, Interval(rate, rate, rate, 1)) for x, rate in rates)
    return [*several(3), Line("other", "hot-key ceiling", ceiling, is_ceiling=True)]


USERS = (1.0, 50.0, 200.0, 1000.0)


def published(label: str, rate_per_s: float) -> Line:
    points = (LinePoint(users, Interval(rate_per_s, math.nan, math.nan, 1)) for users in (20.0, 500.0))
    return Line("other", label, tuple(points), is_published=True)


def draw_panels(rates: list[Line], latencies: list[Line]) -> Figure:
    return charts.line_panels(
        [Panel(GOODPUT, tuple(rates)), Panel(metric_named("mean-latency"), tuple(latencies))],
        x_label="virtual users, each with one request out",
        x_ticks=sorted({p.x for line in [*rates, *latencies] for p in line.points}),
        x_log=True,
        provenance=inputs.PROVENANCE,
        title="At 1,000 users one way does 9,040/s, another 225/s",
        subtitle="Verified goodput. Durability delayed(500 ms).",
    )


def draw_interaction(factors: list[FactorStates]) -> Figure:
    return charts.interaction(
        factors,
        provenance=inputs.PROVENANCE,
        title="Load client is worth ×0.61 to ×2.90 at α = 1.5, by the state of the rest",
        subtitle="One dot for each state of the other factors in which both levels were run.",
    )


def factor(name: str, share: float, *, states: int = 6, n: int = 5, family: str = "wire") -> FactorStates:
    spread = inputs.scatter(share, n=states, spread=0.3) if states else ()
    return FactorStates(
        name,
        "from → to",
        family,
        inputs.interval(share, n=n),
        tuple((f"tier rpc · client {number}", inputs.interval(v)) for number, v in enumerate(spread)),
    )


LONG = "What is left of the engine when nothing that has a name explains it any more"
SHAPES: dict[str, Callable[[], Figure]] = {
    "three lines": lambda: draw_lines(several(3)),
    "eight lines": lambda: draw_lines(several(8)),
    "eight lines that end at one place": lambda: draw_lines(several(8, apart=1.0)),
    "a computed ceiling": lambda: draw_lines(with_ceiling()),
    "zero on a logarithmic axis": lambda: draw_lines(several(3, (0.0, 0.1, 0.3, 1.0, 10.0)), log=True),
    "doublings": lambda: draw_lines(several(2, (1.0, 2.0, 4.0, 8.0, 16.0, 64.0, 256.0)), log=True),
    "crowded places": lambda: draw_lines(several(2, (0.0, 0.01, 0.02, 0.03, 10.0))),
    "two metrics over the same places": lambda: draw_panels(several(4, USERS), several(4, USERS, apart=0.4)),
    "published rows beside measured ones": lambda: draw_panels(
        [*several(3, USERS), published("A, published", 225), published("B, published", 9040)],
        [*several(3, USERS), published("A, published", 2311)],
    ),
    "fourteen ways in two metrics": lambda: draw_panels(several(14, USERS, apart=1.1), several(14, USERS)),
    "one place in two metrics": lambda: draw_panels(several(2, (50.0,)), several(1, (50.0,))),
    "one point": lambda: draw_lines([Line("postgres", "alone", (point(1.5, 900.0),))]),
    "one point of one trial": lambda: draw_lines(
        [Line("postgres", "alone", (point(0.0, 900.0, n=1),))], log=True
    ),
    "a line of one point beside a longer one": lambda: draw_lines(
        [*several(1), Line("sqlite", "embedded", (point(0.0, 9000.0),))]
    ),
    "five factors": lambda: draw_interaction(
        [factor(f"Factor {number}", 0.5 + number) for number in range(5)]
    ),
    "one factor of one state and one block": lambda: draw_interaction([factor("ORM", 1.2, states=1, n=1)]),
    "a factor without a state": lambda: draw_interaction([factor("ORM", 1.2, states=0)]),
    "long factor names": lambda: draw_interaction(
        [factor(LONG, 3.0, family="residual"), factor("x" * 40, 0.01), factor("RPC tier", 500.0)]
    ),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_text_neither_overlaps_nor_leaves_the_canvas(shape: str) -> None:
    figure = SHAPES[shape]()
    assert figure.wide.problems() == []
    assert figure.phone.problems() == []
    assert (figure.wide.width, figure.phone.width) == (charts.WIDE_WIDTH, charts.PHONE_WIDTH)


def centre(figure: Figure, text: str) -> float:
    (box,) = (box for box in figure.wide.boxes if box.text == text)
    return (box.left + box.right) / 2


def test_places_of_a_logarithmic_axis_with_a_zero_stand_at_equal_steps() -> None:
    figure = draw_lines(several(1, (0.0, 0.1, 10.0)), log=True)
    zero, tenth, ten = (centre(figure, text) for text in ("0", "0.1", "10"))
    assert tenth - zero == pytest.approx(ten - tenth, abs=1.0)


def test_places_of_a_logarithmic_axis_stand_by_their_ratio() -> None:
    figure = draw_lines(several(1, (2.0, 4.0, 32.0)), log=True)
    two, four, last = (centre(figure, text) for text in ("2", "4", "32"))
    assert (last - four) / (four - two) == pytest.approx(3.0, rel=0.03)


def test_places_of_a_linear_axis_stand_by_their_distance() -> None:
    figure = draw_lines(several(1, (0.0, 0.5, 1.5)))
    first, middle, last = (centre(figure, text) for text in ("0", "0.5", "1.5"))
    assert (last - middle) / (middle - first) == pytest.approx(2.0, rel=0.03)


def test_every_line_is_named_at_both_widths_and_told_in_the_table() -> None:
    figure = draw_lines(with_ceiling())
    for drawing in (figure.wide, figure.phone):
        texts = " ".join(box.text for box in drawing.boxes)
        assert "hot-key ceiling" in texts
        assert "way number 2" in texts
    assert [row[3] for row in figure.table.rows if row[0] == "hot-key ceiling"] == ["computed"] * 2
    assert len(figure.table.rows) == 3 * 4 + 2


def test_a_place_stands_under_itself_in_every_panel_and_a_way_looks_the_same() -> None:
    figure = draw_panels(several(3, USERS), several(1, USERS))
    places = [box.left for box in figure.wide.boxes if box.text == "200"]
    assert len(set(places)) == 1
    assert len([box for box in figure.wide.boxes if box.text == "way number 1, described in some words"]) == 2
    assert (
        len([box for box in figure.phone.boxes if box.text == "way number 1, described in some words"]) == 1
    )


def test_what_was_published_is_a_hollow_diamond_in_ink_without_an_interval() -> None:
    figure = draw_panels([*several(1, USERS), published("A, published", 225)], several(1, USERS))
    for drawing in (figure.wide, figure.phone):
        texts = [box.text for box in drawing.boxes]
        assert "A, published" in texts
        assert "published, not ours" in texts
    rows = [row for row in figure.table.rows if row[0] == "A, published"]
    assert rows == [("A, published", users, "goodput", "225/s", "published") for users in ("20", "500")]


def test_nothing_to_draw_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one point"):
        draw_lines([Line("postgres", "empty", ())], ticks=[1.0])
    with pytest.raises(ValueError, match="at least one factor"):
        draw_interaction([])


def test_every_state_is_told_in_the_table_of_an_interaction() -> None:
    figure = draw_interaction([factor("ORM", 1.2, states=3)])
    assert [row[1] for row in figure.table.rows] == [
        "share over the measured orders",
        *(f"tier rpc · client {number}" for number in range(3)),
    ]
    assert figure.table.rows[0][2] == inputs.interval(1.2, n=5).as_factor()
