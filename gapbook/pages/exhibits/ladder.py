"""Ratios beside published ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gapbook.claims.claim import claim
from gapbook.claims.rules import VERDICT_BAND_FRAC
from gapbook.markup import Html, values_table
from gapbook.method.findings import Findings
from gapbook.method.interval import format_factor
from gapbook.method.over_runs import ratio_beside
from gapbook.pages.words import JAMS, factor_cell, listed, other_side

__all__ = ["ladder_table"]


def ladder_table(
    found: Findings, rungs: Sequence[tuple[str, str, str, Mapping[tuple[str, float], str]]]
) -> Html:
    """Each rung as a ratio of two contestants: as published, as measured, and whether our interval
    lies inside the band round the published value. Where nothing was published, ours alone.

    Beneath stand the rungs of which another published run says the opposite."""
    rows: list[list[str | Html]] = []
    turned: list[str] = []
    for name, over, under, published in rungs:
        for treatment in found.treatments_of(over, under):
            stuck = any(found.jams(name, treatment) for name in (over, under))
            ours = None if stuck else found.ratio(over, under, treatment)
            beside = ratio_beside(found, over, under, treatment) if ours else None
            if opposed := beside.opposed(found.run) if beside else []:
                turned.append(f"{name}, {listed([one.interval.as_factor() for one in opposed])}")
            theirs = _published_ratio(published, over, under, treatment)
            rows.append(
                [
                    f"{name}, {found.at(treatment)}",
                    JAMS if stuck else factor_cell(ours),
                    f"×{format_factor(theirs)}" if theirs else "–",
                    ours.against(theirs * (1 - VERDICT_BAND_FRAC), theirs * (1 + VERDICT_BAND_FRAC))
                    if theirs and ours and ours.bounded
                    else "–",
                ]
            )
    columns = ("comparison", "measured here", "published", f"against published ±{VERDICT_BAND_FRAC:.0%}")
    shown = len(columns) if any(published for _, _, _, published in rungs) else 2
    return values_table(columns[:shown], [row[:shown] for row in rows]) + other_side(turned)


def _published_ratio(
    published: Mapping[tuple[str, float], str], over: str, under: str, treatment: float
) -> float | None:
    ids = published.get((over, treatment)), published.get((under, treatment))
    return claim(ids[0]).value / claim(ids[1]).value if ids[0] and ids[1] else None
