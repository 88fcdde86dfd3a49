"""What a chart of contestants is made of: trials, a cell for each facet, and the row in which it is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gapbook.charts._scale import short_estimate
from gapbook.method.interval import Interval, format_count

__all__ = ["Cell", "Contestant", "Row", "Trial", "cells_of", "interval_text", "ours_text"]


@dataclass(frozen=True)
class Trial:
    """One trial; ``refusal`` says why it is not counted, empty for a valid one."""

    value: float
    refusal: str = ""

    @property
    def is_valid(self) -> bool:
        return not self.refusal


@dataclass(frozen=True)
class Cell:
    """One contestant in one facet. Without an estimate, ``missing`` says why there is none."""

    value: Interval | None
    trials: tuple[Trial, ...] = ()
    published: float | None = None
    flags: tuple[str, ...] = ()
    missing: str = ""

    def __post_init__(self) -> None:
        if (self.value is None) != bool(self.missing):
            raise ValueError("a cell has either an estimate or the reason why it has none")


@dataclass(frozen=True)
class Contestant:
    """A system with one module, client and settings; ``cells`` in the order of the facets."""

    system: str
    label: str
    detail: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Row:
    """One contestant in one panel."""

    token: str
    label: str
    detail: str
    cell: Cell


def ours_text(cell: Cell) -> str:
    """The estimate as it is printed."""
    return format_count(cell.value.estimate) if cell.value else "–"


def interval_text(cell: Cell) -> str:
    """The bounds as they are printed; without bounds how many trials there are."""
    if cell.value is None:
        return ""
    if not cell.value.bounded:
        return f"n = {cell.value.n}"
    return f"[{short_estimate(cell.value.low)}–{short_estimate(cell.value.high)}]"


def cells_of(rows: Sequence[Contestant]) -> list[Cell]:
    """All cells of all contestants."""
    return [cell for row in rows for cell in row.cells]
