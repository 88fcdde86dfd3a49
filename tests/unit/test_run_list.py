"""What there is to choose from, as a reader asks for it: stored runs, parameters of chapters, words that Tab completes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gapbook import paths
from gapbook.book.chapters import chapters, declared_parameters, own_parameters
from gapbook.book.completion import names_of_runs
from gapbook.cli import main
from gapbook.method.named import named_run
from gapbook.parameters import chapter_parameters
from gapbook.paths import CHECKOUT
from gapbook.record import run
from gapbook.record.run import latest_published, published_folders
from tests.unit import stored_runs

_CHAPTER = "fair"


def _run(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    try:
        code = main(words)
    except SystemExit as ended:  # as argparse ends after it has helped
        code = int(ended.code or 0)
    assert code == 0
    told = capsys.readouterr()
    assert told.err == ""
    return told.out


def test_published_runs_are_told_and_which_of_them_the_book_shows(
    runs_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    del runs_folder
    told: list[dict[str, Any]] = json.loads(_run(capsys, "runs", _CHAPTER, "--json"))
    page = latest_published(_CHAPTER)
    assert {one["run_id"] for one in told} == {folder.name for folder in published_folders(_CHAPTER)}
    shown = [one["run_id"] for one in told].index(page.run_id)
    newer = len(told) - shown - 1
    assert [one["state"] for one in told] == [*["superseded"] * shown, "published", *["beside"] * newer]
    assert told[shown]["valid_trials"] == int(page.trials["valid"].sum())
    assert told[shown]["began_unix_s"] == page.manifest.started_unix_s
    lines = _run(capsys, "runs", _CHAPTER).splitlines()
    assert len(lines) == len(told) + 1
    assert all(one["run_id"] in line for one, line in zip(told, lines[1:], strict=True))


def test_own_runs_those_under_way_and_those_that_cannot_be_read_are_told_too(
    runs_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    published = latest_published(_CHAPTER).folder
    own = shutil.copytree(published, runs_folder / _CHAPTER / published.name)
    shutil.copytree(published, runs_folder / _CHAPTER / "a renamed one")
    (runs_folder / _CHAPTER / "incomplete-abc").mkdir()
    for number in range(3):
        (runs_folder / _CHAPTER / "incomplete-abc" / f"trial-{number}.json").touch()
    told = json.loads(_run(capsys, "runs", _CHAPTER, "--json"))[len(published_folders(_CHAPTER)) :]
    assert {one["state"]: one["run_id"] for one in told} == {
        "not readable": "a renamed one",
        "yours": own.name,
        "under way": "incomplete-abc",
    }
    assert [one["trials"] for one in told if one["state"] == "under way"] == [3]
    assert next(one["why"] for one in told if one["state"] == "not readable").startswith(
        "run a renamed one: the folder was renamed"
    )
    assert len(_run(capsys, "runs", _CHAPTER).splitlines()) == 1 + len(published_folders(_CHAPTER)) + len(
        told
    )


def test_runs_that_others_gave_are_told_found_by_their_id_and_completed(
    runs_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given = tmp_path / "given"
    for module in (paths, run):
        monkeypatch.setattr(module, "GIVEN_RUNS", given)
    own = stored_runs.store(
        runs_folder.with_name("elsewhere"),
        stored_runs.whole(),
        scenario=replace(stored_runs.SCENARIO, chapter=_CHAPTER),
        chapter=_CHAPTER,
    )
    folder = shutil.copytree(own.folder, given / _CHAPTER / own.run_id)
    told = json.loads(_run(capsys, "runs", _CHAPTER, "--json"))
    assert [one["run_id"] for one in told if one["state"] == "given"] == [own.run_id]
    assert named_run(own.run_id).folder == folder
    assert own.run_id in names_of_runs(prefix="")


@pytest.mark.parametrize("command", ["run", "runs", "setup"])
@pytest.mark.parametrize(
    ("name", "said"),
    [("fai", "did you mean fair?"), ("claims", "measures nothing"), ("front", "measures nothing")],
)
def test_what_is_no_chapter_is_refused(
    command: str, name: str, said: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gapbook.deploy.setup.set_up", lambda *_, **__: None)
    assert main([command, name]) == 2
    told = capsys.readouterr().err
    assert said in told
    assert told.count("\n") == 1


def test_help_of_run_has_each_parameter_in_a_row_and_who_takes_it(capsys: pytest.CaptureFixture[str]) -> None:
    lines = _run(capsys, "run", "--help").splitlines()
    rows = {line.split(" ", 1)[0]: line for line in lines if line}
    for name, parameter in chapter_parameters().items():
        assert f" {parameter.allowed} " in f"{rows[name]} "
        assert parameter.help in rows[name]
    for chapter in chapters():
        taken = set(rows[chapter].removeprefix(chapter).replace(",", " ").split()) - {"–"}
        assert taken <= declared_parameters(chapter)
        assert ("alpha" in taken) == ("alpha" in declared_parameters(chapter))


def test_help_of_a_chapter_has_its_own_values(capsys: pytest.CaptureFixture[str]) -> None:
    lines = _run(capsys, "run", _CHAPTER, "--help").splitlines()
    rows = {words[0]: words[1] for line in lines if len(words := line.split()) > 1}
    own = own_parameters(_CHAPTER)
    assert rows["blocks"] == str(own["blocks"])
    assert rows["alpha"] == ",".join(map(str, own["alpha"]))
    assert own.keys() <= rows.keys()


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("gapbook comp", {"compare"}),
        ("gapbook run fai", {"fair"}),
        ("gapbook run fair -p wi", {"window_s="}),
        ("gapbook run walsync-vs-litestream -p alp", set()),
        ("gapbook compare what-", {"what-the-benchmark-counted"}),
    ],
)
def test_tab_completes_commands_chapters_parameters_and_runs(typed: str, completed: set[str]) -> None:
    asked = {
        "_ARGCOMPLETE": "1",
        "_ARGCOMPLETE_IFS": " ",
        "COMP_LINE": typed,
        "COMP_POINT": str(len(typed)),
        "COMP_TYPE": "9",
    }
    read, write = os.pipe()
    # The shell reads the answer from file 8, as argcomplete has it.
    done = subprocess.run(
        ["/bin/bash", "-c", f'"$@" 8>&{write}', "bash", sys.executable, "-m", "gapbook"],
        cwd=CHECKOUT,
        env={**os.environ, **asked},
        pass_fds=[write],
        check=False,
        timeout=60,
    )
    os.close(write)
    with os.fdopen(read, encoding="utf-8") as answer:
        assert set(answer.read().split()) == completed
    assert done.returncode == 0
