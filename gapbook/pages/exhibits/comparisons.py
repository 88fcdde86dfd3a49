"""Pairs of contestants, side by side: how many times a metric of one the other has."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TypeAlias

from gapbook import charts
from gapbook.markup import Html, values_table
from gapbook.method.cells import Named
from gapbook.method.findings import Findings
from gapbook.method.interval import Interval, format_factor, format_percent
from gapbook.method.over_runs import ratio_beside
from gapbook.model.work import EXPONENT
from gapbook.pages.gloss import busiest_share
from gapbook.pages.provenance import provenance
from gapbook.pages.words import JAMS, NOT_MEASURED, listed, operations_of
from gapbook.record.metric import GOODPUT, Metric
from gapbook.record.scenario import RecordedContestant

__all__ = ["Pair", "comparisons_chart", "comparisons_table"]

Pair: TypeAlias = tuple[str, Named, Named]


def comparisons_table(
    found: Findings, pairs: Sequence[Pair], metric: str = GOODPUT.name, at: Sequence[float] = ()
) -> Html:
    """How many times a metric of the second the first has, for each pair at each value of the treatment, or
    at those named."""
    values = at or found.treatments
    rows: list[list[str | Html]] = []
    for name, *pair in pairs:
        told = [_told_ratio(found, pair, value, metric) for value in values]
        rows.append([name, *(ratio.as_factor() if ratio else why for ratio, why in told)])
    return values_table(("comparison", *map(found.at, values)), rows)


def comparisons_chart(
    found: Findings,
    pairs: Sequence[Pair],
    published: Mapping[tuple[str, float], float] | None = None,
    metric: str = GOODPUT.name,
    at: Collection[float] = (),
    title: str = "",
) -> charts.Figure:
    """The same as a picture, with what each block says; ``published`` is what somebody else printed,
    by name of the pair and value of the treatment. ``at`` are the values that are shown, all without it;
    ``title`` says what was found, in the author's words."""
    printed = published or {}
    rows = [
        charts.Comparison(
            name,
            found.contestant(over).colour,
            tuple(
                _condition(found, (over, under), treatment, metric, printed.get((name, treatment)))
                for treatment in _shown_at(found, at, (over, under))
            ),
        )
        for name, over, under in pairs
    ]
    if not any(condition.ratio for row in rows for condition in row.conditions):
        return charts.missing(
            "No comparison was measured", "No pair has a block with both.", provenance=provenance(found)
        )
    return charts.comparisons(
        rows,
        provenance=provenance(found),
        title=title or _comparisons_title(found, pairs, rows),
        **_divided(
            found,
            pairs,
            found.metric(metric),
            sorted({value for _, *pair in pairs for value in _shown_at(found, at, pair)}),
        ),
    )


def _told_ratio(
    found: Findings, pair: Sequence[Named], treatment: float, metric: str
) -> tuple[Interval | None, str]:
    """The ratio of a pair, or without one the word for it: a contestant that jams has a rate of its first answers, and
    what is divided by that is no ratio of rates."""
    names = [found.contestant(one).name for one in pair]
    if any(found.jams(name, treatment) for name in names):
        return None, JAMS
    return found.ratio(names[0], names[1], treatment, metric), NOT_MEASURED


def _condition(
    found: Findings, pair: Sequence[Named], treatment: float, metric: str, printed: float | None
) -> charts.Condition:
    ratio, missing = _told_ratio(found, pair, treatment, metric)
    over, under = (found.contestant(one).name for one in pair)
    blocks = tuple(found.ratio_by_block(over, under, treatment, metric).values()) if ratio else ()
    several = ratio_beside(found, over, under, treatment, metric) if ratio else None
    return charts.Condition(
        found.at(treatment),
        ratio,
        blocks,
        printed if ratio else None,
        missing,
        elsewhere=tuple(run.interval.estimate for run in several.beside(found.run)) if several else (),
        turned=bool(several and several.opposed(found.run)),
    )


