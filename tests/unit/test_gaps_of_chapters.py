"""Each scenario's gap, taken apart again from its stored trials alone: none of the book's statistics is used here.

A factor is the mean, over all orders of the steps whose every combination was measured, of the log step that it makes in
that order; logs of combinations are fitted as combination + block by ordinary least squares.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, permutations
from typing import Any

import numpy as np
import polars as pl
import pytest

from gapbook.charts import Figure
from gapbook.method.findings import Findings
from gapbook.notebook_text import code_cells
from gapbook.pages import exhibits, sentence
from gapbook.pages.page import answer
from gapbook.record.run import latest_published

_LOW, _HIGH = 0.5, 1.5
_Passed = frozenset[str]


@dataclass(frozen=True)
class _Gap:
    """``measured`` are the contestants of a chapter, by the first letters of the steps that lie behind them;
    ``orders`` is how many orders of all steps those allow of which two blocks counted. ``can_be_run`` says of steps
    whether what has them behind it can be run."""

    chapter: str
    measured: Mapping[str, str]
    steps: Mapping[str, str]
    orders: int
    can_be_run: Callable[[_Passed], bool]

    @property
    def cells(self) -> dict[_Passed, str]:
        return {frozenset(letters): name for letters, name in self.measured.items()}


_WORDS = {
    "O": "ORM",
    "R": "Round trips",
    "C": "Load client",
    "H": "HTTP server",
    "P": "Pipelining",
    "D": "Durability",
    "I": "Isolation",
    "E": "Engine residual",
    "A": "Contention",
}


def _on_postgres(behind: _Passed) -> bool:
    """Statements are called once there is no ORM, one call is made once there are no statements. Drizzle is a library of
    TypeScript, only a stored procedure is called ahead of answers, and only from Rust and without an HTTP server
    between; a reducer is one call, and isolation is SpacetimeDB's own."""
    return (
        (not behind & {"R"} or "O" in behind)
        and (not behind & {"P"} or {"R", "H"} <= behind)
        and (not behind & {"E"} or {"R", "H"} <= behind)
        and (not {"C", "H"} <= behind or "O" in behind)
    )


def _with_isolation(behind: _Passed) -> bool:
    return _on_postgres(behind) and ("E" not in behind or "I" in behind)


_APPLICATION = {
    "": "drizzle-rpc",
    "H": "drizzle-direct",
    "O": "sql-rpc",
    "OH": "sql-direct",
    "OR": "procedure-rpc",
    "ORH": "procedure-typescript",
    "ORHE": "spacetimedb-2-typescript",
}
_IN_RUST = {
    "C": "drizzle-rpc-rust",
    "OC": "sql-rpc-rust",
    "ORC": "procedure-rpc-rust",
    "ORCH": "postgres-rust",
    "ORCHP": "postgres-rust-deep",
    "ORCHE": "spacetimedb-2-rust",
    "ORCHPE": "spacetimedb-2-rust-deep",
}
_GAPS = {
    "original, SQLite": _Gap(
        "original",
        {
            "": "sqlite-drizzle",
            "O": "sqlite-sql",
            "H": "sqlite-drizzle-in-process",
            "OH": "sqlite-sql-in-process",
            "OHC": "sqlite-sql-rust",
            "OHE": "spacetimedb-2-typescript",
            "OHPE": "spacetimedb-2-typescript-deep",
            "OHCE": "spacetimedb-2-rust",
            "OHCPE": "spacetimedb-2-rust-deep",
        },
        {letter: _WORDS[letter] for letter in "OCHPE"},
        6,
        # SQLite answers one request of a client at a time; Drizzle is a library of TypeScript.
        lambda behind: (
            ("E" not in behind or {"O", "H"} <= behind)
            and ("P" not in behind or "E" in behind)
            and (not {"C", "H"} <= behind or "O" in behind)
        ),
    ),
    "original, Postgres": _Gap(
        "original",
        {
            "": "postgres-drizzle-serializable",
            "O": "sql-rpc-serializable",
            "H": "drizzle-direct-serializable",
            "OH": "sql-direct-serializable",
            "ORH": "procedure-typescript-serializable",
            "I": "postgres-drizzle",
            "IOCH": "sql-direct-rust",
            "IORHPE": "spacetimedb-2-typescript-deep",
            **{f"I{behind}": name for behind, name in (_APPLICATION | _IN_RUST).items() if behind},
        },
        {letter: _WORDS[letter] for letter in "ORCHPIE"},
        68,
        _with_isolation,
    ),
    "fair": _Gap(
        "fair",
        {
            **_APPLICATION,
            "D": "drizzle-rpc-waits",
            "ORD": "procedure-rpc-waits",
            "ORHD": "procedure-typescript-waits",
            "ORHDE": "spacetimedb-2-typescript-waits",
        },
        {letter: _WORDS[letter] for letter in "ORHDE"},
        7,
        _on_postgres,
    ),
    "both-optimized": _Gap(
        "both-optimized",
        {**_APPLICATION, **_IN_RUST},
        {letter: _WORDS[letter] for letter in "ORCHPE"},
        15,
        _on_postgres,
    ),
}
_LEAST_OF_ORDERS = 1 / 3
"""Of those that can be run, so large a part at least must have been."""
_LEAST_BLOCKS = 2
"""In which a combination of steps must have counted to lie on an order."""


