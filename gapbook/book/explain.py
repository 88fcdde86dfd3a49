"""From a number to its trials: what it is made of, as anybody can make it again by hand.

A number of a chapter has a source of its own. One of the register is what the tests of a claim's rule found, so each of
them is shown, by the run that decides and beside what other runs hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gapbook.book.numbers import known_number
from gapbook.claims.quantities import as_made, as_printed, cells_of_test, decisive, over_runs, quantity_name
from gapbook.claims.rules import rules_by_claim
from gapbook.errors import ParameterError
from gapbook.method.findings import Findings
from gapbook.method.source import Made, cells_in, made
from gapbook.method.stated import KnownNumber
from gapbook.pages.short_citation import number_id
from gapbook.record.metric import GOODPUT
from gapbook.record.run import find_run, latest_published
from gapbook.record.schema import TRIALS

__all__ = ["explained", "explained_as_data"]

_REGISTER = "claims"
_TOGETHER = "what another run should find, by random effects; computed by gapbook.claims.quantities.decisive"


@dataclass(frozen=True)
class _Part:
    """A quantity of one run with all that it is made of. Where several runs hold the same cells, ``elsewhere`` is what each
    of them has, as its id, blocks and value, and ``together`` what the verdict is decided by."""

    quantity: str
    printed: str
    found: Findings
    cells: Sequence[tuple[str, float]]
    metric: str
    made: Made
    elsewhere: Sequence[tuple[str, int, str]] = ()
    together: str = ""


def explained(identifier: str) -> Iterator[str]:
    """Lines that lead from a number to the trials, columns, formula and function that make it.

    Raises ParameterError for an address that is not known, and for a number that is made of more than a few cells.
    """
    known = known_number(identifier)
    parts = _parts(identifier, known)
    yield known.sentence
    for part in parts:
        yield from _told(part)


def _told(part: _Part) -> Iterator[str]:
    way, run = part.made, part.found.run
    interval = way.interval
    yield f"  {part.quantity}: {part.printed}, n = {interval.n}"
    yield f"  run {run.run_id} of {run.manifest.chapter}: {run.folder / TRIALS}"
    for name, treatment in part.cells:
        trials = part.found.trials_of(name, treatment)
        counted = trials.filter(trials["valid"])
        numbers = ", ".join(str(trial + 1) for trial in counted["trial"].to_list())
        yield (
            f"  cell: contestant == {name!r}, treatment == {treatment:g}, valid: {counted.height} of {trials.height} "
            f"trials, numbers {numbers}"
        )
    if part.metric:
        metric = part.found.metric(part.metric)
        mean = "geometric" if metric.log else "arithmetic"
        yield f"  metric: {metric.words}; a cell of a block is the {mean} mean of its trials there"
    yield f"  {way.formula}; computed by {way.function}"
    widths = [max(len(column), 12) for column in way.columns]
    yield "  " + "  ".join(column.rjust(width) for column, width in zip(way.columns, widths, strict=True))
    for row in way.rows:
        cells = (f"{row[0]:.0f}", f"{row[1]:.0f}", *(f"{value:.8g}" for value in row[2:]))
        yield "  " + "  ".join(cell.rjust(width) for cell, width in zip(cells, widths, strict=True))
    bounds = f" [{interval.low:.8g}, {interval.high:.8g}]" if interval.bounded else ""
    yield f"  all {len(way.rows)} rows: {interval.estimate:.8g}{bounds}, printed {part.printed}"
    for run_id, blocks, value in part.elsewhere:
        yield f"  run {run_id} holds {value}, n = {blocks}"
    if part.together:
        yield f"  together {part.together}: {_TOGETHER}"


def explained_as_data(identifier: str) -> dict[str, Any]:
    """The same as data: what is kept of the number, and of each of its parts the table, formula and function."""
    known = known_number(identifier)
    parts = [_as_data(part) for part in _parts(identifier, known)]
    return {
        "id": identifier,
        "sentence": known.sentence,
        "quantity": known.quantity,
        "value": known.value,
        "n": known.n,
        "chapter": known.chapter,
        "run": known.run,
        "parts": parts,
    }


def _as_data(part: _Part) -> dict[str, Any]:
    way = part.made
    return {
        "quantity": part.quantity,
        "value": part.printed,
        "chapter": part.found.run.manifest.chapter,
        "run": part.found.run.run_id,
        "metric": part.metric or GOODPUT.name,
        "cells": [{"contestant": name, "treatment": treatment} for name, treatment in part.cells],
        "columns": list(way.columns),
        "rows": [list(row) for row in way.rows],
        "formula": way.formula,
        "function": way.function,
        "estimate": way.interval.estimate,
        "low": way.interval.low if way.interval.bounded else None,
        "high": way.interval.high if way.interval.bounded else None,
        "runs": [{"run": run, "n": blocks, "value": value} for run, blocks, value in part.elsewhere],
        "together": part.together,
    }


def _parts(identifier: str, known: KnownNumber) -> Sequence[_Part]:
    if known.source is not None:
        found = Findings(find_run(known.chapter, known.run), known.chapter)
        way = made(known.source, found)
        if way is None:
            raise ParameterError(
                f"number {identifier}: run {known.run} has no block that holds all its cells"
            )
        cells = cells_in(known.source)
        return [_Part(known.quantity, known.value, found, cells, known.source.metric, way)]
    if known.page == _REGISTER:
        return list(_of_claim(identifier))
    raise ParameterError(
        f"number {identifier}: {known.quantity}: made of more than a few cells; its page is {known.page}, its "
        f"notebook notebooks/{known.page}.md, its run {known.run}"
    )


def _of_claim(identifier: str) -> Iterator[_Part]:
    """What each test of a claim's rule measured, in its order."""
    rule = next(rule for claim, rule in rules_by_claim().items() if number_id(_REGISTER, claim) == identifier)
    for test in (*rule.get("test", ()), *rule.get("told", ())):
        if "quantity" in test:
            yield _of_test(identifier, test)


def _of_test(identifier: str, test: Mapping[str, Any]) -> _Part:
    found = Findings(latest_published(test["chapter"]), test["chapter"])
    way = as_made(test, found)
    if isinstance(way, str):
        raise ParameterError(f"number {identifier}: {way}")
    several = over_runs(test, found)
    elsewhere, together = [], ""
    if several and several.runs > 1:
        elsewhere = [
            (one.run.run_id, one.interval.n, as_printed(test, one.interval, found)) for one in several.each
        ]
        together = as_printed(test, decisive(test, several), found)
    return _Part(
        quantity_name(test, found),
        as_printed(test, way.interval, found),
        found,
        cells_of_test(test),
        test.get("metric", ""),
        way,
        elsewhere,
        together,
    )
