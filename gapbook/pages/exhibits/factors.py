"""The factor lattice: shares, effects in every state, interactions, what a core is worth."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from gapbook import charts
from gapbook.markup import Html, values_table
from gapbook.method.effects import Effect, effect_of, interactions, screen
from gapbook.method.factors import Decomposition, Factor, Share
from gapbook.method.findings import Findings
from gapbook.method.holm import holm
from gapbook.method.interval import format_factor, format_percent
from gapbook.method.source import Worth
from gapbook.pages import page
from gapbook.pages.answer import read_with
from gapbook.pages.citation import cited_contrast
from gapbook.pages.exhibits.comparisons import Pair
from gapbook.pages.provenance import provenance
from gapbook.pages.versions import versioned_label
from gapbook.pages.words import NOT_MEASURED, factor_cell
from gapbook.record.describe import USUAL_DURABILITY
from gapbook.record.machine import usable_cores
from gapbook.record.metric import GOODPUT
from gapbook.record.printed import level_in_words, state_in_words

__all__ = [
    "answer_factors",
    "effects_table",
    "factors_table",
    "infeasible_table",
    "interaction_chart",
    "interactions_table",
    "level_words",
    "order_range",
    "order_range_words",
    "residual_by_cores_table",
]

_SHOWN_INTERACTIONS = 8
_MORE_THAN_ALL = Html(
    "<p>With their clients, some of these servers come to {} % more than all cores. Processor time is read just after the window, "
    "and in this run has the end of each process that served a connection, as Postgres has them: numbers of Postgres are too "
    "high by that and more.</p>"
)
_CpuPart: TypeAlias = Literal["server_cpu_s", "tier_cpu_s", "client_cpu_s"]
_ALL_PARTS: tuple[_CpuPart, ...] = ("server_cpu_s", "tier_cpu_s", "client_cpu_s")
_READ_LATE_FRAC = 0.01
"""Counters of the machine and of processes are not read at one instant: so little more than all cores says nothing."""


def answer_factors(found: Findings, factors: Sequence[Factor], sentence: str) -> page.Answer:
    """``{whole}`` and ``{residual}`` become the gap and the share of the residual at both ends of the treatment,
    ``{over}`` and ``{under}`` the two ends of the gap.

    A residual is never told without its range over orders: it may hold one where the interval does not.
    """
    whole, residual, cited = [], [], []
    place = Html("{} at {}")
    start, end = found.ends_of(factors)
    for treatment in found.ends:
        parts = found.decompose(factors, treatment)
        if parts is None or start is None or end is None:
            return page.answer(
                f"Not answered by this run: a cell on every path has no valid trial at {found.at(treatment)}."
            )
        names = f"{end.full_label} ÷ {start.full_label}"
        whole.append(place.format(page.estimate(parts.gap.as_times()), found.at(treatment)))
        told = Worth(tuple(factors), treatment)
        cited.append(cited_contrast(found, f"{names}, whole gap", parts.whole, told))
        for share in parts.shares:
            if share.factor.family == "residual":
                ordered = order_range_words(share)
                residual.append(
                    place.format(
                        page.estimate(share.multiplier.as_factor()), f"{found.at(treatment)} ({ordered})"
                    )
                )
                quantity = f"{names}, engine residual ({ordered})"
                told = Worth(tuple(factors), treatment, share.factor.name)
                cited.append(cited_contrast(found, quantity, share.contrast, told))
    text = Html.escape(sentence)
    for name, values in (("whole", whole), ("residual", residual)):
        text = text.replace(f"{{{name}}}", Html(" and ").join(values))
    for name, contestant in (("over", end), ("under", start)):
        if contestant is not None:
            text = text.replace(f"{{{name}}}", versioned_label(found, contestant))
    ends = [one for one in (end, start) if one is not None]
    return read_with(found, text, [ends], cited)


def factors_table(found: Findings, factors: Sequence[Factor], metric: str = GOODPUT.name) -> Html:
    """Each factor's share at each value of the treatment, the gap they multiply to, and the range over orders."""
    columns = ["factor", "from → to"]
    for treatment in found.treatments:
        columns += [found.at(treatment), "range over orders"]
    by_treatment = {value: found.decompose(factors, value, metric=metric) for value in found.treatments}
    rows: list[list[str | Html]] = []
    for index, factor in enumerate(factors):
        row: list[str | Html] = [factor.name, _from_to_words(found, factor)]
        for parts in by_treatment.values():
            row += _share_cells(parts, index)
        rows.append(row)
    whole: list[str | Html] = ["whole gap", "all of them"]
    for parts in by_treatment.values():
        whole += [
            f"{parts.gap.as_factor()}, n = {parts.gap.n} blocks" if parts else "not closed",
            "–",
        ]
    return values_table(columns, [*rows, whole])


