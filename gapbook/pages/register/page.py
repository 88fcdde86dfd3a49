"""The register's page: its total, the famous headlines as cards, every claim in one table, and facts for the prose."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from gapbook.claims.entries import Entry, as_csv, as_json, entries
from gapbook.claims.rules import VERDICT_BAND_FRAC
from gapbook.claims.verdicts import WORDS
from gapbook.markup import Html, link, values_table
from gapbook.pages import page
from gapbook.pages.glued import glue_facts
from gapbook.pages.number import tell_numbers
from gapbook.pages.page_files import REGISTER, leave
from gapbook.pages.register.documents import Documents
from gapbook.pages.register.numbers import verdict_numbers
from gapbook.pages.register.table import register_section
from gapbook.pages.titles import chapter_titles
from gapbook.paths import CHECKOUT

__all__ = ["Register"]


class Register:
    """All claims of all documents, with their verdicts from the latest published runs."""

    def __init__(self) -> None:
        self.entries: Sequence[Entry] = entries()

    def total(self) -> page.Answer:
        """How many published claims hold and how many do not, then what decides them."""
        counts = Counter(one.evidence for one in self.entries)
        published = [one.verdict for one in self.entries if one.evidence != "note"]
        verdicts = Counter(published)
        told: dict[str, Html] = {name: page.estimate(f"{count}") for name, count in counts.items()}
        told |= {verdict.replace("-", "_"): page.estimate(f"{verdicts[verdict]}") for verdict in WORDS}
        return page.answer(
            Html(
                "Of {judged} published claims that we could judge, {confirmed} hold, {conditions} hold under a condition, "
                "{not_here} came out otherwise here and {refuted} are refuted; {undecided} more cannot be decided here. "
                "Of those judged, {measured} are decided by measurement, {arithmetic} by arithmetic and {source} by reading a "
                "source. There are {notes} notes of our own too, which the filters count."
            ).format(judged=len(published) - verdicts["undecided"], notes=counts["note"], **told)
        )

    def page(self) -> Html:
        """Search, the famous headlines and the whole table."""
        return register_section(self.entries, chapter_titles())

    def tell_numbers(self) -> None:
        """Each number of a verdict for its own address."""
        tell_numbers(verdict_numbers(self.entries))

    def downloads(self) -> Html:
        """The whole register as files, which are written for the book to take."""
        schema = CHECKOUT / "schemas" / "register.schema.json"
        files = (
            ("CSV", "claims.csv", as_csv(self.entries).encode()),
            ("JSON", "claims.json", as_json(self.entries).encode()),
            ("JSON Schema", schema.name, schema.read_bytes()),
        )
        return page.download_buttons(
            [page.Download(label, leave(REGISTER, name, content)) for label, name, content in files]
        )

    def documents(self) -> Documents:
        """A page for each document, which says why its claims are judged as they are."""
        return Documents.of(self.entries, chapter_titles())

    def sources(self) -> Html:
        """The documents, each at the revision that was read, or why there is no such address, and where its claims are gone
        through."""
        first = {one.source: one for one in reversed(self.entries)}
        counts = Counter(one.source for one in self.entries)
        rows = [
            [
                link(one.address, one.title),
                f"{one.by}, {one.date}",
                link(one.page.partition("#")[0], f"{counts[source]}"),
                one.unrevised or "the link is to the revision read",
            ]
            for source, one in reversed(first.items())
        ]
        return values_table(("document", "by whom, when", "claims", "revision"), rows)

    def runs(self) -> Html:
        """The newest run of each chapter that decides a claim, and what ran in it."""
        runs = {
            (place.chapter, place.run): place.versions
            for one in self.entries
            for place in one.places
            if place.run
        }
        rows = [
            [link(f"{chapter}.html", chapter_titles().get(chapter, chapter)), run, versions]
            for (chapter, run), versions in runs.items()
        ]
        return values_table(("chapter", "run", "versions"), rows)

    def chances(self) -> list[float]:
        """For each measured ratio that stands against one published number: how likely that number would have
        been confirmed if it were exactly true, in ascending order."""
        deciding = (place for one in self.entries for place in one.places if not place.beside)
        return sorted(place.chance_if_true for place in deciding if place.chance_if_true is not None)

    def glue(self) -> None:
        """Make the facts of the register available to the prose."""
        chances = self.chances()
        glue_facts(
            {
                "compared": str(len(chances)),
                "never_confirmed": str(sum(chance == 0 for chance in chances)),
                "chances": _percents([chance for chance in chances if chance > 0]),
                "claims": str(len(self.entries)),
                "documents": str(len({one.source for one in self.entries})),
                "band": f"±{VERDICT_BAND_FRAC:.0%}".replace("%", " %"),
            }
        )


def _percents(fractions: Sequence[float]) -> str:
    """``0 % to 18 %``"""
    if not fractions:
        return "no probability that can be told"
    return " to ".join(dict.fromkeys(f"{100 * end:.0f} %" for end in (fractions[0], fractions[-1])))
