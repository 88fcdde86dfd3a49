"""A run is kept trial by trial and read back only when each of its bytes is the one written."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gapbook.errors import RecordError
from gapbook.paths import CHECKOUT
from gapbook.record import Journal, Run, find_run, latest_published, load_run

_FILES = ("manifest.json", "trials.parquet", "histograms.parquet")


def _row(number: int, **other: Any) -> dict[str, Any]:
    return {
        "trial": number,
        "contestant": "a",
        "alpha": 0.5,
        "valid": True,
        "goodput_per_s": 1234.5,
        "labels": ["client-bound"],
        "gates": [{"name": "reconciled", "passed": True, "value": None}],
        "service_time_histogram": f"HIST{number}",
        "response_time_histogram": f"RESP{number}",
        **other,
    }


@pytest.fixture(name="run")
def _run(tmp_path: Path) -> Run:
    journal = Journal(tmp_path / "chapter", "key")
    with journal.locked(resume=False):
        journal.write_plan({"facts": {}})
        for number in (1, 0):
            journal.add(_row(number))
        journal.add({"trial": 2, "valid": False, "refused_because": "x", "labels": [], "gates": []})
        return journal.finish({"chapter": "chapter", "machine": {"processor": "Zen, 2 µm"}, "started": 0.1})


def test_what_was_written_reads_back(run: Run) -> None:
    assert load_run(run.folder).manifest == run.manifest
    assert run.manifest["machine"] == {"processor": "Zen, 2 µm"}
    assert run.trials["trial"].to_list() == [0, 1, 2]
    assert run.trials["goodput_per_s"].to_list() == [1234.5, 1234.5, None]
    assert json.loads(run.trials["gates"][0])[0]["value"] is None
    assert run.histograms["service_time_histogram"].to_list() == ["HIST0", "HIST1", None]
    assert "service_time_histogram" not in run.trials.columns
    assert run.folder.name == run.run_id
    assert not run.published
    assert [path.name for path in run.folder.parent.iterdir()] == [run.run_id]


@pytest.mark.parametrize("name", _FILES)
@pytest.mark.parametrize("place", [0.0, 0.03, 0.5, 0.97, 1.0])
def test_one_changed_byte_is_refused_by_name(run: Run, name: str, place: float) -> None:
    path = run.folder / name
    data = bytearray(path.read_bytes())
    data[round(place * (len(data) - 1))] ^= 0x01
    path.write_bytes(data)
    with pytest.raises(RecordError, match=f"run {run.run_id}: {name} was changed") as caught:
        load_run(run.folder)
    assert "\n" not in str(caught.value)


def test_a_space_added_to_the_manifest_is_refused(run: Run) -> None:
    path = run.folder / "manifest.json"
    path.write_bytes(path.read_bytes().replace(b"{", b"{ ", 1))
    with pytest.raises(RecordError, match=r"manifest\.json was changed"):
        load_run(run.folder)


@pytest.mark.parametrize("text", [b"", b"{", b"5", b"[]", b"null", b'"text"', b"\xff\xfe", b"{}"])
def test_a_manifest_that_is_none_is_refused(run: Run, text: bytes) -> None:
    (run.folder / "manifest.json").write_bytes(text)
    with pytest.raises(RecordError, match=f"run {run.run_id}: manifest.json was changed"):
        load_run(run.folder)


@pytest.mark.parametrize("kept_frac", [0.1, 0.5, 0.99])
@pytest.mark.parametrize("name", _FILES)
def test_a_truncated_file_is_refused(run: Run, name: str, kept_frac: float) -> None:
    path = run.folder / name
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * kept_frac)])
    with pytest.raises(RecordError, match=f"run {run.run_id}: {name} was changed"):
        load_run(run.folder)


@pytest.mark.parametrize("name", _FILES)
def test_a_missing_file_is_named(run: Run, name: str) -> None:
    (run.folder / name).unlink()
    with pytest.raises(RecordError, match=f"run {run.run_id}: {name} (is missing|cannot be read)"):
        load_run(run.folder)


def test_a_renamed_folder_is_refused_with_the_id_it_holds(run: Run) -> None:
    renamed = run.folder.rename(run.folder.with_name("0" * 12))
    with pytest.raises(RecordError, match=f"run {'0' * 12}: the folder was renamed; .* run {run.run_id}"):
        load_run(renamed)


def test_files_of_another_run_are_refused(run: Run, tmp_path: Path) -> None:
    journal = Journal(tmp_path / "chapter", "other")
    with journal.locked(resume=False):
        journal.add(_row(0, goodput_per_s=9.0))
        other = journal.finish({"chapter": "chapter"})
    shutil.copy2(other.folder / "trials.parquet", run.folder / "trials.parquet")
    with pytest.raises(RecordError, match=r"trials\.parquet was changed"):
        load_run(run.folder)


# --- finding ----------------------------------------------------------------------------------
def test_a_run_is_found_by_its_id_and_an_unknown_id_lists_them(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GAPBOOK_RUNS", str(run.folder.parent.parent))
    (run.folder.parent / "finishing-key").mkdir()
    (run.folder.parent / "finishing-key" / "manifest.json").touch()
    assert find_run("chapter", run.run_id).run_id == run.run_id
    with pytest.raises(RecordError) as caught:
        find_run("chapter", "f" * 12)
    assert str(caught.value) == (
        f"source: no run '{'f' * 12}' of chapter; allowed: live, resume, published, {run.run_id}"
    )


def test_a_chapter_without_a_published_run_says_what_to_do() -> None:
    with pytest.raises(RecordError, match="no-such-chapter has no published run yet; use source=live"):
        latest_published("no-such-chapter")


# --- a run under way --------------------------------------------------------------------------
def _interrupt(journal: Journal, rows: list[dict[str, Any]]) -> None:
    with journal.locked(resume=False):
        journal.write_plan({"facts": {"started_unix_s": 1.0}})
        for row in rows:
            journal.add(row)
        raise KeyboardInterrupt


def test_an_interrupted_run_is_kept_and_only_resume_takes_it(tmp_path: Path) -> None:
    journal = Journal(tmp_path, "key")
    with pytest.raises(KeyboardInterrupt):
        _interrupt(journal, [_row(0)])
    with pytest.raises(RecordError, match="use source=resume to finish it"), journal.locked(resume=False):
        pass
    with journal.locked(resume=True):
        assert journal.trials() == {0: _row(0)}
        assert journal.plan()["facts"] == {"started_unix_s": 1.0}


def test_a_run_interrupted_before_its_first_trial_is_in_nobodys_way(tmp_path: Path) -> None:
    journal = Journal(tmp_path, "key")
    with pytest.raises(KeyboardInterrupt):
        _interrupt(journal, [])
    assert not journal.directory.exists()
    journal.directory.mkdir()  # as kill -9 leaves it: not even a plan
    with pytest.raises(RecordError, match="no interrupted run"), journal.locked(resume=True):
        pass
    with journal.locked(resume=False):
        journal.add(_row(0))


def test_nothing_to_resume_lists_what_there_is(tmp_path: Path) -> None:
    (tmp_path / "incomplete-other").mkdir()
    with (
        pytest.raises(RecordError, match="there are: incomplete-other; use source=live"),
        Journal(tmp_path, "key").locked(resume=True),
    ):
        pass


def test_a_second_process_is_refused_until_the_first_has_ended(tmp_path: Path) -> None:
    script = (
        "import pathlib, sys, gapbook.record as r\n"
        "with r.Journal(pathlib.Path(sys.argv[1]), 'key').locked(resume=False):\n"
        "    print('locked', flush=True); sys.stdin.read()\n"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=CHECKOUT,
        env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
    )
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"locked\n"
        journal = Journal(tmp_path, "key")
        with pytest.raises(RecordError, match="another process is writing"), journal.locked(resume=False):
            pass
        holder.kill()
        holder.wait()
        with journal.locked(resume=False):
            journal.add(_row(0))


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    journal = Journal(tmp_path / "file", "key")
    with pytest.raises(RecordError, match=r"file/incomplete-key cannot be written \(Not a directory\)"):
        journal.locked(resume=False).__enter__()
