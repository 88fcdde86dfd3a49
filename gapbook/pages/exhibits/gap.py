"""The waterfall of a gap: its factors in steps that multiply to it, and which of them are colocation."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gapbook import charts
from gapbook.markup import Html, link
from gapbook.method.cells import Named
from gapbook.method.factors import Decomposition, Factor, Share
from gapbook.method.findings import Findings
from gapbook.method.interval import Interval, format_factor
from gapbook.pages.exhibits.factors import level_words, order_range_words
from gapbook.pages.provenance import provenance
from gapbook.pages.sentence import TOO_WIDE
from gapbook.record.durability import Durability
from gapbook.record.metric import GOODPUT
from gapbook.record.printed import state_in_words
from gapbook.record.scenario import RecordedContestant

__all__ = ["colocation_line", "waterfall"]

_COLOCATION = frozenset(
    {
        ("access", "SQL statements", "one call"),
        ("tier", "rpc", "direct"),
        ("tier", "rpc", "in-process"),
    }
)
"""Steps that bring code and data together, each as its dimension with the levels before and after."""


def waterfall(
    found: Findings,
    factors: Sequence[Factor],
    treatment: float,
    metric: str = GOODPUT.name,
    title: str = "",
    then: tuple[str, float] | None = None,
) -> charts.Figure:
    """The gap of a metric in steps that multiply to it, from all ``before`` to all ``after``; ``title`` says what was
    found, in the author's words.

    ``then`` is the name of a last step, and the value of the treatment to whose gap it leads.
    """
    parts = found.decompose(factors, treatment, metric=metric)
    start, end = found.ends_of(factors)
    if parts is None or start is None or end is None:
        return charts.missing(
            f"The gap at {found.at(treatment)} cannot be taken apart by this run",
            _why_not_apart(found, factors, treatment, metric),
            provenance=provenance(found),
        )
    leads_on, note = _then(found, factors, treatment, then, metric)
    steps = [
        charts.Step(
            name=share.factor.name,
            detail=_detail_of(found, share.factor),
            family=share.factor.family,
            factor=share.multiplier,
            order_range=(share.order_low, share.order_high),
            blocks=tuple(share.contrast.told_factor_by_block.values()),
        )
        for share in parts.shares
    ]
    return charts.waterfall(
        _endpoint(found, start, treatment, parts.start, metric),
        steps,
        _endpoint(found, end, treatment, parts.end, metric),
        provenance=provenance(found),
        title=title or _waterfall_title(found, parts, treatment, start, end),
        subtitle=f"{parts.gap.as_factor()}, {' → '.join(dict.fromkeys(Durability.parse(one.durability).words for one in (start, end)))}. "
        f"{_over_orders(parts)} "
        + _two_fits(found, parts, start, end, treatment, metric)
        + _without_client_bound(found, factors, treatment, metric)
        + note,
        total=parts.gap,
        metric=found.metric(metric),
        then=leads_on,
    )


def colocation_line(found: Findings, factors: Sequence[Factor], treatment: float) -> Html:
    """In a paragraph, which steps of a waterfall are colocation, and what they multiply to there. Nothing where the gap
    cannot be taken apart."""
    parts = found.decompose(factors, treatment)
    if parts is None:
        return Html("")
    colocation = link("colocation.html", "Colocation")
    steps = [
        one
        for one in factors
        if one.family != "residual" and (one.dimension, one.before, one.after) in _COLOCATION
    ]
    if not steps:
        return Html("<p>{}: none of these steps.</p>").format(colocation)
    worth = parts.together(steps).interval
    return Html("<p>{}, what falls away where code runs beside the data ({}): {}.</p>").format(
        colocation,
        " × ".join(one.name for one in steps),
        TOO_WIDE if found.run.published and not worth.tells else worth.as_factor(),
    )


def _then(
    found: Findings, factors: Sequence[Factor], treatment: float, then: tuple[str, float] | None, metric: str
) -> tuple[charts.Then | None, str]:
    """The step that leads on to another value of the treatment, and what the reader must know of it."""
    if then is None or then[1] == treatment:
        return None, ""
    name, to = then
    further = found.further(factors, treatment, to, metric=metric)
    if further is None:
        return None, f" {name} is missing: an end of the gap has no valid trial at {found.at(to)}."
    place, there = found.at(treatment), found.at(to)
    step = charts.Step(
        name=name,
        detail=f"{place} → {there}",
        family="workload",
        factor=further.step.interval,
        blocks=tuple(further.step.told_factor_by_block.values()),
    )
    leads_on = charts.Then(step, place, there, further.start, further.end, further.whole.interval)
    return leads_on, f" {name}: the whole gap at {there}, divided by the one at {place}."


def _why_not_apart(found: Findings, factors: Sequence[Factor], treatment: float, metric: str) -> str:
    """What is missing of a gap that does not close, in one sentence."""
    for end, levels in zip(found.ends_of(factors), found.levels_of_ends(factors), strict=True):
        if end is None:
            return f"This run has no contestant with {state_in_words(levels)}."
        if not found.values(end.name, treatment, metric):
            return f"{end.full_label} has no valid trial at {found.at(treatment)}."
    between = [
        one.full_label for one in found.between(factors) if not found.values(one.name, treatment, metric)
    ]
    return (
        "Both ends of the gap have valid trials, but every order of the steps passes a combination that has none"
        f"{': ' if between else ''}{'; '.join(between)}."
    )


def _detail_of(found: Findings, factor: Factor) -> str:
    """``Node.js server → direct``; all that it changes, its own first."""
    return " · ".join(
        " → ".join(level_words(found, dimension, level) for level in levels)
        for dimension, levels in factor.changes.items()
    )


def _waterfall_title(found: Findings, parts: Decomposition, treatment: float, *ends: Named) -> str:
    """The whole gap, the largest named factor, and the residual with its range over orders: each that may stand
    alone."""
    if not found.stands_alone(parts.gap, treatment, *ends):
        return f"The gap at {found.at(treatment)} has no interval narrow enough to say something"
    shares = [share for share in parts.shares if found.stands_alone(share.multiplier, treatment)]
    named = [share for share in shares if share.factor.family != "residual"]
    residual = [share for share in shares if share.factor.family == "residual"]
    largest = sorted(named, key=lambda share: -abs(math.log(share.multiplier.estimate)))[:1]
    words = [
        f"{name} ×{format_factor(share.multiplier.estimate)}{_order_range(share)}"
        for name, share in [
            *((share.factor.name, share) for share in largest),
            *((share.factor.name[0].lower() + share.factor.name[1:], share) for share in residual),
        ]
    ]
    whole = f"×{format_factor(parts.gap.estimate)} at {found.at(treatment)}"
    return f"{whole}: {', '.join(words)}" if words else whole


def _without_client_bound(found: Findings, factors: Sequence[Factor], treatment: float, metric: str) -> str:
    """What the factors are without cells that their client limits; empty where there is none."""
    bound = found.client_bound_between(factors, treatment)
    if not bound:
        return ""
    parts = found.decompose(factors, treatment, without=bound, metric=metric)
    if parts is None:
        return f" No order is left without {', '.join(bound)}, which the client limits."
    told = ", ".join(f"{one.factor.name} {one.multiplier.as_factor()}" for one in parts.shares)
    return f" Without {', '.join(bound)}, which the client limits: {told}."


def _two_fits(
    found: Findings, parts: Decomposition, start: Named, end: Named, treatment: float, metric: str
) -> str:
    """Says why the whole gap is not the ratio that tables give for the same pair, where they differ."""
    paired = found.ratio(end.name, start.name, treatment, metric)
    if paired is None or format_factor(paired.estimate) == format_factor(parts.gap.estimate):
        return ""
    return (
        f"Fitted to every valid trial; the {paired.n} blocks that hold both ends alone give "
        f"{paired.as_factor()}."
    )


def _endpoint(
    found: Findings, contestant: RecordedContestant, treatment: float, value: Interval, metric: str
) -> charts.Endpoint:
    return charts.Endpoint(
        system=contestant.colour,
        label=contestant.system_label,
        detail=contestant.detail,
        value=value,
        blocks=tuple(found.values(contestant.name, treatment, metric).values()),
    )


def _over_orders(parts: Decomposition) -> str:
    """Over which orders of the steps factors are means: measured ones, of those that can be run."""
    cells = f"{parts.cells_measured} of {parts.cells_possible} combinations"
    if not parts.feasible_known:
        return (
            f"Each factor is a mean over the {parts.orderings} of {parts.orderings_possible} orders whose every step was "
            f"measured; {cells} were."
        )
    if parts.orderings_possible == 1:
        return f"Only 1 order of the steps can be run, {cells} were measured."
    return (
        f"Each factor is a mean over the {parts.orderings} measured orders of steps, of {parts.orderings_possible} that "
        "can be run."
    )


def _order_range(share: Share) -> str:
    """Its range over the orders of the steps, where there is one."""
    low, high = format_factor(share.order_low), format_factor(share.order_high)
    return f" ({order_range_words(share)})" if low != high else ""
