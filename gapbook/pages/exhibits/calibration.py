"""Calibration: what was measured of plants whose truth is known."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from gapbook import charts
from gapbook.markup import Html, values_table
from gapbook.method.cells import Named
from gapbook.method.coverage import TOTAL_GAP, Coverage
from gapbook.method.factors import Decomposition, Factor, decompose
from gapbook.method.findings import Findings
from gapbook.method.interval import Interval, format_count, format_factor
from gapbook.model.plant import Knobs, counted_bounds_per_s, true_goodput_per_s
from gapbook.pages import page
from gapbook.pages.provenance import provenance
from gapbook.pages.words import factor_cell, listed, rate_cell
from gapbook.record.histograms import decode_histogram
from gapbook.record.scenario import RecordedContestant

__all__ = [
    "CalibrationFacts",
    "answer_calibration",
    "calibration_chart",
    "calibration_facts",
    "cores_together",
    "counted_bounds_of",
    "histograms_of",
    "omission_table",
    "planted_factors_table",
    "ratios_table",
    "true_goodput_of",
    "truth_table",
    "windows_table",
]

Competing: TypeAlias = tuple[Sequence[Named], Sequence[tuple[str, Named, Named]]]
"""Plants that compute on the processors of their client, and pairs of them."""
NOBODY: Competing = ((), ())
_TAIL_PERCENTILE = 99.0
_ROUNDING = 1e-9
"""How far two numbers may be apart, relatively, that only differ by how they were computed."""


class CalibrationFacts(NamedTuple):
    """In how many cases an interval held the truth, and how far off the farthest estimate was: of live servers and
    their ratios, of a gap that is taken apart, of servers that compute on the cores of their client, both empty where
    there are none, and of all together; ``missed`` are the live servers whose interval missed."""

    held: str
    factors_held: str
    off: str
    factors_off: str
    missed: str
    competing_off: str
    all_held: str
    all_off: str


def answer_calibration(
    found: Findings,
    plants: Sequence[Named],
    pairs: Sequence[tuple[str, Named, Named]],
    simulated: Sequence[tuple[str, Coverage]],
    factors: Sequence[Factor],
    lattice: Sequence[Named],
    fixed_order: Coverage,
    competing: Competing = NOBODY,
) -> page.Answer:
    """Whether values and intervals can be trusted: of live plants, with the farthest miss, in simulation, in a fixed
    order of trials, of factors, and of plants that compute on the cores of their client."""
    shares = [q.covered / q.tried for _, coverage in simulated for q in coverage.quantities]
    tried = sum(q.tried for _, coverage in simulated for q in coverage.quantities)
    known = [(ours, truth) for ours, truth in _live(found, plants, pairs) if ours.bounded]
    if not known or not shares:
        return page.answer(
            "Not answered by this run: no simulated server has an interval to hold against its truth."
        )
    virtual = f"{100 * min(shares):.0f} % to {100 * max(shares):.0f} %"
    real, farthest = _held_words(known), _off_words(known)
    misled = next(one for one in fixed_order.quantities if one.name == TOTAL_GAP)
    in_order = f"{100 * misled.covered / misled.tried:.1f} %"
    text = Html(
        "The values, yes: on simulated servers run live they were at most {} off. The intervals, not quite: {} of "
        "those at 95 % held the truth. They hold the noise of one run, and no small shift against the truth that was "
        "set. In simulation {} did, by quantity and design. With trials in a fixed order on a drifting machine, {} of "
        "those of the whole gap did: that is why the order is drawn."
    ).format(*map(page.estimate, (farthest, real, virtual, in_order)))
    planted = _planted(found, factors, lattice)
    split = _shares(*planted) if planted else []
    of_factors = f"{sum(_inside(ours, truth) for _, ours, truth in split)} of {len(split)}"
    if split:
        apart = f"{100 * max(abs(ours.estimate / truth - 1) for _, ours, truth in split):.1f} %"
        text += Html(
            " Of a planted decomposition, {} intervals held the truth (each factor and "
            "the whole gap), and estimates were up to {} off."
        ).format(page.estimate(of_factors), page.estimate(apart))
    beside = [one for one in _live(found, *competing) if one[0].bounded]
    if beside:
        text += Html(
            " Of servers that compute on the cores of their client, {} intervals held the truth, and estimates were up to "
            "{} off."
        ).format(page.estimate(_held_words(beside)), page.estimate(_off_words(beside)))
    blocks = max(ours.n for ours, _ in known)
    least = min(coverage.blocks for _, coverage in simulated)
    cited = [
        page.Cited(f"95 % intervals that held the truth, {tried:,} in simulation", virtual, least),
        page.Cited("95 % intervals that held the truth, simulated servers", real, blocks),
        page.Cited("farthest estimate from the truth, simulated servers", farthest, blocks),
        page.Cited(
            f"95 % intervals that held the truth, fixed order and drift, {misled.name}",
            in_order,
            fixed_order.blocks,
        ),
    ]
    if split:
        cited += [
            page.Cited("95 % intervals that held the truth, planted factors", of_factors, blocks),
            page.Cited("farthest estimate from the truth, planted factors", apart, blocks),
        ]
    if beside:
        cited.append(
            page.Cited(
                "farthest estimate from the truth, servers that compute on shared cores",
                _off_words(beside),
                blocks,
            )
        )
    return page.answer(text, cited)


def calibration_chart(
    found: Findings,
    plants: Sequence[Named],
    pairs: Sequence[tuple[str, Named, Named]],
    factors: Sequence[Factor],
    lattice: Sequence[Named],
    competing: Competing = NOBODY,
) -> charts.Figure:
    """A mark for each interval at 95 %: whether it holds the truth; beside them the farthest estimate."""
    planted = _planted(found, factors, lattice)
    groups = {
        "rates and ratios": _live(found, plants, pairs),
        "factors of a gap": [(ours, truth) for _, ours, truth in _shares(*planted)] if planted else [],
        "servers that compute on shared cores": _live(found, *competing),
    }
    groups["all of these"] = [one for group in groups.values() for one in group]
    rows = [
        charts.Outcomes(
            name, (held := sum(_inside(*one) for one in known), len(known) - held), _told_group(known)
        )
        for name, group in groups.items()
        if (known := [(ours, truth) for ours, truth in group if ours.bounded])
    ]
    title = "Which intervals held the truth"
    if not rows:
        return charts.missing(
            title, "No server has an interval to hold against its truth.", provenance=provenance(found)
        )
    return charts.outcomes(
        rows,
        (
            charts.Outcome("the interval holds the truth", "confirmed"),
            charts.Outcome("it does not", "refuted"),
        ),
        provenance=provenance(found),
        title=title,
        subtitle="One mark for each interval at 95 %, of simulated servers whose speed we set.",
    )


def calibration_facts(
    found: Findings,
    plants: Sequence[Named],
    pairs: Sequence[tuple[str, Named, Named]],
    factors: Sequence[Factor],
    lattice: Sequence[Named],
    competing: Competing = NOBODY,
) -> CalibrationFacts | None:
    """How often intervals held the truth, and how far estimates were off; None where no live server has an interval."""
    planted = _planted(found, factors, lattice)
    live, split, beside = (
        [(ours, truth) for ours, truth in group if ours.bounded]
        for group in (
            _live(found, plants, pairs),
            [(ours, truth) for _, ours, truth in _shares(*planted)] if planted else [],
            _live(found, *competing),
        )
    )
    if not live:
        return None
    missed = [
        f"{plant.name} by {abs(100 * (ours.estimate / truth - 1)):.2g} %"
        for plant in plants
        if (ours := found.goodput(plant.name, found.treatments[0])) is not None
        and ours.bounded
        and not _inside(ours, truth := _truth(found, plant))
    ]
    return CalibrationFacts(
        _held_words(live),
        _held_words(split) if split else "",
        _off_words(live),
        _off_words(split) if split else "",
        listed(missed) or "none",
        _off_words(beside) if beside else "",
        _held_words([*live, *split, *beside]),
        _off_words([*live, *split, *beside]),
    )


def _live(
    found: Findings, plants: Sequence[Named], pairs: Sequence[tuple[str, Named, Named]]
) -> list[tuple[Interval, float]]:
    """What was measured of live servers and of their ratios, each with its truth."""
    treatment = found.treatments[0]
    both = [(found.goodput(plant.name, treatment), _truth(found, plant)) for plant in plants]
    both += [
        (found.ratio(over.name, under.name, treatment), _truth(found, over) / _truth(found, under))
        for _, over, under in pairs
    ]
    return [(ours, truth) for ours, truth in both if ours is not None]


def truth_table(found: Findings, contestants: Sequence[Named]) -> Html:
    """Goodput of each plant: the truth, our interval, and whether the interval holds the truth."""
    rows: list[list[str | Html]] = []
    for contestant in contestants:
        truth = _truth(found, contestant)
        ours = found.goodput(contestant.name, found.treatments[0])
        rows.append(
            [
                contestant.name,
                f"{format_count(truth)}/s",
                rate_cell(ours),
                _off(ours.estimate, truth) if ours else "–",
                _holds(ours, truth),
            ]
        )
    return values_table(("simulated server", "truth", "measured", "off by", "interval holds truth"), rows)


def _truth(found: Findings, plant: Named) -> float:
    """The rate of the plant, which a perfect client counts in the mean of its windows."""
    return true_goodput_of(found.contestant(plant), found.scenario.connections)


def windows_table(found: Findings, plant: Named, windows_s: Sequence[float]) -> Html:
    """The least and the most that a perfect client counts of a plant in windows of these lengths, computed."""
    contestant = found.contestant(plant)
    truth = true_goodput_of(contestant, found.scenario.connections)
    rows: list[list[str | Html]] = []
    for window_s in windows_s:
        counted = counted_bounds_of(contestant, found.scenario.connections, window_s)
        told = [f"{rate:,.1f}/s" for rate in counted]
        off = [f"{rate / truth - 1:+.0%}" for rate in counted]
        rows.append([f"{window_s:g} s", *told, " to ".join(dict.fromkeys(off))])
    return values_table(("window", "least", "most", f"off from {format_count(truth)}/s by"), rows)


def ratios_table(found: Findings, pairs: Sequence[tuple[str, Named, Named]]) -> Html:
    """Planted ratios beside measured ones: pairs of a name, the plant above and the plant beneath."""
    rows: list[list[str | Html]] = []
    for name, over, under in pairs:
        truth = _truth(found, over) / _truth(found, under)
        ours = found.ratio(over.name, under.name, found.treatments[0])
        rows.append(
            [
                name,
                f"×{format_factor(truth)}",
                factor_cell(ours),
                _holds(ours, truth),
            ]
        )
    return values_table(("planted", "truth", "recovered", "interval holds truth"), rows)


def planted_factors_table(found: Findings, factors: Sequence[Factor], lattice: Sequence[Named]) -> Html:
    """The decomposition of the measured lattice beside that of the true one."""
    planted = _planted(found, factors, lattice)
    if planted is None:
        return page.banner(
            "note", "A combination of the factors that we set has no valid trial: nothing to compare."
        )
    rows: list[list[str | Html]] = [
        [name, f"×{format_factor(truth)}", recovered.as_factor(), _holds(recovered, truth)]
        for name, recovered, truth in _shares(*planted)
    ]
    rows.append(["rounding left in the product (log)", "0", f"{planted[0].closing_error_log:.1e}", "–"])
    return values_table(("factor", "truth", "recovered", "interval holds truth"), rows)


def _planted(
    found: Findings, factors: Sequence[Factor], lattice: Sequence[Named]
) -> tuple[Decomposition, Decomposition] | None:
    """The decomposition of the lattice as recovered and as planted, from the cells that have valid trials; None where no
    order of the steps has them all."""
    ours = found.decompose(factors, found.treatments[0])
    truth = decompose(
        factors,
        {
            tuple(contestant.level(factor.dimension) for factor in factors): {0: _truth(found, contestant)}
            for contestant in found.contestants(lattice)
            if found.values(contestant.name, found.treatments[0])
        },
    )
    return None if ours is None or truth is None else (ours, truth)


def omission_table(found: Findings, contestants: Sequence[Named]) -> Html:
    """The tail of latency as the waiting client sees it and from the intended start."""
    rows: list[list[str | Html]] = []
    for contestant in found.contestants(contestants):
        tails: dict[str, list[float]] = {"service": [], "response": []}
        for row in found.rows(contestant.name, found.treatments[0]):
            histograms = histograms_of(found, int(row["trial"]))
            for kind, values in tails.items():
                if histograms.get(kind):
                    decoded = decode_histogram(histograms[kind])
                    values.append(decoded.get_value_at_percentile(_TAIL_PERCENTILE) / 1e6)
        cells = [f"{statistics.median(v):,.1f} ms" if v else "no trial" for v in tails.values()]
        rate_per_s = contestant.settings.rate_per_s
        loop = "closed" if rate_per_s is None else f"open, {rate_per_s:,.0f}/s"
        rows.append([contestant.name, loop, *cells])
    return values_table(("simulated server", "loop", "p99 service time", "p99 response time"), rows)


def histograms_of(found: Findings, trial: int) -> dict[str, str]:
    """The encoded histograms of one trial, by what they time."""
    kept = found.run.histograms.filter(found.run.histograms["trial"] == trial).to_dicts()
    if not kept:
        return {}
    return {
        kind: kept[0][f"{kind}_time_histogram"]
        for kind in ("service", "response")
        if kept[0][f"{kind}_time_histogram"]
    }


def true_goodput_of(contestant: RecordedContestant, connections: int) -> float:
    """The true goodput of a contestant of the system ``plant``, its added round trip included."""
    return true_goodput_per_s(_knobs(contestant), connections, contestant.in_flight)


def cores_together(found: Findings, plants: Sequence[Named]) -> float | None:
    """How many cores the busiest of these plants and its client would keep busy at its true rate, by the processor time that
    an operation took of both; None where none was measured."""
    needed = []
    for plant in plants:
        server_us, client_us = (
            found.trial_values(plant.name, found.treatments[0], metric)
            for metric in ("server-cpu", "client-cpu")
        )
        if server_us and client_us:
            spent_us = statistics.median(server_us) + statistics.median(client_us)
            needed.append(spent_us * _truth(found, plant) / 1e6)
    return max(needed, default=None)


def counted_bounds_of(
    contestant: RecordedContestant, connections: int, window_s: float
) -> tuple[float, float]:
    """The least and the most that a perfect client can count of it in one window."""
    return counted_bounds_per_s(_knobs(contestant), connections, contestant.in_flight, window_s)


def _knobs(contestant: RecordedContestant) -> Knobs:
    """What the plant was told to be."""
    return Knobs.parse(contestant.planted or "").farther(contestant.settings.round_trip_ms or 0.0)


def _holds(ours: Interval | None, truth: float) -> str:
    if ours is None or not ours.bounded or not math.isfinite(truth):
        return "–"
    return "yes" if _inside(ours, truth) else "no"


def _shares(ours: Decomposition, truth: Decomposition) -> list[tuple[str, Interval, float]]:
    """Each factor and the whole gap, as recovered and as planted."""
    return [
        *(
            (share.factor.name, share.multiplier, true.multiplier.estimate)
            for share, true in zip(ours.shares, truth.shares, strict=True)
        ),
        ("whole gap", ours.gap, truth.gap.estimate),
    ]


def _inside(ours: Interval, truth: float) -> bool:
    """Whether the interval holds the truth, but for the rounding of both: trials that all count the same give an interval
    of no width, a last digit beside the truth that they hit."""
    return ours.low * (1 - _ROUNDING) <= truth <= ours.high * (1 + _ROUNDING)


def _held_words(known: Sequence[tuple[Interval, float]]) -> str:
    """``19 of 26``"""
    return f"{sum(_inside(ours, truth) for ours, truth in known)} of {len(known)}"


def _off(estimate: float, truth: float) -> str:
    """``-0.013 %``, or ``0 %`` where nothing but rounding is between the two."""
    return (
        "0 %"
        if math.isclose(estimate, truth, rel_tol=_ROUNDING)
        else f"{100 * (estimate / truth - 1):+.2g} %"
    )


def _off_words(known: Sequence[tuple[Interval, float]]) -> str:
    """How far the farthest estimate is from its truth: ``1.7 %``"""
    return f"{100 * max(abs(ours.estimate / truth - 1) for ours, truth in known):.1f} %"


def _told_group(known: Sequence[tuple[Interval, float]]) -> str:
    return f"{_held_words(known)}, at most {_off_words(known)} off"