@pytest.fixture(name="waterfalls", scope="module")
def _waterfalls() -> Iterator[Mapping[str, Sequence[Figure]]]:
    """The waterfalls of each chapter, drawn by its own cells from its published run."""
    drawn: dict[str, list[Figure]] = {gap.chapter: [] for gap in _GAPS.values()}
    draw = exhibits.waterfall

    def kept(found: Findings, *words: Any, **named: Any) -> Figure:
        figure = draw(found, *words, **named)
        drawn[found.run.manifest.chapter].append(figure)
        return figure

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exhibits, "waterfall", kept)
        for other in ("first_screen", "glue", "comparisons_chart", "factors_table", "ladder_table"):
            patch.setattr(exhibits, other, lambda *_, **__: None)
        patch.setattr(sentence, "answer_of_pair", lambda *_, **__: answer("Not asked."))
        for chapter in drawn:
            namespace: dict[str, Any] = {}
            cells = code_cells(chapter)
            last = max(place for place, cell in enumerate(cells) if "waterfall(" in cell)
            for cell in cells[: last + 1]:
                exec(compile(cell, chapter, "exec"), namespace)
                if "source" in namespace:
                    namespace["source"] = "published"
        yield drawn


@pytest.mark.parametrize("name", _GAPS)
def test_the_printed_waterfall_is_that_of_the_trials(
    name: str, waterfalls: Mapping[str, Sequence[Figure]]
) -> None:
    gap = _GAPS[name]
    (figure,) = (
        one
        for one in waterfalls[gap.chapter]
        if [row[0] for row in one.table.rows[1 : len(gap.steps) + 1]] == list(gap.steps.values())
        and one.table.rows[0][0] in {"original, SQLite": "SQLite"}.get(name, "Postgres")
    )
    trials = _valid_logs(gap.chapter)
    (orders, here), (at_high, there) = (_taken_apart(gap, trials, value) for value in (_LOW, _HIGH))
    possible = _orders(gap, gap.can_be_run)
    assert len(orders) == gap.orders
    assert len(orders) >= _LEAST_OF_ORDERS * len(possible)
    assert at_high
    among = f"over the {gap.orders} measured orders of steps, of {len(possible)} that can be run"
    assert (among if len(possible) > 1 else "Only 1 order of the steps can be run") in " ".join(
        box.text for box in figure.wide.boxes
    ).replace("\u00a0", " ")

    logs = dict.fromkeys(gap.steps, 0.0)
    for order in orders:
        for before, after in pairwise(order):
            (step,) = after - before
            logs[step] += (here[after] - here[before]) / len(orders)
    whole, last = (means[orders[0][-1]] - means[frozenset()] for means in (here, there))
    assert sum(logs.values()) == pytest.approx(whole, abs=1e-12)

    rows = [(row[0], row[2]) for row in figure.table.rows if row[2].startswith("×")]
    steps = [*gap.steps.values(), "Contention"]
    printed = dict(row for row in rows if row[0] != "whole gap")
    assert [*printed] == steps == [word for word in _WORDS.values() if word in steps]
    for step, log in zip(steps, (*logs.values(), last - whole), strict=True):
        assert printed[step] == _as(printed[step], log), step
    totals = [number for row, number in rows if row == "whole gap"]
    assert totals == [_as(number, log) for number, log in zip(totals, (whole, last), strict=True)]
    # The digits alone close, without contention and with it.
    for total, passed in zip(totals, (steps[:-1], steps), strict=True):
        product = math.prod(float(printed[step].removeprefix("×")) for step in passed)
        decimals = len(total.partition(".")[2])
        assert abs(product - float(total.removeprefix("×"))) <= 0.5 * 10.0**-decimals * (1 + 1e-9)


