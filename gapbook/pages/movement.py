"""What carries the movement between two machines: the two measurements of the book that share most cells, cell by cell."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import combinations
from statistics import fmean, median

from gapbook.errors import RecordError
from gapbook.markup import Html, values_table
from gapbook.method.findings import Findings
from gapbook.method.interval import format_factor
from gapbook.method.movement import Explained, Moved, explained, moved, noise_frac, ratio_moves
from gapbook.pages.choices import DIMENSIONS
from gapbook.pages.explorer import HeldCell, held_cells
from gapbook.pages.glued import glue_facts
from gapbook.record.published import measurement_of, published_runs
from gapbook.record.run import Run

__all__ = ["Movement"]

_WANTED = "How many want the same account"
_COLUMNS = ("set otherwise", "explains by itself", "with those above", "moved, against all cells")
_FEWEST = 3
"""Of fewer cells a mean says nothing."""
_REST = "Anything else"
"""The choice of what few contestants have: no two of them share a word of it."""


class Movement:
    """Two measurements on two kinds of processor; ``then`` is the older.

    Raises RecordError where no two share cells enough.
    """

    def __init__(self, runs: Sequence[Run] | None = None) -> None:
        self.then, self.now = _most_in_common(published_runs() if runs is None else runs)
        pairs = [(self.then[key], self.now[key]) for key in self.then.keys() & self.now.keys()]
        cells = [
            moved(_settings(now), list(then.by_block.values()), list(now.by_block.values()))
            for then, now in sorted(pairs, key=lambda pair: pair[1].key)
        ]
        self.cells: Sequence[Moved] = [cell for cell in cells if cell is not None]

    @cached_property
    def explained(self) -> Sequence[Explained]:
        names = [label for label in DIMENSIONS.values() if label != _REST]
        return explained(self.cells, [*names, _WANTED])

    def facts(self) -> dict[str, str]:
        """For the prose."""
        then, now = (_run_of(side) for side in (self.then, self.now))
        first = self.explained[0] if self.explained else None
        return {
            "moved_cells": str(len(self.cells)),
            "moved_then": then.manifest.machine.processor,
            "moved_now": now.manifest.machine.processor,
            "moved_all": format_factor(math.exp(fmean(cell.log_factor for cell in self.cells))),
            "moved_ratio": format_factor(ratio_moves(self.cells)),
            "moved_noise": _percent(noise_frac(self.cells)),
            "moved_by": "none of them" if first is None else first.setting,
            "moved_by_frac": _percent(0.0 if first is None else first.alone_frac),
            "moved_together": _percent(self.explained[-1].together_frac if self.explained else 0.0),
            "moved_by_disk": self._alone(DIMENSIONS["disk"]),
            "fsync_then": _fsync(then),
            "fsync_now": _fsync(now),
        }

    def _alone(self, setting: str) -> str:
        """``12 %`` of what a setting explains by itself; ``none`` where it is less than chance would."""
        found = explained(self.cells, [setting])
        return _percent(found[0].alone_frac) if found else "none"

    def glue(self) -> None:
        glue_facts(self.facts())

    def table(self) -> Html:
        """The settings, the strongest first."""
        rows: list[list[str | Html]] = [
            [
                one.setting,
                _percent(one.alone_frac),
                _percent(one.together_frac),
                "; ".join(
                    f"{group.words or 'nothing'} ×{format_factor(group.factor)} ({group.cells})"
                    for group in one.groups
                    if group.cells >= _FEWEST
                ),
            ]
            for one in self.explained
        ]
        return values_table(
            _COLUMNS, rows, caption="Part of what differs from cell to cell; in brackets, how many cells."
        )


def _most_in_common(runs: Sequence[Run]) -> tuple[Mapping[str, HeldCell], Mapping[str, HeldCell]]:
    """The cells of two measurements on two kinds of processor: those that share most, the newest of these."""
    measured: dict[str, dict[str, HeldCell]] = {}
    for run in runs:
        found = Findings(run, run.manifest.chapter)
        if run.scenario.workload.accounts:
            held = {cell.key: cell for cell in held_cells(found) if not cell.jams}
            measured.setdefault(measurement_of(run), {}).update(held)
    sides = [side for side in measured.values() if side]
    pairs = [pair for pair in combinations(sides, 2) if len({*map(_processor, pair)}) == 2]
    shared = [len(then.keys() & now.keys()) for then, now in pairs]
    most = max(shared, default=0)
    if most < _FEWEST:
        raise RecordError("no two runs on two kinds of processor share three cells")
    return next(
        pair for pair, number in zip(reversed(pairs), reversed(shared), strict=True) if number == most
    )


def _run_of(side: Mapping[str, HeldCell]) -> Run:
    return next(iter(side.values())).found.run


def _processor(side: Mapping[str, HeldCell]) -> str:
    return _run_of(side).manifest.machine.processor


def _settings(cell: HeldCell) -> dict[str, str]:
    chosen = {label: choice.words for label, choice in zip(DIMENSIONS.values(), cell.side, strict=True)}
    return chosen | {_WANTED: f"α = {cell.exponent:g}"}


def _fsync(run: Run) -> str:
    """How long the disk took for a write that lasts, the median over the sessions."""
    tests = [one.fsync for one in run.manifest.deployments if one.fsync is not None]
    return f"{median(test.median_s for test in tests) * 1000:.2g} ms" if tests else "(not recorded)"


def _percent(frac: float) -> str:
    return f"{frac:.0%}".replace("%", " %")
