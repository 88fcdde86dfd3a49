"""A run under way is kept trial by trial, and taken up again only with what was measured in it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args, get_type_hints

import msgspec
import pytest
from msgspec.structs import replace

from gapbook.errors import RecordError
from gapbook.paths import CHECKOUT
from gapbook.record.journal import Journal, begun_on, journal_of
from gapbook.record.kind import kind_of
from gapbook.record.measured import OWN_METRICS
from gapbook.record.row import Counted, Headed, Judged, Measured
from gapbook.record.schema import Facts
from gapbook.record.stored_trial import StoredTrial, ValidTrial
from gapbook.record.tables import HISTOGRAM_COLUMNS, TRIAL_COLUMNS
from gapbook.trial.facts import code_version, machine
from tests.unit import stored_runs as runs

_PLANNED = runs.planned_trials(1)
_ROW = runs.valid(_PLANNED[0])
_REFUSED = runs.refused(_PLANNED[1])
_FACTS = Facts(started_unix_s=1.0, machine=machine(), code=code_version())


def _journal(folder: Path) -> Journal:
    return Journal(folder, "key", _PLANNED)


def _interrupt(journal: Journal, rows: list[dict[str, Any]]) -> None:
    with journal.locked(resume=False):
        journal.write_plan({"facts": msgspec.to_builtins(_FACTS)})
        for row in rows:
            journal.add(row)
        raise KeyboardInterrupt


def test_an_interrupted_run_is_kept_and_only_resume_takes_it(tmp_path: Path) -> None:
    journal = _journal(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        _interrupt(journal, [_ROW])
    with pytest.raises(RecordError, match="use source=resume to finish it"), journal.locked(resume=False):
        pass
    with journal.locked(resume=True):
        assert journal.trials() == {0: _ROW}
        assert journal.facts() == _FACTS


def test_a_run_interrupted_before_its_first_trial_is_in_nobodys_way(tmp_path: Path) -> None:
    journal = _journal(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        _interrupt(journal, [])
    assert not journal.directory.exists()
    journal.directory.mkdir()  # as kill -9 leaves it: not even a plan
    with pytest.raises(RecordError, match="no interrupted run"), journal.locked(resume=True):
        pass
    with journal.locked(resume=False):
        journal.add(_ROW)


def test_nothing_to_resume_lists_what_there_is(tmp_path: Path) -> None:
    (tmp_path / "incomplete-other").mkdir()
    with (
        pytest.raises(RecordError, match="there are: incomplete-other; use source=live"),
        _journal(tmp_path).locked(resume=True),
    ):
        pass


def test_a_second_process_is_refused_until_the_first_has_ended(tmp_path: Path) -> None:
    script = (
        "import pathlib, sys, gapbook.record.journal as r\n"
        "with r.Journal(pathlib.Path(sys.argv[1]), 'key', ()).locked(resume=False):\n"
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
        journal = _journal(tmp_path)
        with pytest.raises(RecordError, match="another process is writing"), journal.locked(resume=False):
            pass
        holder.kill()
        holder.wait()
        with journal.locked(resume=False):
            journal.add(_ROW)


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    journal = _journal(tmp_path / "file")
    with pytest.raises(RecordError, match=r"file/incomplete-key cannot be written \(Not a directory\)"):
        journal.locked(resume=False).__enter__()


# --- kinds of machines ------------------------------------------------------------------------
_ELSEWHERE = replace(_FACTS, machine=replace(_FACTS.machine, processor="another"))
_HERE_KIND, _THERE_KIND = (kind_of(facts.machine) for facts in (_FACTS, _ELSEWHERE))


def _begin(journal: Journal, facts: Facts, row: dict[str, Any] = _ROW) -> None:
    with journal.locked(resume=False):
        journal.write_plan({"facts": msgspec.to_builtins(facts)})
        journal.add(row)


def test_each_kind_of_machine_has_a_journal_of_its_own_of_a_plan(tmp_path: Path) -> None:
    folder = tmp_path / runs.CHAPTER

    def of(kind: str) -> Journal:
        return journal_of(folder, "key", _PLANNED, kind)

    # A journal from before kinds were told apart, as one of the kind that begins, has no kind in its name.
    _begin(_journal(folder), _FACTS)
    assert of(_HERE_KIND).directory.name == "incomplete-key"
    assert not of(_THERE_KIND).begun
    with pytest.raises(RecordError, match="on this kind of machine"), of(_THERE_KIND).locked(resume=True):
        pass
    _begin(of(_THERE_KIND), _ELSEWHERE, runs.valid(_PLANNED[0], 1.0))
    assert of(_HERE_KIND).trials() != of(_THERE_KIND).trials()
    assert trials_under_way_in(folder) == {"incomplete-key": 1, f"incomplete-key-{_THERE_KIND}": 1}
    # Neither is moved, whoever is finished first.
    of(_HERE_KIND).remove()
    assert of(_THERE_KIND).facts() == _ELSEWHERE
    assert of(_THERE_KIND).directory.name == f"incomplete-key-{_THERE_KIND}"
    _begin(of(_HERE_KIND), _FACTS)
    assert of(_HERE_KIND).facts() == _FACTS


def trials_under_way_in(folder: Path) -> dict[str, int]:
    return {path.name: len(list(path.glob("trial-*.json"))) for path in folder.glob("incomplete-*")}


def test_the_machines_of_runs_under_way_are_told_where_they_can_be_read(runs_folder: Path) -> None:
    folder = runs_folder / runs.CHAPTER
    _begin(_journal(folder), _FACTS)
    _begin(journal_of(folder, "key", _PLANNED, _THERE_KIND), _ELSEWHERE)
    (folder / "incomplete-other").mkdir()
    assert begun_on(runs.CHAPTER) == [_FACTS.machine, _ELSEWHERE.machine]


def test_a_journal_that_does_not_tell_its_kind_is_in_everybodys_way_and_says_what_to_do(
    tmp_path: Path,
) -> None:
    _begin(_journal(tmp_path), _FACTS)
    (tmp_path / "incomplete-key" / "plan.json").write_text("{}", encoding="utf-8")
    with pytest.raises(RecordError, match="remove that folder and use source=live") as caught:
        journal_of(tmp_path, "key", _PLANNED, _THERE_KIND)
    assert "\n" not in str(caught.value)


# --- what does not belong ---------------------------------------------------------------------
@pytest.fixture(name="kept")
def _kept(tmp_path: Path) -> Journal:
    """A journal of three trials, of which the second was refused."""
    journal = _journal(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        _interrupt(journal, [_ROW, _REFUSED, runs.valid(_PLANNED[2])])
    assert sorted(journal.trials()) == [0, 1, 2]
    return journal


def _path(journal: Journal, number: int) -> Path:
    return journal.directory / f"trial-{number:05d}.json"


def _edit(path: Path, **changed: Any) -> None:
    sealed = json.loads(path.read_text(encoding="utf-8"))
    sealed["content"] |= changed
    path.write_text(json.dumps(sealed), encoding="utf-8")


def _seal_again(journal: Journal, number: int, **changed: Any) -> None:
    """What somebody can do who knows how a trial is kept."""
    journal.add({**json.loads(_path(journal, number).read_text(encoding="utf-8"))["content"], **changed})


def _replace_by_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _replace_by_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _replace_by_link(path: Path) -> None:
    path.symlink_to(path.rename(path.with_name("elsewhere")))


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda path: _edit(path, goodput_per_s=1e6), "was changed since it was written"),
        (lambda path: path.write_bytes(b""), "was cut or changed: it holds no hash"),
        (lambda path: path.write_bytes(path.read_bytes()[:-9]), "was cut or changed"),
        (lambda path: path.write_text("null", encoding="utf-8"), "was cut or changed: it holds no hash"),
        (lambda path: path.write_text("[" * 100_000, encoding="utf-8"), "was cut or changed"),
        (
            lambda path: path.write_text(json.dumps(_ROW), encoding="utf-8"),
            "was cut or changed: it holds no hash",
        ),
        (lambda path: path.write_bytes(b"\xff\xfe"), "was cut or changed"),
        (_replace_by_folder, "is no regular file"),
        (_replace_by_pipe, "is no regular file"),
        (_replace_by_link, "it is a link"),
    ],
)
def test_a_damaged_trial_is_named_and_left_out(
    kept: Journal, damage: Callable[[Path], object], said: str
) -> None:
    damage(_path(kept, 0))
    assert sorted(kept.trials()) == [1, 2]
    (line,) = kept.left_out()
    assert line.startswith("trial-00000.json ")
    assert line.endswith(": left out, to be measured again")
    assert re.search(said, line)
    assert "\n" not in line


def test_a_trial_of_another_number_or_contestant_is_left_out(kept: Journal) -> None:
    _path(kept, 2).rename(_path(kept, 3))
    _seal_again(kept, 0, contestant="sql" if _ROW["contestant"] != "sql" else "drizzle")
    assert sorted(kept.trials()) == [1]
    assert kept.left_out() == [
        "trial-00000.json is not trial 0 of the plan: left out, to be measured again",
        "trial-00003.json holds trial 2: left out, to be measured again",
    ]


def test_a_second_attempt_counts_only_after_a_refused_first(kept: Journal) -> None:
    attempts = [
        {**_ROW, "trial": len(_PLANNED)},
        {**_REFUSED, "trial": len(_PLANNED) + 1},
        {**_ROW, "trial": 999},
    ]
    for row in attempts:
        kept.add(row)
    assert sorted(kept.trials()) == [0, 1, 2, len(_PLANNED) + 1]
    assert len(kept.left_out()) == 2


def test_a_stray_file_is_named_and_kept(kept: Journal) -> None:
    (kept.directory / "trial-of-mine.json").write_text("{}", encoding="utf-8")
    (kept.directory / "notes.txt").write_text("mine", encoding="utf-8")
    assert "trial-of-mine.json" in kept.left_out()[0]
    kept.remove()
    assert [path.name for path in kept.directory.iterdir()] == ["notes.txt"]


@pytest.mark.parametrize(
    "text",
    ["", "null", "{}", '{"sha256": "0", "content": {"facts": {"started_unix_s": 2.0}}}', "[" * 100_000],
)
def test_a_plan_that_was_changed_cannot_be_resumed(kept: Journal, text: str) -> None:
    (kept.directory / "plan.json").write_text(text, encoding="utf-8")
    with pytest.raises(
        RecordError, match=r"plan\.json was .*the run cannot be resumed: remove that folder"
    ) as caught:
        kept.facts()
    assert "\n" not in str(caught.value)


def test_a_plan_without_facts_cannot_be_resumed(kept: Journal) -> None:
    kept.write_plan({"blocks": 1})
    with pytest.raises(RecordError, match=r"plan\.json holds no facts of the run; the run cannot be resumed"):
        kept.facts()


def test_a_linked_folder_is_refused_and_what_it_leads_to_is_kept(kept: Journal, tmp_path: Path) -> None:
    elsewhere = kept.directory.rename(tmp_path / "elsewhere")
    kept.directory.symlink_to(elsewhere)
    with pytest.raises(RecordError, match="is no folder of its own"), kept.locked(resume=True):
        pass
    assert len(list(elsewhere.iterdir())) == 4


@pytest.mark.parametrize(
    "changed",
    [{"speed": 1.0}, {"goodput_per_s": "fast"}, {"goodput_per_s": float("nan")}, {"acknowledged": -1}],
)
def test_a_trial_that_is_no_row_of_the_record_is_refused_when_it_is_written(
    kept: Journal, changed: dict[str, Any]
) -> None:
    with pytest.raises(RecordError, match="trials before it are kept"):
        kept.add({**_ROW, **changed})


def test_what_a_trial_tells_and_the_columns_of_the_record_are_the_same() -> None:
    parts = (Headed, Judged, Counted, Measured)
    told = [name for part in parts for name in part.__struct_fields__] + ["took_s", "session"]
    assert sorted(told) == sorted([*TRIAL_COLUMNS, *HISTOGRAM_COLUMNS.keys() - {"trial"}, OWN_METRICS])


def test_a_trial_that_pages_read_has_each_column_and_may_lack_what_the_record_lets_it_lack() -> None:
    for kind, needed in ((StoredTrial, {"always"}), (ValidTrial, {"always", "when valid"})):
        told = {name: type(None) not in get_args(hint) for name, hint in get_type_hints(kind).items()}
        assert told == {name: column.needed in needed for name, column in TRIAL_COLUMNS.items()}