def interaction_chart(
    found: Findings, factors: Sequence[Factor], treatment: float, metric: str = GOODPUT.name
) -> charts.Figure:
    """What each factor does to a metric in every state of the others in which both its levels were measured."""
    parts = found.decompose(factors, treatment, metric=metric)
    if parts is None:
        return charts.missing(
            f"Interactions at {found.at(treatment)}",
            "No path was measured whole.",
            provenance=provenance(found),
        )
    rows = []
    dimensions = _dimensions(factors)
    stuck = found.jamming_cells(dimensions, treatment, found.end(factors, "before"))

    def told(factor: Factor, state: Mapping[str, str]) -> str:
        ends = ({**state, factor.dimension: level} for level in (factor.before, factor.after))
        jams = any(tuple(map(end.__getitem__, dimensions)) in stuck for end in ends)
        return state_in_words(state) + (", one of the two jams" if jams else "")

    for share in parts.shares:
        effect = _effect(found, factors, share.factor, treatment, metric)
        rows.append(
            charts.FactorStates(
                share.factor.name,
                _from_to_words(found, share.factor),
                share.factor.family,
                share.multiplier,
                tuple((told(share.factor, state), value) for state, value in effect.states),
            )
        )
    # Of states that lie on no order, such as those of another client, the gap holds none.
    widest = max(parts.shares, key=lambda share: math.log(share.order_high / share.order_low))
    title = f"{widest.factor.name} is worth {_order_range(widest)} at {found.at(treatment)}, depending on the rest"
    return charts.interaction(
        rows,
        provenance=provenance(found),
        title=title,
        subtitle="Each dot is one combination of the other choices, measured with and without this one.",
        metric=found.metric(metric),
    )


def effects_table(found: Findings, factors: Sequence[Factor]) -> Html:
    """Each factor's mean over all states, and whether it may be left out of a larger experiment."""
    rows: list[list[str | Html]] = []
    for treatment in found.treatments:
        for factor in factors:
            effect = _effect(found, factors, factor, treatment)
            rows.append(
                [
                    f"{factor.name}, {found.at(treatment)}",
                    effect.mean.as_factor() if effect.mean else "no state has both levels",
                    f"{len(effect.states)} of {effect.states_possible}",
                    screen(effect),
                ]
            )
    columns = (
        "factor",
        "mean over combinations of the others",
        "combinations measured",
        "does it matter?",
    )
    return values_table(columns, rows)


def interactions_table(found: Findings, factors: Sequence[Factor]) -> Html:
    """Pairs of factors whose product is not what they are worth apart: the largest, at each value of the treatment.

    The p values are adjusted for all pairs at all values, for the table shows them together.
    """
    rows: list[list[str | Html]] = []
    changes = {factor.name: (factor.dimension, factor.before, factor.after) for factor in factors}
    by_treatment = {
        treatment: interactions(_lattice(found, factors, treatment), _dimensions(factors), changes)
        for treatment in found.treatments
    }
    adjusted = iter(holm([pair.p for pairs in by_treatment.values() for pair in pairs]))
    for treatment, pairs in by_treatment.items():
        told = [(pair, next(adjusted)) for pair in pairs]
        rows += [
            [
                f"{pair.first} × {pair.second}, {found.at(treatment)}",
                pair.ratio.as_factor(),
                str(pair.states),
                _from_to(pair.by_state),
                f"{p:.2g}" if math.isfinite(p) else "one block",
            ]
            for pair, p in told[:_SHOWN_INTERACTIONS]
        ]
    if not rows:
        return page.banner("note", "No pair of factors was measured at all four of its corners.")
    columns = ("pair", "together ÷ apart", "combinations", "in each", "p, adjusted (Holm)")
    return values_table(columns, rows)


