"""The key of a cell: one for what is set alike, whatever it is called and wherever it was measured, and another for all else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gapbook.method import same
from gapbook.method.cell_key import cell_key
from gapbook.method.findings import Findings
from gapbook.method.same import Setup, cells_of, number_word
from gapbook.method.summary import summary_of
from gapbook.pages import versions
from gapbook.record.published import published_runs
from gapbook.record.run import Run, latest_published
from gapbook.record.scenario import RecordedContestant
from tests.bank import alphas
from tests.unit import stored_runs as runs

_changed = msgspec.structs.replace
_Change = Callable[[RecordedContestant], RecordedContestant]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return runs.store(tmp_path_factory.mktemp("cells"), runs.whole(1))


def _with_scenario(run: Run, **changes: Any) -> Run:
    return replace(run, manifest=_changed(run.manifest, scenario=_changed(run.scenario, **changes)))


def _with_accounts(run: Run, accounts: int) -> Run:
    workload = run.scenario.workload
    parameters = {**workload.parameters, "accounts": accounts}
    return _with_scenario(run, workload=_changed(workload, parameters=parameters))


def _settings(**changes: Any) -> _Change:
    return lambda one: _changed(one, settings=_changed(one.settings, **changes))


def _level(name: str) -> _Change:
    return lambda one: _changed(one, levels={**one.levels, name: "another"})


_LEVELS = (
    "access", "client", "counting", "in flight", "isolation", "loop", "round trip", "server", "server cores", "tier",
)  # fmt: skip
_CHANGES: dict[str, _Change] = {
    **{f"level {name}": _level(name) for name in _LEVELS},
    "version": lambda one: _changed(one, version="another"),
    "system": lambda one: _changed(one, system="another", settings=_changed(one.settings, system="another")),
    "kind of promise": lambda one: _changed(one, durability="fsync-per-commit"),
    "bound of a promise": lambda one: _changed(one, durability="delayed(600 ms)"),
    "window": lambda one: _changed(one, window_s=3.0),
    "access key": _settings(access="another"),
    "parameters": _settings(parameters={"amount_max": 5}),
    "place": _settings(backend="docker"),
    "retries": _settings(max_retries=9),
    "variables": _level("environment"),
}
_CHANGES_OF_LOAD: dict[str, dict[str, Any]] = {
    "warm-up": {"warmup_s": 4.0},
    "connections": {"connections": 9},
}


@pytest.mark.parametrize("change", _CHANGES.values(), ids=_CHANGES)
def test_another_key_for_another_contestant(run: Run, change: _Change) -> None:
    one = run.scenario.contestants[0]
    assert cell_key(run, change(one), 0.5) != cell_key(run, one, 0.5)


@pytest.mark.parametrize("changes", _CHANGES_OF_LOAD.values(), ids=_CHANGES_OF_LOAD)
def test_another_key_for_another_load(run: Run, changes: dict[str, Any]) -> None:
    one = run.scenario.contestants[0]
    assert cell_key(_with_scenario(run, **changes), one, 0.5) != cell_key(run, one, 0.5)
    assert cell_key(_with_accounts(run, 99), one, 0.5) != cell_key(run, one, 0.5)
    assert cell_key(run, one, 1.5) != cell_key(run, one, 0.5)


def test_another_key_for_numbers_that_differ_in_a_late_digit(run: Run) -> None:
    contestant = run.scenario.contestants[0]
    accounts = 1_000_001, 1_000_002
    assert len({cell_key(_with_accounts(run, count), contestant, 0.5) for count in accounts}) == 2
    exponents = 0.123_456_7, 0.123_456_8
    assert len({cell_key(run, contestant, exponent) for exponent in exponents}) == 2


@pytest.mark.parametrize(
    ("value", "word"),
    [
        (100, "100"), (100_000.0, "100000"), (1_000_000, "1e+06"), (0.5, "0.5"), (1e-7, "1e-07"), (True, "1"),
        (1_000_001, "1000001"), (1_000_001.0, "1000001"), (1_234_567.5, "1234567.5"), (2**60 + 1, "1152921504606846977"),
    ],
)  # fmt: skip
def test_a_number_has_one_word_which_is_the_old_one_where_that_said_it_all(value: float, word: str) -> None:
    assert number_word(value) == word


def test_treatments_that_differ_in_a_late_digit_are_cells_of_their_own_in_a_summary(tmp_path: Path) -> None:
    values = (1.000_000_1, 1.000_000_2)
    scenario = replace(runs.SCENARIO, treatment=alphas(*values))
    rows = [runs.valid(planned) for planned in runs.planned_trials(1, scenario)]
    summary = summary_of(runs.store(tmp_path, rows, scenario=scenario))
    assert {cell.at for cell in summary.cells} == set(summary.words) == set(map(str, values))


def test_a_name_a_label_and_a_word_for_what_is_resolved_change_nothing(run: Run) -> None:
    one = run.scenario.contestants[0]
    other = _changed(
        one,
        name="x",
        system_label="Other",
        detail_label="other · 1 in flight",
        levels={**one.levels, "window": "2 s", "durability": one.durability, "system": "other words"},
        settings=_changed(one.settings, name="x"),
    )
    elsewhere = _with_scenario(run, chapter="other", seed=8, window_s=9.0)
    assert cell_key(elsewhere, other, 0.5) == cell_key(run, one, 0.5)


def test_a_version_is_the_one_that_was_asked_for_and_else_what_the_server_said(run: Run) -> None:
    unnamed = run.scenario.contestants[0]
    found = Findings(run, run.manifest.chapter)
    for one, version in (
        (unnamed, "1.0"),
        (_changed(unnamed, version="1"), "1"),
        (_changed(unnamed, server="none"), ""),
    ):
        assert same.version_of(run, one) == versions.version_of(found, one) == version
    assert versions.versioned_label(found, unnamed) == "Postgres 1.0"


def test_chapters_hold_the_same_cells_by_one_key_and_no_key_stands_for_two_cells() -> None:
    """``drizzle-rpc`` of one chapter is ``postgres-drizzle`` of another."""
    one, other = (runs.cells_by_key(latest_published(name)) for name in ("both-optimized", "original"))
    shared = {one[key].contestant: other[key].contestant for key in one.keys() & other.keys()}
    assert shared["drizzle-rpc"] == "postgres-drizzle"
    setups: dict[str, Setup] = {}
    for run in published_runs():
        by_cell = {cell: setup for setup, cell in cells_of(run).items()}
        for key, cell in runs.cells_by_key(run).items():
            setup = frozenset(fact for fact in by_cell.get(cell, ()) if fact[0] != "window")
            assert not setup or setups.setdefault(key, setup) == setup
