"""The numbers of an answer as they can be cited: with intervals over blocks and over sessions, and how far they reach."""

from __future__ import annotations

from collections.abc import Sequence

from gapbook.method.interval import Interval
from gapbook.method.source import Source
from gapbook.pages import page
from gapbook.pages.provenance import FindingsWithProvenance
from gapbook.pages.words import listed

__all__ = ["CitationResults"]


class CitationResults(FindingsWithProvenance):
    """What can be cited of a run: numbers that an answer gives, and no others."""

    def cited(
        self,
        quantity: str,
        treatment: float | None,
        value: Interval,
        over_sessions: Interval | None = None,
        between_runs: str = "",
        source: Source | None = None,
    ) -> page.Cited:
        """A number as an answer gives it, to be cited just so, and beside it its interval over sessions, where
        that is another, and what other runs made of it."""
        where = "" if treatment is None else f" at {self.at(treatment)}"
        # Where each block is a session, an interval over blocks is one over sessions.
        between = None if self.each_block_is_a_session else over_sessions
        told = between.as_factor() if between else ""
        own = value.as_factor()
        beside = "" if told == own else told
        return page.Cited(f"{quantity}{where}", own, value.n, beside, between_runs, source)

    def between_sessions(self, cited: Sequence[page.Cited]) -> str:
        """The same ratios with intervals that hold what changes from one session to the next."""
        told = [one.over_sessions for one in cited if one.over_sessions]
        if told:
            return f"The same ratios with intervals over {len(self.sessions)} sessions: {listed(told)}."
        return ""

    def reach_note(self, cited: Sequence[page.Cited]) -> str:
        """On how many machines and over which time these numbers were measured; empty without a number."""
        if not cited:
            return ""
        known = sorted(one.n for one in cited)
        held = " to ".join(dict.fromkeys(map(str, (known[0], known[-1]))))
        sessions = f" over {held} sessions" if self.each_block_is_a_session else ""
        return f"Measured{sessions} {self.reached}; another may differ by more than the intervals."
