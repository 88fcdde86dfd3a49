"""What a vendor printed of its own benchmark over time, and what changed each time: no run is needed to read it."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from gapbook import charts
from gapbook.declared.published import HistoryDeclaration, Rate, Row
from gapbook.declared.reading import read
from gapbook.errors import ParameterError
from gapbook.markup import Html, link, values_table
from gapbook.method.interval import Interval, format_factor
from gapbook.paths import CHECKOUT
from gapbook.record.metric import GOODPUT

__all__ = ["Change", "History", "headline_history", "history_chart", "history_table"]

_FILE = CHECKOUT / "book" / "headline-history.toml"
_PRINTED = replace(GOODPUT, name="printed-rate", label="transfers as printed", words="transfers as printed")


@dataclass(frozen=True)
class Change:
    """One commit: what it changed, and the table as it stood from then on; ``printed_new`` says that it is another
    table than before."""

    date: datetime.date
    commit: str
    number: int
    what: str
    table: Mapping[str, Rate]
    printed_new: bool

    @property
    def day(self) -> str:
        """``14 May``"""
        return f"{self.date.day} {self.date:%b}"

    def ratio(self, over: str, under: str) -> float | None:
        """One contended rate by another; None where the table has not both."""
        rates = [rate.contended for name in (over, under) if (rate := self.table.get(name))]
        above, below = rates if len(rates) == 2 else (None, None)
        return above / below if above and below else None


@dataclass(frozen=True)
class History:
    """The commits in the order of their days. ``read_until`` is the day of the newest commit that was read."""

    repository: str
    file: str
    read_until: datetime.date
    rows: Mapping[str, Row]
    changes: tuple[Change, ...]


@cache
def headline_history(path: Path = _FILE) -> History:
    """The history as its file has it; raises DeclarationError or ParameterError for a file that says something else."""
    declared = read(path, HistoryDeclaration)
    try:
        changes = _changes(declared)
    except ValueError as error:
        raise ParameterError(f"{path.name}: {error}") from error
    return History(declared.repository, declared.file, declared.read_until, declared.rows, changes)


def _changes(declared: HistoryDeclaration) -> tuple[Change, ...]:
    """Each change with the table that stood from then on; raises ValueError for what cannot be a history."""
    changes: list[Change] = []
    for one in declared.change:
        if changes and one.date < changes[-1].date:
            raise ValueError(f"{one.commit} is older than the change before it; put the changes in order")
        if unknown := (one.table or {}).keys() - declared.rows.keys():
            raise ValueError(f"{one.commit} has rows that [rows] does not name: {', '.join(sorted(unknown))}")
        if one.table is None and not changes:
            raise ValueError(f"{one.commit} is the first change and has no table")
        table = changes[-1].table if one.table is None else one.table
        changes.append(Change(one.date, one.commit, one.number, one.what, table, one.table is not None))
    return tuple(changes)


def history_chart(history: History, *, over: str, under: str) -> charts.Figure:
    """The contended rates as they were printed, at each commit of the history; ``over`` and ``under`` are the rows
    whose quotient the title tells."""
    places = {float(place): change for place, change in enumerate(history.changes, start=1)}
    return charts.lines(
        [line for name in history.rows if (line := _line(history, name, places)).points],
        x_label="commits to the benchmark, in their order",
        x_ticks=list(places),
        x_names={place: change.day for place, change in places.items()},
        x_log=False,
        provenance=charts.Provenance(run="", method=_method(history)),
        title=_title(history, over, under),
        subtitle="Transfers per second under contention, as the README of that day printed them.",
        metric=_PRINTED,
        y_label="transfers per second, log scale",
    )


def _line(history: History, name: str, places: Mapping[float, Change]) -> charts.Line:
    row = history.rows[name]
    points = [
        charts.LinePoint(place, Interval(rate.contended, math.nan, math.nan, 1))
        for place, change in places.items()
        if (rate := change.table.get(name)) and rate.contended
    ]
    return charts.Line(row.system, row.name, tuple(points), is_published=True)


def _title(history: History, over: str, under: str) -> str:
    names = f"{history.rows[over].name} ÷ {history.rows[under].name}"
    told = [
        f"×{format_factor(ratio)} on {change.day}"
        for change in (history.changes[0], history.changes[-1])
        if (ratio := change.ratio(over, under))
    ]
    return f"{names}, as printed: {' and '.join(told)}" if told else f"{names}: never printed together"


def _method(history: History) -> str:
    return (
        f"{history.repository}, {history.file}, read until {history.read_until:%d %B %Y}. Printed by the vendor on "
        "changing machines; nothing here was measured for this book."
    )


def history_table(history: History, *, over: str, under: str) -> Html:
    """Each commit with what it changed and what was then printed, both columns of each row."""
    columns = ("commit", "what changed", *(row.name for row in history.rows.values()), "ratio, contended")
    body: list[list[str | Html]] = []
    for change in history.changes:
        ratio = change.ratio(over, under)
        body.append(
            [
                _linked(history, change),
                change.what,
                *(_cells(change, name) for name in history.rows),
                f"×{format_factor(ratio)}" if ratio and change.printed_new else "as before",
            ]
        )
    caption = (
        "Transfers per second as printed, uncontended / contended; a dash where the table has no figure."
    )
    return values_table(columns, body, caption=caption)


def _linked(history: History, change: Change) -> Html:
    site = f"https://github.com/{history.repository}"
    commit = link(f"{site}/commit/{change.commit}", Html("<code>{}</code>").format(change.commit[:9]))
    pull = link(f"{site}/pull/{change.number}", f"#{change.number}")
    return Html("{} {} ({})").format(change.date.isoformat(), commit, pull)


def _cells(change: Change, name: str) -> str:
    if not change.printed_new:
        return "as before"
    rate = change.table.get(name, Rate())
    return " / ".join(
        "–" if value is None else f"{value:,.0f}" for value in (rate.uncontended, rate.contended)
    )