def _comparisons_title(found: Findings, pairs: Sequence[Pair], rows: Sequence[charts.Comparison]) -> str:
    """The range of the ratios of a bank and what it is made of; of another workload the ratio farthest from ×1.

    A ratio that cannot stand alone is in the chart and not in its title.
    """
    known = [
        (condition.ratio.estimate, row.name, condition.label)
        for row in rows
        for condition in row.conditions
        if condition.ratio is not None and (condition.ratio.tells or not found.run.published)
    ]
    if not known:
        return "No ratio of this run has an interval narrow enough to say something"
    if found.scenario.workload.accounts:
        least, most = (format_factor(pick(known)[0]) for pick in (min, max))
        by, conditions = _what_varies(found, pairs), {label for _, _, label in known}
        if len(conditions) > 1:
            by, where = [*by, "how many want the same account"], ""
        else:
            where = f", at {conditions.pop()}"
        divided = {tuple(found.contestant(one).system_label for one in pair) for _, *pair in pairs}
        over_label, under_label = next(iter(divided))
        one_quotient = len(divided) == 1 and over_label != under_label
        ratios = f"{over_label} ÷ {under_label}: ×{least}" if one_quotient else f"From ×{least}"
        return f"{ratios} to ×{most}{f', by {listed(by)}' if by else ''}{where}"
    ratio, pair, condition_label = max(known, key=lambda one: abs(math.log(one[0])))
    return f"×{format_factor(ratio)} at {condition_label}: {pair}"


def _what_varies(found: Findings, pairs: Sequence[Pair]) -> list[str]:
    """What differs from pair to pair; within a pair, where each compares a system with itself."""
    both = [tuple(found.contestant(one) for one in pair) for _, *pair in pairs]
    if all(over.system == under.system for over, under in both):
        moved = any(over.settings.backend != under.settings.backend for over, under in both)
        return ["the system", "where it runs" if moved else "how it is called"]

    def differs(told: Callable[[RecordedContestant], object]) -> bool:
        return any(len(set(map(told, side))) > 1 for side in zip(*both, strict=True))

    systems = differs(lambda one: one.system)
    called = differs(lambda one: (one.access, one.tier, one.client, one.in_flight))
    promised, isolated = (
        differs(lambda one: one.durability),
        differs(lambda one: one.settings.isolation),
    )
    words = {
        "the systems": systems,
        "the version": not systems and differs(lambda one: one.version),
        "how both sides are called": called,
        "what they promise" if called else "what both sides promise": promised,
        "isolation": isolated,
    }
    return [word for word, does in words.items() if does]


def _shown_at(found: Findings, at: Collection[float], pair: Sequence[Named]) -> Sequence[float]:
    """The values of the treatment that are shown of a pair: those of ``at`` that both ran at, or all."""
    names = [one.name for one in pair]
    return found.wanted_of(at, *names) or found.treatments_of(*names)


def _divided(found: Findings, pairs: Sequence[Pair], metric: Metric, at: Sequence[float]) -> dict[str, str]:
    """What was divided by what, under the axis and over the picture."""
    if metric is not GOODPUT:
        of = metric.words[0].upper() + metric.words[1:]
        return {
            "axis": f"{metric.label} of the first ÷ that of the second (log scale)",
            "subtitle": f"{of}: what stands before ÷, divided by what stands behind it. {metric.better.capitalize()} is better.",
        }
    operations = operations_of(found.scenario.workload)
    return {
        "axis": f"how many times as many {operations} per second (log scale)",
        "subtitle": f"Right of ×1, {_first_of(found, pairs)} makes more {operations} per second. "
        f"{_who_wants_one(found, at)}".strip(),
    }


def _first_of(found: Findings, pairs: Sequence[Pair]) -> str:
    """Who is ahead right of ×1: a system, where it stands first in every pair and in no second place."""
    over, under = ({found.contestant(pair[place]).system_label for _, *pair in pairs} for place in (0, 1))
    return over.pop() if len(over) == 1 and not over & under else "the first of the two named"


def _who_wants_one(found: Findings, at: Sequence[float]) -> str:
    """What the exponents of a bank mean: ``α = 0.5: 3.4 % of transfers want one account; 1.5: 57 %.``"""
    if not found.scenario.workload.accounts or found.scenario.treatment.name != EXPONENT:
        return ""
    shares = [f"{value:g}: {format_percent(busiest_share(found.scenario, value))} %" for value in at]
    first, *others = shares
    return f"{found.scenario.treatment.label} = {'; '.join([f'{first} of transfers want one account', *others])}."
