"""The record of a run: written trial by trial, hashed, never trusted unread.

A finished run is ``FOLDER/<run id>/`` with ``manifest.json``, ``trials.parquet`` and
``histograms.parquet``; the manifest holds the sha256 of the other two, and the run id is derived
from the sha256 of the manifest. A run under way is ``FOLDER/incomplete-<plan key>/`` with one JSON
file a trial, so that whatever was measured is kept and can be resumed.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from gapbook.errors import RecordError
from gapbook.paths import CHECKOUT

__all__ = [
    "FORMAT_VERSION",
    "Journal",
    "Run",
    "find_finished",
    "find_run",
    "latest_published",
    "live_folder",
    "load_run",
    "published_folder",
]

FORMAT_VERSION = 1
_ID_LENGTH = 12
_Result = TypeVar("_Result")
_HISTOGRAM_COLUMNS = ("service_time_histogram", "response_time_histogram")
# What every reader of a run asks for, though no trial of it may have come so far.
_MEASURED = {
    "goodput_per_s": pl.Float64,
    "acknowledged": pl.Int64,
    "completed_in_window": pl.Int64,
    "server_memory_bytes": pl.Int64,
}
_STAGED = "finishing-"
_MANIFEST, _TRIALS, _HISTOGRAMS = "manifest.json", "trials.parquet", "histograms.parquet"


def published_folder(chapter: str) -> Path:
    return CHECKOUT / "results" / chapter


def live_folder(chapter: str) -> Path:
    """Where a reader's own runs are kept: ``GAPBOOK_RUNS``, else ``runs/`` in the checkout."""
    return Path(os.environ.get("GAPBOOK_RUNS", CHECKOUT / "runs")) / chapter


@dataclass(frozen=True)
class Run:
    """A finished run whose every byte was checked against its id."""

    run_id: str
    folder: Path
    manifest: Mapping[str, Any]
    trials: pl.DataFrame
    histograms: pl.DataFrame

    @property
    def published(self) -> bool:
        return self.folder.parent.parent == CHECKOUT / "results"


class Journal:
    """A run under way. One process at a time may write it (``flock``, released by the kernel)."""

    def __init__(self, folder: Path, plan_key: str) -> None:
        self.folder = folder
        self.plan_key = plan_key
        self.directory = folder / f"incomplete-{plan_key}"

    @contextmanager
    def locked(self, *, resume: bool) -> Iterator[None]:
        """Hold the journal; raises RecordError when another process does, or when there is none to resume."""
        if resume and not self.trials():
            others = sorted(path.name for path in self.folder.glob("incomplete-*"))
            raise RecordError(
                f"source: no interrupted run with these parameters in {self.folder}; "
                f"there are: {', '.join(others) or 'none'}; use source=live to start one"
            )
        if not resume and self.trials():
            raise RecordError(
                f"source: an interrupted run with these parameters is kept in {self.directory}; "
                "use source=resume to finish it, or remove that folder to start again"
            )
        self._write_guarded(lambda: self.directory.mkdir(parents=True, exist_ok=True))
        lock = os.open(self.directory, os.O_RDONLY)
        try:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise RecordError(
                    f"source: another process is writing {self.directory}; wait for it"
                ) from None
            try:
                yield
            finally:
                if self.directory.is_dir() and not self.trials():
                    shutil.rmtree(self.directory)
        finally:
            os.close(lock)

    def trials(self) -> dict[int, dict[str, Any]]:
        """Trials measured so far, by number."""
        found = {}
        for path in sorted(self.directory.glob("trial-*.json")):
            row = json.loads(path.read_text())
            found[int(row["trial"])] = row
        return found

    def write_plan(self, plan: Mapping[str, Any]) -> None:
        self._write(self.directory / "plan.json", _canonical(plan))

    def plan(self) -> dict[str, Any]:
        """The plan of a run to resume, as it was first written."""
        stored: dict[str, Any] = json.loads((self.directory / "plan.json").read_text())
        return stored

    def add(self, row: Mapping[str, Any]) -> None:
        self._write(self.directory / f"trial-{row['trial']:05d}.json", json.dumps(row).encode())

    def finish(self, manifest: Mapping[str, Any]) -> Run:
        """Turn the journal into a finished run, atomically, and return it as read back."""
        rows = [row for _, row in sorted(self.trials().items())]
        trials, histograms = _frames(rows)
        staged = self.folder / f"{_STAGED}{self.plan_key}"

        def stage() -> str:
            shutil.rmtree(staged, ignore_errors=True)
            staged.mkdir(parents=True)
            trials.write_parquet(staged / _TRIALS)
            histograms.write_parquet(staged / _HISTOGRAMS)
            content = {
                **manifest,
                "format": FORMAT_VERSION,
                "files": {name: _sha256(staged / name) for name in (_TRIALS, _HISTOGRAMS)},
            }
            run_id = _run_id(content)
            (staged / _MANIFEST).write_bytes(_canonical({**content, "run_id": run_id}))
            return run_id

        run_id = self._write_guarded(stage)
        final = self.folder / run_id
        shutil.rmtree(final, ignore_errors=True)
        staged.rename(final)
        shutil.rmtree(self.directory)
        return load_run(final)

    def _write(self, path: Path, data: bytes) -> None:
        """Write a file whole or not at all, and onto the disk."""

        def write() -> None:
            partial = path.with_suffix(".partial")
            with partial.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            partial.replace(path)

        self._write_guarded(write)

    def _write_guarded(self, action: Callable[[], _Result]) -> _Result:
        try:
            return action()
        except OSError as error:
            raise RecordError(
                f"run: {error.filename or self.directory} cannot be written ({error.strerror}); "
                "trials finished so far are kept; make room, then use source=resume"
            ) from error


