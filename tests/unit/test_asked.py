"""The row of each system at the end of the tests: what was asked, what was skipped and why, and who was not asked."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gapbook.deploy.stack import discover_stacks
from gapbook.load.client import discover_clients
from tests.asked import ROWS_VARIABLE, Asked, failing, read_rows, rows_text, systems_of, write_row
from tests.contract.ways import discovered_ways


def _item(fixtures: tuple[str, ...] = (), **params: object) -> Any:
    return SimpleNamespace(fixturenames=fixtures, callspec=SimpleNamespace(params=params))


def _report(system: str, outcome: Any, told: Any = None, when: Any = "call") -> pytest.TestReport:
    return pytest.TestReport(
        "n", ("f", 1, "n"), {}, outcome, told, when, user_properties=[("system", system)]
    )


def test_a_case_speaks_of_the_systems_and_clients_of_its_parameters_and_fixtures() -> None:
    way, client = discovered_ways()[0], discover_clients()[0]
    assert systems_of(_item(way=way, client=client)) == {way.system, f"{client.folder.name} as a client"}
    assert systems_of(_item(("tmp_path", "postgres_stack"), replicator=("walsync", None))) == {
        "postgres",
        "walsync",
    }
    assert not systems_of(_item(("runs_folder",), name="both-optimized", count=3))


def test_rows_count_what_passed_and_why_the_rest_was_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "rows"
    path.touch()
    monkeypatch.setenv(ROWS_VARIABLE, str(path))
    write_row(_report("sqlite", "passed", when="setup"))
    for _ in range(2):
        write_row(_report("sqlite", "passed"))
        write_row(_report("sqlite", "passed", when="teardown"))
    write_row(_report("walsync", "skipped", ("f", 1, "Skipped: not built"), when="setup"))
    write_row(_report("plant", "failed", "broken"))
    rows = read_rows(path)
    assert rows["sqlite"] == Asked(passed=2)
    assert (rows["walsync"].skipped, rows["plant"].failed) == ({"not built": 1}, 1)
    assert set(rows) >= set(discover_stacks())
    text = rows_text(rows)
    assert "1 skipped: not built" in text
    assert [line.split() for line in text.splitlines() if line.startswith("sqlite ")] == [
        ["sqlite", "2", "0", "0"]
    ]


def test_a_system_that_could_run_and_was_not_asked_fails_the_run() -> None:
    """One that comes in containers only is let go where it was skipped for want of its image."""
    contained = sorted(name for name, stack in discover_stacks().items() if stack.only_in_containers())
    rows = {name: Asked(passed=1) for name in discover_stacks()}
    assert not failing(rows)
    rows["walsync"].passed = 0
    rows["walsync"].skipped["not built"] = 3
    rows[contained[0]].passed = 0
    assert failing(rows) == sorted({"walsync", contained[0]})
    rows[contained[0]].skipped["no image"] = 1
    assert failing(rows) == ["walsync"]
