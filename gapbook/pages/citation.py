"""The numbers of an answer as they can be cited: with intervals over blocks and over sessions, and how far they reach."""

from __future__ import annotations

from collections.abc import Sequence

from gapbook.method.estimate import Contrast
from gapbook.method.findings import Findings
from gapbook.method.interval import Interval
from gapbook.method.over_runs import Between
from gapbook.method.source import Source, Worth
from gapbook.method.travelled import gap_over_runs
from gapbook.pages import page
from gapbook.pages.provenance import each_block_is_a_session, reached
from gapbook.pages.words import listed
from gapbook.record.metric import GOODPUT

__all__ = ["between_sessions", "cited_contrast", "cited_value", "reach_note"]


def cited_value(
    found: Findings,
    quantity: str,
    treatment: float | None,
    value: Interval,
    over_sessions: Interval | None = None,
    between_runs: Between | None = None,
    source: Source | None = None,
) -> page.Cited:
    """A number as an answer gives it, to be cited just so, and beside it its interval over sessions, where
    that is another, and what other runs made of it."""
    where = "" if treatment is None else f" at {found.at(treatment)}"
    # Where each block is a session, an interval over blocks is one over sessions.
    between = None if each_block_is_a_session(found) else over_sessions
    told = between.as_factor() if between else ""
    own = value.as_factor()
    beside = "" if told == own else told
    return page.Cited(f"{quantity}{where}", own, value.n, beside, between_runs, source)


def between_sessions(found: Findings, cited: Sequence[page.Cited]) -> str:
    """The same ratios with intervals that hold what changes from one session to the next."""
    told = [one.over_sessions for one in cited if one.over_sessions]
    if told:
        return f"The same ratios with intervals over {len(found.sessions)} sessions: {listed(told)}."
    return ""


def reach_note(found: Findings, cited: Sequence[page.Cited]) -> str:
    """On how many machines and over which time these numbers were measured; empty without a number."""
    if not cited:
        return ""
    known = sorted(one.n for one in cited)
    held = " to ".join(dict.fromkeys(map(str, (known[0], known[-1]))))
    sessions = f" over {held} sessions" if each_block_is_a_session(found) else ""
    return f"Measured{sessions} {reached(found)}; another may differ by more than the intervals."


def cited_contrast(found: Findings, quantity: str, contrast: Contrast, source: Worth) -> page.Cited:
    """A contrast of a decomposition as it is cited, over sessions too, and a whole gap over runs: the mean of a step is one
    over the orders that its run measured, so of steps there is none."""
    over_sessions = found.over_sessions(contrast.factor_by_block, contrast.degrees_of_freedom)
    is_whole = not source.factor and source.to is None and source.metric == GOODPUT.name
    over_runs = gap_over_runs(found, source.factors, source.treatment) if is_whole else None
    between = over_runs.between if over_runs and over_runs.runs > 1 else None
    return cited_value(
        found, quantity, source.treatment, contrast.interval, over_sessions, between, source=source
    )
