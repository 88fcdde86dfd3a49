"""A vendor's present table, row by row, beside what stands for each row in a run of ours."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from gapbook.claims.claim import claim
from gapbook.markup import Html, values_table
from gapbook.method.cells import Named
from gapbook.method.findings import Findings
from gapbook.method.interval import format_factor
from gapbook.pages.published.unmeasured import why_unmeasured
from gapbook.pages.words import rate_cell

__all__ = ["NotEverywhere", "StandsFor", "todays_table"]


@dataclass(frozen=True)
class NotEverywhere:
    """A contestant that not every machine can run, and why a run has it not, where it does not say so itself."""

    contestant: Named
    otherwise: str


StandsFor: TypeAlias = Named | NotEverywhere | str
"""The contestant that is set up as a row was, or why nobody here can be."""
_PRINTED_AT: Mapping[float, str] = {0.0: "alpha0", 1.5: "alpha15"}
"""The contention of each printed table, with the end of its claims' names."""
_NEVER = "–"
_PAIRED = "Our ratios are of trials of the same block, not of these rates."


def todays_table(
    found: Findings,
    rows: Mapping[str, tuple[str, StandsFor]],
    *,
    first: str,
    at: Collection[float] = tuple(_PRINTED_AT),
) -> Html:
    """Each row at each contention that was printed, or at those named: its rate there and here, and how many times that
    of it the rate of ``first`` is.

    ``rows`` has, by the name in the claims (``today-tps-NAME-alpha0``), the row's label and what stands for it.
    """
    head = rows[first][0]
    shown = [exponent for exponent in _PRINTED_AT if exponent in at]
    columns = (
        "row",
        *(("α",) if len(shown) > 1 else ()),
        "as printed",
        f"{head} ÷ this row, as printed",
        "measured here",
        f"{head} ÷ this row, measured here",
    )
    body: list[list[str | Html]] = []
    for exponent in shown:
        suffix, shown_load = _PRINTED_AT[exponent], [f"{exponent:g}"] if len(shown) > 1 else []
        top = claim(f"today-tps-{first}-{suffix}").value
        for name, (label, stands) in rows.items():
            printed = claim(f"today-tps-{name}-{suffix}")
            quotient = _NEVER if name == first else f"×{format_factor(top / printed.value)}"
            here = (
                _here(found, stands, rows[first][1], exponent)
                if name != first
                else _alone(found, stands, exponent)
            )
            body.append([label, *shown_load, printed.published, quotient, *here])
    load = f"{found.at(shown[0])}. " if len(shown) == 1 else ""
    return values_table(columns, body, caption=f"{load}{_PAIRED}")


def _here(found: Findings, stands: StandsFor, top: StandsFor, at: float) -> tuple[str, str]:
    rate, _ = _alone(found, stands, at)
    if isinstance(stands, NotEverywhere):
        stands = stands.contestant
    if isinstance(stands, str) or isinstance(top, str | NotEverywhere):
        return rate, _NEVER
    if found.scenario.find(stands.name) is None:
        return rate, _NEVER
    ratio = found.ratio(top.name, stands.name, at)
    return rate, ratio.as_factor() if ratio else _NEVER


def _alone(found: Findings, stands: StandsFor, at: float) -> tuple[str, str]:
    """The rate of what stands for a row, or why there is none."""
    if isinstance(stands, str):
        return f"cannot be run: {stands}", _NEVER
    if isinstance(stands, NotEverywhere):
        reason = why_unmeasured(found, stands.contestant, stands.otherwise)
        return (reason, _NEVER) if reason else _alone(found, stands.contestant, at)
    if stands.name in found.absent:
        return why_unmeasured(found, stands, "") or _NEVER, _NEVER
    if found.scenario.find(stands.name) is None or at not in found.treatments:
        return "not in this run", _NEVER
    goodput = found.goodput(stands.name, at)
    return rate_cell(goodput), _NEVER
