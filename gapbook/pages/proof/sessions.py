"""Sessions apart: what each of them gave, and what their differences do to intervals."""

from __future__ import annotations

from collections.abc import Sequence

from gapbook.markup import Html, values_table
from gapbook.method.cells import Named
from gapbook.method.findings import Findings
from gapbook.method.interval import format_factor
from gapbook.method.sessions import session_means
from gapbook.pages.exhibits.comparisons import Pair
from gapbook.pages.provenance import each_block_is_a_session
from gapbook.pages.words import NO_VALID_TRIAL

__all__ = ["sessions_table"]

_NOT_PLANNED = "not run"


def sessions_table(found: Findings, pairs: Sequence[Pair]) -> Html:
    """Each pair's ratio in each session, how far the highest is above the lowest, and the ratio with its
    interval over blocks, which takes sessions as they were, and over sessions, which does not; the latter
    alone where each block is a session. The caption says what that means for the intervals of the page."""
    intervals = ("over sessions",) if each_block_is_a_session(found) else ("over blocks", "over sessions")
    rows: list[list[str | Html]] = []
    for name, over, under in pairs:
        for treatment in found.treatments_of(over.name, under.name):
            ratios = found.ratio_by_block(over.name, under.name, treatment)
            means = session_means(ratios, found.sessions)
            known = [ratio for ratio in means.values() if ratio is not None]
            apart = f"{max(known) / min(known) - 1:.0%}" if len(known) > 1 else "–"
            both = _sessions_with(found, over, treatment) & _sessions_with(found, under, treatment)
            cells = [
                f"×{format_factor(ratio)}" if ratio else NO_VALID_TRIAL if session in both else _NOT_PLANNED
                for session, ratio in means.items()
            ]
            within, between = found.ratio(over.name, under.name, treatment), found.over_sessions(ratios)
            told = [one.as_factor() if one else "–" for one in (within, between)]
            rows.append([f"{name}, {found.at(treatment)}", *cells, apart, *told[-len(intervals) :]])
    numbered = (f"session {number + 1}" for number in found.sessions)
    columns = ("comparison", *numbered, "highest above lowest", *intervals)
    return values_table(columns, rows, caption=_intervals_words(found))


def _sessions_with(found: Findings, contestant: Named, treatment: float) -> set[int]:
    """The sessions in which a contestant was tried at a value of the treatment."""
    return set(found.trials_of(contestant.name, treatment)["session"])


def _intervals_words(found: Findings) -> str:
    """What the intervals of a page say of sessions."""
    if len(found.sessions) < 2:
        return "This run has one session, so it cannot tell what another would give."
    if each_block_is_a_session(found):
        return (
            "Each session has one block, so every interval on this page also holds what changes from one "
            "session to the next."
        )
    return (
        "Intervals over blocks, here and elsewhere on this page, leave out what changes from one session to "
        "the next. Intervals over sessions hold it, and are wide where sessions are few."
    )
