"""The stored runs there are, published ones and the reader's own, each with what it was made on and what came of it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias

from gapbook.errors import RecordError
from gapbook.method.findings import named_versions
from gapbook.pages.corrections import hour
from gapbook.record.journal import UNDER_WAY, trials_under_way
from gapbook.record.machine import cores_words
from gapbook.record.run import (
    Run,
    finished_folders,
    given_folders,
    load_run,
    published_folder,
    published_folders,
    shown_folder,
)
from gapbook.record.schema import one_line
from gapbook.text_table import text_table

__all__ = ["StoredRun", "run_list_json", "run_list_lines", "stored_runs"]

State: TypeAlias = Literal["published", "superseded", "beside", "given", "yours", "under way", "not readable"]
_HEADS = ("chapter", "run", "began", "machine", "trials that count", "which is", "versions")


@dataclass(frozen=True)
class StoredRun:
    """``state``: *published* is what a chapter shows, *superseded* one that a newer published run took the place of,
    *beside* a newer one that says less of another machine (:mod:`gapbook.record.standing`), *given* one that somebody gave
    to the book; *under way* is one that was interrupted, or is being measured now. ``why`` says why one cannot be read."""

    chapter: str
    run_id: str
    state: State
    began_unix_s: float | None = None
    machine: str = ""
    valid_trials: int | None = None
    trials: int | None = None
    versions: Sequence[str] = ()
    why: str = ""


def stored_runs(chapters: Sequence[str]) -> list[StoredRun]:
    """The runs of these chapters: of each first the published ones, then those that others gave, then the reader's own,
    the oldest first."""
    return [run for chapter in chapters for run in _of_chapter(chapter)]


def run_list_lines(runs: Sequence[StoredRun]) -> list[str]:
    """What the command prints."""
    return text_table(_HEADS, list(map(_row, runs))) or ["no run is stored; gapbook run CHAPTER measures one"]


def run_list_json(runs: Sequence[StoredRun]) -> str:
    """The same, for a program."""
    return json.dumps(list(map(asdict, runs)), ensure_ascii=False, indent=1)


def _of_chapter(chapter: str) -> Iterator[StoredRun]:
    published = [_read(chapter, folder, "superseded") for folder in published_folders(chapter)]
    published.sort(key=_began)
    if readable := [run.run_id for run in published if run.state != "not readable"]:
        shown = shown_folder([published_folder(chapter) / run_id for run_id in readable]).name
        newer = readable[readable.index(shown) + 1 :]
        states: dict[str, State] = {shown: "published", **dict.fromkeys(newer, "beside")}
        published = [replace(run, state=states.get(run.run_id, run.state)) for run in published]
    yield from published
    yield from sorted((_read(chapter, folder, "given") for folder in given_folders(chapter)), key=_began)
    yield from sorted((_read(chapter, folder, "yours") for folder in finished_folders(chapter)), key=_began)
    for key, trials in trials_under_way(chapter).items():
        yield StoredRun(chapter, f"{UNDER_WAY}{key}", "under way", trials=trials)


def _read(chapter: str, folder: Path, state: State) -> StoredRun:
    try:
        return _told(chapter, load_run(folder), state)
    except RecordError as error:
        return StoredRun(chapter, one_line(folder.name), "not readable", why=one_line(error))


def _told(chapter: str, run: Run, state: State) -> StoredRun:
    machine = run.manifest.machine
    return StoredRun(
        chapter,
        run.run_id,
        state,
        run.manifest.started_unix_s,
        f"{one_line(machine.processor)}, {cores_words(machine)}",
        int(run.trials["valid"].sum()),
        run.trials.height,
        tuple(map(one_line, named_versions(run.manifest.systems))),
    )


def _began(run: StoredRun) -> float:
    return run.began_unix_s or 0.0


def _row(run: StoredRun) -> list[str]:
    began = "–" if run.began_unix_s is None else hour(run.began_unix_s)
    counted = "–" if run.trials is None else f"{run.trials} kept"
    if run.valid_trials is not None:
        counted = f"{run.valid_trials} of {run.trials}"
    state = f"{run.state}: {run.why}" if run.why else run.state
    # What a system says of its version besides the version is for those who read the JSON.
    versions = ", ".join(version.partition(" (")[0] for version in run.versions)
    return [run.chapter, run.run_id, began, run.machine or "–", counted, state, versions or "–"]