def _valid_logs(chapter: str) -> pl.DataFrame:
    """The mean log of the goodput of each contestant, treatment and block, from the stored table alone."""
    trials = pl.read_parquet(latest_published(chapter).folder / "trials.parquet")
    return (
        trials.filter(pl.col("valid"))
        .group_by("contestant", "treatment", "block")
        .agg(pl.col("goodput_per_s").log().mean().alias("log"))
    )


def _taken_apart(
    gap: _Gap, trials: pl.DataFrame, treatment: float
) -> tuple[list[list[_Passed]], dict[_Passed, float]]:
    """The orders that the trials at one value of the treatment allow, and the means of the combinations on them."""
    counted = trials.filter(pl.col("treatment") == treatment)["contestant"].value_counts()
    blocks = dict(counted.iter_rows())
    cells = {place: name for place, name in gap.cells.items() if blocks.get(name, 0) >= _LEAST_BLOCKS}
    orders = _orders(gap, lambda behind: behind in cells)
    on_one = set().union(*orders)
    return orders, _means(
        trials, treatment, {place: name for place, name in cells.items() if place in on_one}
    )


def _means(trials: pl.DataFrame, treatment: float, cells: Mapping[_Passed, str]) -> dict[_Passed, float]:
    """log = combination + block, fitted to the trials at one value of the treatment; the mean over blocks."""
    kept = trials.filter(
        (pl.col("treatment") == treatment) & pl.col("contestant").is_in(list(cells.values()))
    )
    blocks, names = sorted(set(kept["block"])), list(cells.values())
    design = np.zeros((kept.height + 1, len(names) + len(blocks)))
    for row, (name, block) in enumerate(zip(kept["contestant"], kept["block"], strict=True)):
        design[row, [names.index(name), len(names) + blocks.index(block)]] = 1
    # Block effects sum to 0.
    design[-1, len(names) :] = 1
    fitted = np.linalg.lstsq(design, np.append(kept["log"].to_numpy(), 0), rcond=None)[0]
    return dict(zip(cells, map(float, fitted), strict=False))


def _orders(gap: _Gap, there_is: Callable[[_Passed], bool]) -> list[list[_Passed]]:
    """All orders of the steps of whose every combination that is so, each as the combinations on its way."""
    ways = (
        [frozenset(order[:passed]) for passed in range(len(order) + 1)] for order in permutations(gap.steps)
    )
    return [way for way in ways if all(map(there_is, way))]


def _as(printed: str, log: float) -> str:
    """A factor with as many decimals as it was printed with."""
    return f"×{math.exp(log):.{len(printed.partition('.')[2])}f}"
