"""A run that somebody gives: what is looked at in it, where it is put, and what it can do there."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gapbook.book import check, submission
from gapbook.book.submission import checked_run, submitted
from gapbook.cli import main
from gapbook.declared.machines import MachinesDeclaration
from gapbook.declared.reading import read
from gapbook.errors import ParameterError, SetupError
from gapbook.method import over_runs
from gapbook.method.findings import Findings
from gapbook.record import published
from gapbook.record.run import Run, latest_published
from gapbook.trial.facts import code_version
from tests.unit import stored_runs as runs

_CHAPTER = "fair"
_CODE = {"revision": code_version().revision, "changed": False}


@pytest.fixture(name="given")
def _given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of given runs, with its file of entries."""
    folder, entries = tmp_path / "results" / "given", tmp_path / "results" / "machines.toml"
    folder.mkdir(parents=True)
    entries.write_text("#:schema x\n", encoding="utf-8")
    for module in (submission, check, published):
        monkeypatch.setattr(module, "GIVEN_RUNS", folder)
    monkeypatch.setattr(submission, "_ENTRIES", entries)
    for cached in (published.given_runs, over_runs._given):
        cached.cache_clear()
    return folder


def _passed_over(rows: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
    gates = [{**gate, "passed": False} for gate in rows[0]["gates"]]
    return [rows[0] | {"gates": gates}, *rows[1:]]


@pytest.mark.parametrize(
    ("what", "chapter", "code", "rows"),
    [
        ("", _CHAPTER, _CODE, runs.whole),
        ("chapter", "nobody", _CODE, runs.whole),
        ("revision", _CHAPTER, {"revision": "unknown", "changed": False}, runs.whole),
        ("revision", _CHAPTER, {"revision": "f" * 40, "changed": False}, runs.whole),
        ("revision", _CHAPTER, {**_CODE, "changed": True}, runs.whole),
        ("trials", _CHAPTER, _CODE, runs.nothing_valid),
        ("gates", _CHAPTER, _CODE, lambda: _passed_over(runs.whole())),
    ],
)
def test_what_fails_is_named(
    what: str,
    chapter: str,
    code: dict[str, Any],
    rows: Callable[[], list[dict[str, Any]]],
    tmp_path: Path,
    given: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    scenario = replace(runs.SCENARIO, chapter=chapter)
    run = runs.store(tmp_path / "runs", rows(), scenario=scenario, chapter=chapter, code=code)
    assert [one.what for one in checked_run(str(run.folder))[1] if one.holds is False] == (
        [what] if what else []
    )
    assert main(["check", str(run.folder)]) == (2 if what else 0)
    assert main(["submit", str(run.folder), "--machine", "a box"]) == (2 if what else 0)
    assert bool(list(given.rglob("manifest.json"))) is not bool(what)
    capsys.readouterr()


def test_a_run_that_was_changed_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = runs.store(tmp_path / "runs", runs.whole())
    trials = run.folder / "trials.parquet"
    trials.write_bytes(trials.read_bytes()[:-1] + b"\0")
    assert main(["check", str(run.folder)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_given_run_stands_beside_the_published_one_and_decides_nothing(tmp_path: Path, given: Path) -> None:
    newest = latest_published(_CHAPTER)
    with pytest.raises(ParameterError, match="in the book already"):
        submitted(newest, machine="a box", by="")
    run = runs.store(
        tmp_path / "runs", runs.whole(), scenario=replace(runs.SCENARIO, chapter=_CHAPTER), chapter=_CHAPTER
    )
    folder = submitted(run, machine='Ünïcode "box"', by="Jane")
    assert folder == given / _CHAPTER / run.run_id
    (entry,) = read(given.parent / "machines.toml", MachinesDeclaration).given
    assert (entry.run, entry.machine, entry.by) == (run.run_id, 'Ünïcode "box"', "Jane")
    with pytest.raises(ParameterError, match="in the book already"):
        submitted(run, machine="a box", by="")

    found = Findings(run, _CHAPTER)
    pair = (found.scenario.contestants[1].name, found.scenario.contestants[0].name, found.treatments[0])
    of_another = Findings(replace(run, run_id="0" * 12), _CHAPTER)
    decides, beside = (
        over_runs.ratio_over_runs(of_another, *pair, with_given=with_given) for with_given in (False, True)
    )
    assert decides is not None
    assert beside is not None
    assert (decides.runs, beside.runs) == (1, 2)
    shutil.rmtree(folder)
    assert not list(given.rglob("manifest.json"))


@pytest.mark.parametrize(("machine", "by"), [("", ""), (" ", ""), ("a\nb", ""), ("x" * 201, ""), ("a", "\0")])
def test_words_that_are_no_line_are_refused(machine: str, by: str, tmp_path: Path, given: Path) -> None:
    run = runs.store(
        tmp_path / "runs", runs.whole(), scenario=replace(runs.SCENARIO, chapter=_CHAPTER), chapter=_CHAPTER
    )
    with pytest.raises(ParameterError, match=r"^submit: --"):
        submitted(run, machine=machine, by=by)
    assert not list(given.iterdir())


def _of_a_chapter(folder: Path) -> Run:
    return runs.store(
        folder, runs.whole(), scenario=replace(runs.SCENARIO, chapter=_CHAPTER), chapter=_CHAPTER
    )


def test_what_cannot_be_written_is_told_before_anything_is(tmp_path: Path, given: Path) -> None:
    run = _of_a_chapter(tmp_path / "runs")
    entries = given.parent / "machines.toml"
    (given / _CHAPTER).touch()  # no folder: whoever runs this test may write into every folder
    before = entries.read_bytes()
    with pytest.raises(SetupError, match=r"^submit: .*/fair cannot be written; give it from a clone"):
        submitted(run, machine="a box", by="")
    assert entries.read_bytes() == before
    (given / _CHAPTER).unlink()
    entries.unlink()
    with pytest.raises(
        SetupError, match=r"^submit: .*/machines.toml cannot be written; give it from a clone"
    ):
        submitted(run, machine="a box", by="")
    assert not list(given.iterdir())


def test_a_run_that_could_not_be_put_in_place_has_no_entry(
    tmp_path: Path, given: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    run = _of_a_chapter(tmp_path / "runs")
    entries = given.parent / "machines.toml"
    before = entries.read_bytes()
    monkeypatch.setattr(Path, "rename", full)
    with pytest.raises(OSError, match="No space left"):
        submitted(run, machine="a box", by="")
    assert entries.read_bytes() == before