def load_run(folder: Path) -> Run:
    """Read a finished run and check every file against the manifest, and the manifest against the id.

    Raises RecordError naming the file that is missing or was changed.
    """
    try:
        written = (folder / _MANIFEST).read_bytes()
        manifest = json.loads(written)
    except OSError as error:
        raise RecordError(f"run {folder.name}: manifest.json cannot be read ({error.strerror})") from error
    except ValueError as error:
        raise RecordError(f"run {folder.name}: manifest.json was changed (not JSON: {error})") from error
    if not isinstance(manifest, dict):
        raise RecordError(f"run {folder.name}: manifest.json was changed (it holds no object)")
    run_id = manifest.pop("run_id", None)
    if run_id != _run_id(manifest) or written != _canonical({**manifest, "run_id": run_id}):
        raise RecordError(f"run {folder.name}: manifest.json was changed; its hash gives {_run_id(manifest)}")
    if run_id != folder.name:
        raise RecordError(f"run {folder.name}: the folder was renamed; manifest.json is that of run {run_id}")
    if manifest["format"] != FORMAT_VERSION:
        raise RecordError(f"run {run_id}: format {manifest['format']}; this version reads {FORMAT_VERSION}")
    for name, expected in manifest["files"].items():
        try:
            actual = _sha256(folder / name)
        except OSError:
            raise RecordError(f"run {run_id}: {name} is missing") from None
        if actual != expected:
            raise RecordError(
                f"run {run_id}: {name} was changed; sha256 {actual[:12]}, recorded {expected[:12]}"
            )
    return Run(
        run_id,
        folder,
        manifest,
        pl.read_parquet(folder / _TRIALS),
        pl.read_parquet(folder / _HISTOGRAMS),
    )


def find_run(chapter: str, run_id: str) -> Run:
    """A stored run by its id (published runs first); raises RecordError listing what there is."""
    for folder in (published_folder(chapter) / run_id, live_folder(chapter) / run_id):
        if run_id and folder.is_dir():
            return load_run(folder)
    there_are = [
        path.name
        for parent in (published_folder(chapter), live_folder(chapter))
        for path in _finished(parent)
    ]
    raise RecordError(
        f"source: no run {run_id!r} of {chapter}; allowed: live, resume, published"
        + "".join(f", {name}" for name in there_are)
    )


def find_finished(chapter: str, plan_key: str) -> Run | None:
    """The newest finished live run of exactly this plan; None when there is none."""
    runs = [load_run(path) for path in _finished(live_folder(chapter))]
    same = [run for run in runs if run.manifest.get("plan_key") == plan_key]
    return max(same, key=lambda run: float(run.manifest["started_unix_s"]), default=None)


def latest_published(chapter: str) -> Run:
    """The newest published run of a chapter; raises RecordError when there is none."""
    runs = [load_run(path) for path in _finished(published_folder(chapter))]
    if not runs:
        raise RecordError(f"source: {chapter} has no published run yet; use source=live")
    return max(runs, key=lambda run: float(run.manifest["started_unix_s"]))


def _finished(parent: Path) -> Sequence[Path]:
    return sorted(
        path.parent for path in parent.glob(f"*/{_MANIFEST}") if not path.parent.name.startswith(_STAGED)
    )


def _frames(rows: Sequence[Mapping[str, Any]]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Trials without, and histograms of each trial; nested values are kept as JSON text."""
    flat = [
        {
            key: json.dumps(value, sort_keys=True) if isinstance(value, dict | list) else value
            for key, value in row.items()
            if key not in _HISTOGRAM_COLUMNS
        }
        for row in rows
    ]
    histograms = [
        {"trial": row["trial"], **{column: row.get(column) for column in _HISTOGRAM_COLUMNS}} for row in rows
    ]
    schema = {"trial": pl.Int64, **dict.fromkeys(_HISTOGRAM_COLUMNS, pl.String)}
    trials = pl.DataFrame(flat, infer_schema_length=None)
    absent = [
        pl.lit(None, kind).alias(name) for name, kind in _MEASURED.items() if name not in trials.columns
    ]
    return trials.with_columns(absent), pl.DataFrame(histograms, schema=schema)


def _canonical(content: Mapping[str, Any]) -> bytes:
    return json.dumps(content, sort_keys=True, indent=1, ensure_ascii=False).encode() + b"\n"


def _run_id(manifest: Mapping[str, Any]) -> str:
    return hashlib.sha256(_canonical(manifest)).hexdigest()[:_ID_LENGTH]


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
