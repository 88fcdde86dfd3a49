"""A number that a page prints, with all that it needs to stand alone: what it is, where it holds, and what it is made of.

A chapter says its numbers while it is executed, and its notebook keeps them; the book gives each an address.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable

import msgspec

from gapbook.method.findings import Findings, named_versions
from gapbook.method.over_runs import ratio_beside
from gapbook.method.source import Ratio, Source, cells_in, made
from gapbook.pages.page import Cited
from gapbook.pages.promises import promises_of
from gapbook.pages.provenance import date_of, reached, run_facts
from gapbook.paths import GIVEN_RUNS
from gapbook.record.machine import machine_in_full
from gapbook.record.run import Run

__all__ = ["NUMBERS_KIND", "Before", "Number", "Part", "blocks_beside", "number_of", "tell_numbers"]

NUMBERS_KIND = "application/vnd.gapbook.numbers+json"
"""The kind of a cell's output that holds numbers: for the build, and shown to nobody."""


class Before(msgspec.Struct, frozen=True, omit_defaults=True):
    """What another published run held of the same cells: the value with its interval, where it has one, and over how many
    blocks."""

    run: str
    chapter: str
    date: str
    value: str
    n: int
    machine: str


class Part(msgspec.Struct, frozen=True):
    """One of several values that stand together: of what it is, and the value with its interval, blocks and runs."""

    quantity: str
    value: str


class Number(msgspec.Struct, frozen=True, omit_defaults=True):
    """One printed number of one run.

    ``name`` is what its author calls it, ``sentence`` the one that it stands in, empty where that is prose of the
    chapter; ``published`` says whether its run is. ``quantity`` what it is of, in full; ``value`` as it is cited, with its
    interval, and ``printed`` as a sentence has it. ``n`` is the number of blocks, ``of_blocks``
    that of the run where not all hold it, ``expected`` what one more run should find, ``parts`` the values where several make one answer, and ``value`` is
    then empty. ``rows`` are those of
    :class:`gapbook.method.source.Made`, empty where it is made of more than a few cells; ``before`` the same quantity
    in other published runs, the newest first.
    """

    name: str
    sentence: str
    chapter: str
    run: str
    published: bool
    date: str
    quantity: str
    printed: str
    value: str
    n: int
    conditions: str
    load: str
    machine: str
    reach: str
    versions: list[str]
    notes: str = ""
    of_blocks: int = 0
    over_sessions: str = ""
    between_runs: str = ""
    expected: str = ""
    source: Source | None = None
    formula: str = ""
    function: str = ""
    parts: list[Part] = []
    columns: list[str] = []
    rows: list[list[float]] = []
    before: list[Before] = []


def number_of(
    found: Findings, name: str, printed: str, cited: Cited, *, sentence: str = "", conditions: str = ""
) -> Number:
    """A number of a run as its page has it."""
    run, source, facts = found.run, cited.source, run_facts(found)
    way = made(source, found) if source else None
    names = dict.fromkeys(contestant for contestant, _ in cells_in(source)) if source else ()
    return Number(
        name=name,
        sentence=sentence,
        chapter=found.scenario.chapter,
        run=run.run_id,
        published=run.published,
        date=facts["date"],
        quantity=cited.quantity,
        printed=printed,
        value=cited.value,
        n=cited.n,
        conditions=conditions,
        load=f"{facts['load']}, {facts['window']} windows",
        machine=_machine(run),
        reach=reached(found),
        versions=named_versions(run.manifest.systems),
        of_blocks=blocks_beside(found, cited.n),
        notes=promises_of(found, [[c for c in found.scenario.contestants if c.name in names]]),
        over_sessions=cited.over_sessions,
        between_runs=str(cited.between_runs or ""),
        expected=cited.between_runs.expected if cited.between_runs else "",
        source=source,
        formula=way.formula if way else "",
        function=way.function if way else "",
        columns=list(way.columns) if way else [],
        rows=[list(row) for row in way.rows] if way else [],
        before=_before(found, source) if isinstance(source, Ratio) else [],
    )


def blocks_beside(found: Findings, n: int) -> int:
    """How many blocks a run has, where a number is of fewer; 0 where it is of all, or of none."""
    return found.blocks if 0 < n < found.blocks else 0


def tell_numbers(numbers: Iterable[Number]) -> None:
    """Put numbers into the notebook that is executed, as an output that no page shows; nothing where there is none."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    told = [msgspec.to_builtins(number) for number in numbers]
    if shell is not None and told:
        sys.modules["IPython.display"].display({NUMBERS_KIND: told}, raw=True)


def _before(found: Findings, source: Ratio) -> list[Before]:
    several = ratio_beside(found, source.over, source.under, source.treatment, source.metric, with_given=True)
    others = [*several.beside(found.run), *several.aside] if several else []
    return [
        Before(
            one.run.run_id,
            one.run.manifest.chapter,
            date_of(one.began_unix_s),
            one.interval.as_factor(),
            one.interval.n,
            _machine(one.run),
        )
        for one in sorted(others, key=lambda one: one.began_unix_s, reverse=True)
    ]


def _machine(run: Run) -> str:
    """``AMD EPYC (family 25, model 17), 2 cores``; of a run that somebody gave, also that."""
    given = "; given to the book" if GIVEN_RUNS in run.folder.parents else ""
    return f"{machine_in_full(run.manifest.machine)}{given}"
