"""The numbers of an answer as they are cited: with intervals over blocks and over sessions, and conditions."""

from __future__ import annotations

from collections.abc import Sequence

from gapbook.markup import Html
from gapbook.method.findings import named_versions
from gapbook.method.interval import Interval
from gapbook.method.source import Source
from gapbook.pages import page
from gapbook.pages.bibtex import bibtex_entry, book_as_cited
from gapbook.pages.provenance import FindingsWithProvenance
from gapbook.pages.words import listed

__all__ = ["CitationResults"]


_FORMS = {"plain": "Text", "markdown": "Markdown", "bibtex": "BibTeX"}


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

    def cite_panel(self, cited: Sequence[page.Cited], *, sentence: str = "", conditions: str = "") -> Html:
        """The numbers of a sentence, just as it gives them; see :meth:`citation`."""
        if not cited:
            note = page.banner("note", "This run has no number to cite: a needed cell has no valid trial.")
            return Html('<div id="cite">{}</div>').format(note)
        told = self.citation(cited, sentence=sentence, conditions=conditions)
        return page.cite_panel({_FORMS[form]: text for form, text in told.items()})

    def citation(
        self, cited: Sequence[page.Cited], *, sentence: str = "", conditions: str = ""
    ) -> dict[str, str]:
        """Numbers to be cited: plain and Markdown as somebody writes in a discussion, with the sentence, the intervals,
        the conditions and the run; BibTeX with all that the numbers rest on."""
        facts, chapter = self.glue_values(), self.scenario.chapter
        versions = ", ".join(named_versions(self.run.manifest.systems))
        named = any(one.settings.durability for one in self.scenario.contestants)
        promise = f"{self.promise}{' where none is named' if named else ''}"
        measured = f"{versions}; {facts['load']}, {promise}, {facts['processor']}, {facts['cores']}"
        numbers = sorted({one.n for one in cited})
        blocks = " to ".join(map(str, dict.fromkeys((numbers[0], numbers[-1]))))
        held = f" in {len(self.sessions)} sessions" if len(self.sessions) > 1 else ""
        bounds = "95 % CI, " if any("[" in one.value for one in cited) else ""
        counted = "one block, no interval" if blocks == "1" else f"{bounds}n = {blocks} blocks{held}"
        design = f"{counted}, {self.reached}; {measured}"
        where = f"The Gap Book, {chapter}, run {self.run.run_id}, {facts['date']}"
        plain, bold = (
            "; ".join(
                f"{one.quantity}: {mark}{one.value}{mark}{_beside(one, several=len(numbers) > 1)}"
                for one in cited
            )
            for mark in ("", "**")
        )
        authors, address = book_as_cited()
        page_address = f"{address.rstrip('/')}/notebooks/{chapter}.html" if address else ""
        bibtex = bibtex_entry(
            "misc",
            f"gapbook-{chapter}-{self.run.run_id}",
            authors=authors,
            fields={
                "title": f"The Gap Book: {chapter}",
                "note": f"Run {self.run.run_id}. {plain} ({design})",
                "year": facts["date"][:4],
            },
            url=page_address,
        )
        where = " ".join(filter(None, (f"{where}.", page_address)))
        if not sentence:
            return {
                "plain": f"{plain} ({design}). {where}",
                "markdown": f"{bold} ({design}). *{where}*",
                "bibtex": bibtex,
            }
        short, marked = (
            f"{'; '.join(f'{mark}{one.value}{mark}' for one in cited)} ({counted})" for mark in ("", "**")
        )
        return {
            "plain": " ".join(filter(None, (sentence, conditions, f"{short}.", where))),
            "markdown": " ".join(filter(None, (f"> {sentence}", conditions, f"{marked}.", f"*{where}*"))),
            "bibtex": bibtex,
        }


def _beside(cited: page.Cited, *, several: bool) -> str:
    """What stands behind one number: its blocks, where others have more or fewer, its interval over sessions, and
    what other runs made of it."""
    beside = [f"n = {cited.n}"] if several else []
    beside += [f"over sessions {cited.over_sessions}"] if cited.over_sessions else []
    beside += [f"{cited.between_runs} between runs"] if cited.between_runs else []
    return f" ({', '.join(beside)})" if beside else ""
