"""A run is read back only when each of its bytes is the one written, and each value is one of the schema."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import msgspec
import polars as pl
import pytest

from gapbook.errors import RecordError
from gapbook.method.summary import Summary
from gapbook.paths import CHECKOUT
from gapbook.record.run import Run, canonical, find_run, latest_published, load_run
from tests.unit import stored_runs as runs

_FILES = ("manifest.json", "trials.parquet", "histograms.parquet", "metrics.parquet")
_PLANNED = runs.planned_trials(1)


@pytest.fixture(name="run")
def _run(tmp_path: Path) -> Run:
    rows = [runs.valid(_PLANNED[1]), runs.valid(_PLANNED[0]), runs.broken(_PLANNED[2])]
    return runs.store(tmp_path / runs.CHAPTER, rows, parameters={"place": "Zen, 2 µm"})


def test_page_of_data_explains_each_column_of_each_file(run: Run) -> None:
    page = (CHECKOUT / "book" / "data.md").read_text(encoding="utf-8")
    _, *sections = page.split("## `")
    explained = {
        section.partition("`")[0]: [
            field
            for row in re.findall(r"^\| (`.+?`) \| .", section, re.MULTILINE)
            for field in re.findall(r"`(\w+)`", row)
        ]
        for section in sections
    }
    in_small = explained.pop("compare.json")
    assert sorted(in_small) == sorted(field.name for field in msgspec.structs.fields(Summary))
    stored = {name: pl.read_parquet(run.folder / name).columns for name in _FILES[1:]}
    assert explained == {"manifest.json": [], **stored}


def test_what_was_written_reads_back(run: Run) -> None:
    assert load_run(run.folder).manifest == run.manifest
    assert run.manifest.parameters == {"place": "Zen, 2 µm"}
    assert run.trials["trial"].to_list() == [0, 1, 2]
    measured = [runs.valid(planned)["goodput_per_s"] for planned in _PLANNED[:2]]
    assert run.trials["goodput_per_s"].to_list() == [*measured, None]
    assert json.loads(run.trials["gates"][0])[0]["value"] == 0.01
    assert [text is None for text in run.histograms["service_time_histogram"]] == [False, False, True]
    assert "service_time_histogram" not in run.trials.columns
    assert run.folder.name == run.run_id
    assert not run.published
    assert [path.name for path in run.folder.parent.iterdir()] == [run.run_id]


def test_every_column_stands_in_a_run_of_which_every_trial_broke(tmp_path: Path) -> None:
    run = runs.store(tmp_path / runs.CHAPTER, runs.nothing_came_through())
    assert run.trials["server_cpu_s"].is_null().all()
    assert run.trials["session"].to_list() == [0] * run.trials.height


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
    other = runs.store(tmp_path / runs.CHAPTER, [runs.valid(_PLANNED[0], 9.0)])
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
    assert find_run(runs.CHAPTER, run.run_id).run_id == run.run_id
    with pytest.raises(RecordError) as caught:
        find_run(runs.CHAPTER, "f" * 12)
    assert str(caught.value) == (
        f"source: no run '{'f' * 12}' of synthetic; allowed: live, resume, session, published, {run.run_id}"
    )


def test_a_chapter_without_a_published_run_says_what_to_do() -> None:
    with pytest.raises(RecordError, match="no-such-chapter has no published run yet; use source=live"):
        latest_published("no-such-chapter")


def test_the_published_run_that_began_last_is_the_newest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / runs.CHAPTER
    monkeypatch.setattr("gapbook.record.run.published_folder", lambda chapter: folder)
    stored = [
        runs.store(folder, [runs.valid(_PLANNED[0])], started_unix_s=began, finished_unix_s=None)
        for began in (20.0, 30.0, 10.0)
    ]
    assert latest_published(runs.CHAPTER).run_id == stored[1].run_id
    (stored[2].folder / "manifest.json").write_text('{"started_unix_s": "late"}', encoding="utf-8")
    with pytest.raises(RecordError, match=f"run {stored[2].run_id}: manifest.json: .*started_unix_s"):
        latest_published(runs.CHAPTER)


def test_an_object_is_written_in_the_one_way_that_old_runs_were_hashed_in() -> None:
    content = {
        "b": [],
        "a": {},
        'ä\u2028"\\': [1, -0.0, 1e300, 10**30, None, True, {"x": ["\n", "/"]}],
        "": "★",
    }
    written = json.dumps(content, sort_keys=True, indent=1, ensure_ascii=False).encode() + b"\n"
    assert canonical(content) == written


def test_a_run_whose_file_was_written_anew_is_read_anew(run: Run) -> None:
    first = load_run(run.folder)
    assert load_run(run.folder) is first
    trials = run.folder / "trials.parquet"
    data = bytearray(trials.read_bytes())
    data[len(data) // 2] ^= 1
    trials.write_bytes(data)
    with pytest.raises(RecordError, match=r"trials\.parquet was changed"):
        load_run(run.folder)
