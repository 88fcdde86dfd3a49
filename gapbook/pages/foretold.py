"""What left the interval that earlier runs foretold: of each number with an address, whether the newest run that holds its
cells lies where the runs before it say that one more run should.

All of it is computed by today's code from the stored runs; nothing is typed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from gapbook.markup import Html, link, values_table
from gapbook.method.foretold import Foretold, foretold, over_runs_of
from gapbook.method.interval import format_percent
from gapbook.method.over_runs import published_findings
from gapbook.method.source import Kept, Source
from gapbook.method.stated import known_numbers
from gapbook.method.student import CONFIDENCE
from gapbook.pages import page
from gapbook.pages.short_citation import place_of
from gapbook.record.machine import machine_in_full

__all__ = ["Asked", "asked", "foretold_facts", "left_table"]

_COLUMNS = ("number", "foretold", "found", "run", "machine")
_NONE = "None of them did."


@dataclass(frozen=True)
class Asked:
    """A number, by its address, that runs on several machines held before the newest run that holds its cells."""

    address: str
    source: Source
    told: Foretold

    def row(self) -> list[str | Html]:
        """The number as a link to its page, what was foretold and found, and by which run on which machine."""
        others, estimate, run = self.told.others, self.told.found.interval, self.told.found.run
        is_part = isinstance(self.source, Kept)
        return [
            link(f"../{place_of(self.address)}", self.address),
            (others.between_in_percent if is_part else others.between).expected,
            estimate.as_percent() if is_part else estimate.as_factor(),
            f"{run.manifest.chapter}, run {run.run_id}",
            machine_in_full(run.manifest.machine),
        ]


@cache
def asked() -> Sequence[Asked]:
    """Every number with an address of which this can be asked, by address."""
    found = {one.run.run_id: one for one, _ in published_findings()}
    numbers = {
        address: (known.source, found[known.run])
        for address, known in known_numbers().numbers.items()
        if known.source and known.run in found
    }
    return tuple(
        Asked(address, source, told)
        for address, (source, of_run) in numbers.items()
        if (several := over_runs_of(source, of_run)) and (told := foretold(several, several.newest.run))
    )


def left_table(every: Sequence[Asked]) -> Html:
    """The numbers whose newest run lies outside of what the runs before it foretold."""
    rows = [one.row() for one in every if one.told.left]
    return values_table(_COLUMNS, rows) if rows else page.banner("note", _NONE)


def foretold_facts(every: Sequence[Asked]) -> dict[str, str]:
    """For the prose: of how many numbers it can be asked, of how many it is true, and which part chance gives."""
    return {
        "foretold_asked": str(len(every)),
        "foretold_left": str(sum(one.told.left for one in every)),
        "foretold_by_chance": f"{format_percent(1 - CONFIDENCE)} %",
    }
