"""From a number to its trials: what it is made of, as anybody can make it again by hand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gapbook.book.numbers import known_number
from gapbook.errors import ParameterError
from gapbook.method.findings import Findings
from gapbook.method.source import Made, cells_in, made
from gapbook.method.stated import KnownNumber
from gapbook.record.run import find_run
from gapbook.record.schema import TRIALS

__all__ = ["explained", "explained_as_data"]


def explained(identifier: str) -> Iterator[str]:
    """Lines that lead from a number to the trials, columns, formula and function that make it.

    Raises ParameterError for an address that is not known, and for a number that is made of more than a few cells.
    """
    known, found, way = _made(identifier)
    metric = found.metric(known.source.metric) if known.source else None
    yield known.sentence
    yield f"  {known.quantity}: {known.value}, n = {known.n}"
    yield f"  run {known.run} of {known.chapter}: {found.run.folder / TRIALS}"
    for name, treatment in cells_in(known.source) if known.source else ():
        trials = found.trials_of(name, treatment)
        counted = trials.filter(trials["valid"])
        numbers = ", ".join(str(trial + 1) for trial in counted["trial"].to_list())
        yield (
            f"  cell: contestant == {name!r}, treatment == {treatment:g}, valid: {counted.height} of {trials.height} "
            f"trials, numbers {numbers}"
        )
    if metric is not None:
        mean = "geometric" if metric.log else "arithmetic"
        yield f"  metric: {metric.words}; a cell of a block is the {mean} mean of its trials there"
    yield f"  {way.formula}; computed by {way.function}"
    widths = [max(len(column), 12) for column in way.columns]
    yield "  " + "  ".join(column.rjust(width) for column, width in zip(way.columns, widths, strict=True))
    for row in way.rows:
        cells = (f"{row[0]:.0f}", f"{row[1]:.0f}", *(f"{value:.8g}" for value in row[2:]))
        yield "  " + "  ".join(cell.rjust(width) for cell, width in zip(cells, widths, strict=True))
    interval = way.interval
    bounds = f" [{interval.low:.8g}, {interval.high:.8g}]" if interval.bounded else ""
    yield f"  all {interval.n} blocks: {interval.estimate:.8g}{bounds}, printed {known.value}"


def explained_as_data(identifier: str) -> dict[str, Any]:
    """The same as data: what is kept of the number, its table, formula and function."""
    known, _, way = _made(identifier)
    return {
        "id": identifier,
        "sentence": known.sentence,
        "quantity": known.quantity,
        "value": known.value,
        "n": known.n,
        "chapter": known.chapter,
        "run": known.run,
        "columns": list(way.columns),
        "rows": [list(row) for row in way.rows],
        "formula": way.formula,
        "function": way.function,
        "estimate": way.interval.estimate,
        "low": way.interval.low if way.interval.bounded else None,
        "high": way.interval.high if way.interval.bounded else None,
    }


def _made(identifier: str) -> tuple[KnownNumber, Findings, Made]:
    known = known_number(identifier)
    if known.source is None:
        raise ParameterError(
            f"number {identifier}: {known.quantity}: made of more than a few cells; its page is {known.page}, its "
            f"notebook notebooks/{known.page}.md, its run {known.run}"
        )
    found = Findings(find_run(known.chapter, known.run), known.chapter)
    way = made(known.source, found)
    if way is None:
        raise ParameterError(f"number {identifier}: run {known.run} has no block that holds all its cells")
    return known, found, way