def residual_by_cores_table(found: Findings, pairs: Sequence[Pair]) -> Html:
    """The ratio of each pair of contestants beside the processor time that both servers really took.

    Cores are medians over valid trials of server CPU seconds by window seconds. What a server may use
    says little: allowed the same, the two take different amounts.
    """
    rows: list[list[str | Html]] = []
    together: list[float] = []
    for treatment in found.treatments:
        for label, over, under in pairs:
            cores = [_cores(found, one.name, treatment) for one in (over, under)]
            together += (_cores(found, one.name, treatment, _ALL_PARTS) or 0.0 for one in (over, under))
            rows.append(
                [
                    f"{label}, {found.at(treatment)}",
                    *("not readable" if one is None else f"{one:.2f}" for one in cores),
                    factor_cell(found.ratio(over.name, under.name, treatment)),
                ]
            )
    columns = ("pair", "cores used, first", "cores used, second", "first ÷ second")
    table = values_table(columns, rows)
    beyond = max(together, default=0.0) / usable_cores(found.run.manifest.machine) - 1
    more = beyond > _READ_LATE_FRAC
    return Html("").join([table, _MORE_THAN_ALL.format(format_percent(beyond))]) if more else table


def _cores(
    found: Findings, name: str, treatment: float, parts: Sequence[_CpuPart] = ("server_cpu_s",)
) -> float | None:
    """How many cores these parts used together, in the median; None where no trial tells that of the server."""
    used = [
        sum(row[part] or 0.0 for part in parts) / (row["window_s"] or found.scenario.window_s)
        for row in found.valid_rows(name, treatment)
        if row["server_cpu_s"] is not None
    ]
    return statistics.median(used) if used else None


def _lattice(
    found: Findings, factors: Sequence[Factor], treatment: float, metric: str = GOODPUT.name
) -> dict[tuple[str, ...], dict[int, float]]:
    cells = found.cells(_dimensions(factors), treatment, found.end(factors, "before"), metric)
    return {cell: values for cell, values in cells.items() if values}


def _effect(
    found: Findings, factors: Sequence[Factor], factor: Factor, treatment: float, metric: str = GOODPUT.name
) -> Effect:
    lattice = _lattice(found, factors, treatment, metric)
    return effect_of(lattice, _dimensions(factors), factor.dimension, factor.before, factor.after)


def _from_to(values: Sequence[float]) -> str:
    """``×0.011 to ×5.25``; one value alone."""
    return " to ".join(dict.fromkeys(f"×{format_factor(pick(values))}" for pick in (min, max)))


def _dimensions(factors: Sequence[Factor]) -> list[str]:
    return list(dict.fromkeys(factor.dimension for factor in factors))


def order_range(found: Findings, factors: Sequence[Factor], name: str, *, at: float) -> str:
    """``×0.740 to ×6.46``: the least and the greatest that a factor is in any order of the steps."""
    parts = found.decompose(factors, at)
    share = next((one for one in parts.shares if one.factor.name == name), None) if parts else None
    return _order_range(share) if share else f"({NOT_MEASURED})"


def order_range_words(share: Share) -> str:
    """``×0.85 to ×2.22 over orders of the steps``: what a choice of order could have made of a factor."""
    return f"{_order_range(share)} over orders of the steps"


def _order_range(share: Share) -> str:
    return f"×{format_factor(share.order_low)} to ×{format_factor(share.order_high)}"


def _share_cells(parts: Decomposition | None, index: int) -> list[str]:
    if parts is None:
        return ["not closed", "–"]
    share = parts.shares[index]
    return [
        share.multiplier.as_factor(),
        _order_range(share),
    ]


def level_words(found: Findings, dimension: str, level: str) -> str:
    """A level of a run as readers know it: a system by its label, and the promise of the scenario by what it is."""
    if dimension == "durability" and level == USUAL_DURABILITY:
        return str(found.scenario.durability)
    if dimension == "system":
        labels = (one.system_label for one in found.scenario.contestants if one.level(dimension) == level)
        return next(labels, level)
    return level_in_words(dimension, level)


def _from_to_words(found: Findings, factor: Factor) -> str:
    """``SQL statements → stored procedure``"""
    return " → ".join(level_words(found, factor.dimension, level) for level in (factor.before, factor.after))


def infeasible_table(infeasible: Sequence[tuple[str, str]]) -> Html:
    """Combinations of levels that nobody can run, each with the reason."""
    return values_table(("combination", "why it cannot be run"), [list(row) for row in infeasible])
