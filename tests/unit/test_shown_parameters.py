"""The parameters cell of a page has the values of the run that the page shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gapbook.book.shown_parameters import with_parameters_of
from tests.unit import stored_runs as runs

_WRITTEN = """\
source = "live"  # live: measure now; or the id of a stored run
alpha = [0.5, 1.5]  # Zipf exponent – of the accounts
blocks = 2
accounts = 100_000
contestants = (
    "drizzle,sql"  # ü
)  # or all
in_flight = 40
kills = 0; seed = 1
"""
_SHOWN = """\
source = "{}"  # live: measure now; or the id of a stored run
alpha = [0.5]  # Zipf exponent – of the accounts
blocks = 4
accounts = 100_000
contestants = (
    "all"  # ü
)  # or all
in_flight = 40
kills = 1; seed = 7
"""
_GIVEN = {"alpha": [0.5], "blocks": 4, "accounts": 100_000, "contestants": "all", "kills": 1, "seed": 7}


def _code(source: str, *tags: str) -> dict[str, Any]:
    return {"cell_type": "code", "source": source, "metadata": {"tags": list(tags)}, "outputs": []}


_CELLS = [
    {"cell_type": "markdown", "source": "# Title", "metadata": {}},
    _code(_WRITTEN, "parameters", "hide-input"),
    _code('# Parameters\nsource = "published"\n', "injected-parameters"),
    _code("blocks = 2"),
]


def test_the_cell_has_what_its_run_was_given_and_names_it(tmp_path: Path) -> None:
    run = runs.store(tmp_path / runs.CHAPTER, runs.whole(), parameters=_GIVEN)
    title, parameters, code = with_parameters_of(run, _CELLS)
    assert parameters == {**_CELLS[1], "source": _SHOWN.format(run.run_id)}
    assert (title, code) == (_CELLS[0], _CELLS[3])
    assert _CELLS[1]["source"] == _WRITTEN


def test_of_a_run_that_kept_no_parameters_the_cell_has_what_its_plan_tells(tmp_path: Path) -> None:
    run = runs.store(tmp_path / runs.CHAPTER, runs.whole(blocks=3))
    shown = with_parameters_of(run, _CELLS)[1]["source"]
    for line in ("alpha = [0.0, 1.5]  # Zipf", "blocks = 3\n", "accounts = 100\n", "in_flight = 40\n"):
        assert line in shown
    assert '    ["drizzle", "sql", ' in shown
