"""What a ratio would be, had one gate refused nothing."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from gapbook.method.findings import Findings
from gapbook.pages.proof.let_in import let_in_table
from tests.unit import stored_runs as runs

_PAIR = ("pair", runs.SPACETIMEDB, runs.PROCEDURE)


def _refused_by(row: dict[str, Any], *names: str) -> dict[str, Any]:
    gates = [{**row["gates"][0], "name": name, "passed": False} for name in names]
    return row | {"valid": False, "refused_because": "; ".join(names), "gates": gates}


def _cells(tmp_path: Path, *names: str) -> list[list[str]]:
    """The rows of the table of a run in which the first contestant was twice as fast in its last block, and refused."""
    rows = []
    for planned in runs.planned_trials(3):
        last = planned.contestant == runs.SPACETIMEDB.name and planned.block == 2
        row = runs.valid(
            planned, 32e3 if last else 16e3 if planned.contestant == runs.SPACETIMEDB.name else 8e3
        )
        rows.append(_refused_by(row, *names) if last else row)
    html = let_in_table(Findings(runs.store(tmp_path, rows), runs.CHAPTER), [_PAIR]).html
    return [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in html.split("<tr>")[2:]]


def test_trials_that_the_gate_alone_refused_are_let_in(tmp_path: Path) -> None:
    for cells in _cells(tmp_path, "steal"):
        assert cells[1:3] == ["1 of 3", "0 of 3"]
        assert float(cells[5].removeprefix("×")) > 1.2


def test_what_another_gate_refused_too_stays_out(tmp_path: Path) -> None:
    for cells in _cells(tmp_path, "steal", "depth"):
        assert cells[1:3] == ["0 of 3", "0 of 3"]
        assert cells[5] == "×1.00"
