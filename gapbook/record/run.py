"""The record of finished runs: hashed, checked against a schema, never trusted unread.

A finished run is ``FOLDER/<run id>/`` with ``manifest.json``, ``trials.parquet``,
``histograms.parquet`` and ``metrics.parquet``; the manifest holds the sha256 of the others, and the run id is derived
from the sha256 of the manifest. A run under way is kept by :mod:`gapbook.record.journal`.
"""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import re
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from gapbook.errors import RecordError, nearest
from gapbook.paths import CHECKOUT, GIVEN_RUNS, runs_directory
from gapbook.record.bounds import MOST_BYTES, check_texts, parsed
from gapbook.record.goodput import recount
from gapbook.record.measured import checked_metrics, make_metrics
from gapbook.record.older import LAST_OLDER_FORMAT, upgraded_trials
from gapbook.record.parquet_size import check_pages
from gapbook.record.scenario import RecordedScenario
from gapbook.record.schema import (
    FORMAT_VERSION,
    HISTOGRAMS,
    METRICS,
    TRIALS,
    Manifest,
    checked_manifest,
    one_line,
)
from gapbook.record.standing import Standing, shown
from gapbook.record.tables import checked_histograms, checked_trials

__all__ = [
    "MANIFEST",
    "STAGED",
    "Run",
    "canonical",
    "find_begun_at",
    "find_finished",
    "find_run",
    "finished_folders",
    "given_folders",
    "latest_published",
    "live_folder",
    "load_run",
    "published_folder",
    "published_folders",
    "read_bytes",
    "read_run",
    "run_folder",
    "run_id_of",
    "shown_folder",
    "stored_run",
]

MANIFEST = "manifest.json"
STAGED = "finishing-"
"""What the name of a folder begins with in which a run is put together."""
_ID_LENGTH = 12
_RUN_ID = re.compile(f"[0-9a-f]{{{_ID_LENGTH}}}")
_LAST_FORMAT_OF_EARLIER_RULE = 1
_KEPT_RUNS = 64
"""So many are kept in memory: a page reads its own run many times, and the register all that are published."""
_WHAT_TO_DO = "; take a fresh copy of the run, or name another with source="


def published_folder(chapter: str) -> Path:
    return CHECKOUT / "results" / chapter


def live_folder(chapter: str) -> Path:
    """Where a reader's own runs of one chapter are kept."""
    return runs_directory() / chapter


@dataclass(frozen=True)
class Run:
    """A finished run whose every byte was checked against its id."""

    run_id: str
    folder: Path
    manifest: Manifest
    trials: pl.DataFrame
    histograms: pl.DataFrame
    metrics: pl.DataFrame

    @property
    def scenario(self) -> RecordedScenario:
        """What was compared, as it was resolved when the run was made."""
        return self.manifest.scenario

    @property
    def published(self) -> bool:
        return self.folder.parent.parent == CHECKOUT / "results"


def load_run(folder: Path) -> Run:
    """Read a finished run: every file against the manifest, the manifest against the id, all against the
    schema of the record. One whose files are as they were when this process read it is not read again.

    Raises RecordError in one line that names the run, the file and what is wrong with it.
    """
    return _read_once(folder, _stamps(folder))


@lru_cache(maxsize=_KEPT_RUNS)
def _read_once(folder: Path, stamps: frozenset[tuple[str, int, int, int, int]]) -> Run:
    del stamps
    return read_run(folder, folder.name)


def _stamps(folder: Path) -> frozenset[tuple[str, int, int, int, int]]:
    """What tells whether a file of a folder was written since, as the file system says it."""
    try:
        files = [(path.name, path.lstat()) for path in folder.iterdir()]
    except OSError:
        return frozenset()
    return frozenset((name, one.st_ino, one.st_size, one.st_mtime_ns, one.st_ctime_ns) for name, one in files)


def read_run(folder: Path, run_id: str) -> Run:
    """The run of that id, wherever its folder lies; raises RecordError."""
    try:
        manifest = checked_manifest(_read_manifest(folder, run_id))
        hashes = manifest.files.by_name()
        tables = {name: _read_table(folder / name, sha256) for name, sha256 in hashes.items() if sha256}
        older = manifest.format <= LAST_OLDER_FORMAT
        trials = checked_trials(upgraded_trials(tables[TRIALS]) if older else tables[TRIALS], manifest)
        histograms = checked_histograms(tables[HISTOGRAMS], trials)
        recounted = _recounted(trials, manifest)
        metrics = _metrics(tables.get(METRICS), recounted)
    except ValueError as error:
        raise RecordError(f"run {run_id}: {error}{_WHAT_TO_DO}") from error
    return Run(run_id, folder, manifest, recounted, histograms, metrics)


def _read_manifest(folder: Path, run_id: str) -> dict[str, Any]:
    """The manifest as it was written; raises ValueError for one that is not that of ``run_id``."""
    written = _read_named(folder / MANIFEST)
    try:
        manifest = parsed(written)
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{MANIFEST} was changed (not JSON: {one_line(error)})") from error
    except ValueError as error:
        raise ValueError(f"{MANIFEST}: {one_line(error)}") from error
    if not isinstance(manifest, dict):
        raise ValueError(f"{MANIFEST} was changed (it holds no object)")
    stated = manifest.pop("run_id", None)
    found = run_id_of(manifest)
    if stated != found or written != canonical({**manifest, "run_id": stated}):
        raise ValueError(f"{MANIFEST} was changed; its hash gives {found}")
    if stated != run_id:
        raise ValueError(f"the folder was renamed; {MANIFEST} is that of run {stated}")
    written_as = manifest.get("format")
    if type(written_as) is not int or not 1 <= written_as <= FORMAT_VERSION:
        raise ValueError(f"format is {one_line(repr(written_as))}; this version reads 1 to {FORMAT_VERSION}")
    return manifest


def _read_table(path: Path, sha256: str) -> pl.DataFrame:
    """A table whose bytes have the hash; raises ValueError."""
    data = _read_named(path)
    actual = hashlib.sha256(data).hexdigest()
    if actual != sha256:
        raise ValueError(f"{path.name} was changed; sha256 {actual[:12]}, recorded {sha256[:12]}")
    try:
        check_pages(data)
    except ValueError as error:
        raise ValueError(f"{path.name} {error}") from error
    try:
        table = pl.read_parquet(io.BytesIO(data))
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise ValueError(f"{path.name} cannot be read as a table ({one_line(error)})") from error
    check_texts(path.name, table)
    return table


def read_bytes(path: Path) -> bytes:
    """The bytes of a regular file that lies where it is named and is not too large; raises ValueError saying what else
    it is."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        raise ValueError("is missing") from None
    except OSError as error:
        reason = "it is a link" if error.errno == errno.ELOOP else error.strerror
        raise ValueError(f"cannot be read ({reason})") from error
    try:
        about = os.fstat(file)
        if not stat.S_ISREG(about.st_mode):
            raise ValueError("is no regular file")
        if about.st_size > MOST_BYTES:
            raise ValueError(f"has {about.st_size:,} bytes; allowed: up to {MOST_BYTES:,}")
        with os.fdopen(file, "rb", closefd=False) as reader:
            return reader.read(MOST_BYTES)
    finally:
        os.close(file)


def _read_named(path: Path) -> bytes:
    try:
        return read_bytes(path)
    except ValueError as error:
        raise ValueError(f"{path.name} {error}") from error


def _metrics(stored: pl.DataFrame | None, trials: pl.DataFrame) -> pl.DataFrame:
    """The long table of metrics as it is stored, or as it follows from the trials; raises ValueError."""
    if stored is None:
        return make_metrics(trials, [])
    try:
        return checked_metrics(stored, trials)
    except ValueError as error:
        raise ValueError(f"{METRICS}: {error}") from error


def _recounted(trials: pl.DataFrame, manifest: Manifest) -> pl.DataFrame:
    """Trials with goodput by today's rule: format 1 counted by another, and had one window for all."""
    if manifest.format > _LAST_FORMAT_OF_EARLIER_RULE:
        return trials
    window_s = manifest.scenario.window_s
    return recount(trials.with_columns(pl.col("window_s").fill_null(window_s)), window_s)


def find_run(chapter: str, run_id: str) -> Run:
    """A stored run by its id (published runs first); raises RecordError listing what there is."""
    return load_run(run_folder(chapter, run_id))


def run_folder(chapter: str, run_id: str) -> Path:
    """Where a stored run is, unread; raises RecordError as :func:`find_run` does."""
    for folder in (published_folder(chapter) / run_id, live_folder(chapter) / run_id):
        if _RUN_ID.fullmatch(run_id) and folder.is_dir():
            return folder
    there_are = [
        path.name
        for parent in (published_folder(chapter), live_folder(chapter))
        for path in _finished(parent)
    ]
    raise RecordError(
        f"source: no run {one_line(repr(run_id))} of {chapter}; allowed: live, resume, session, published"
        + "".join(f", {name}" for name in there_are)
        + nearest(run_id, ["live", "resume", "session", "published", *there_are])
    )


def stored_run(chapter: str, source: str) -> Run:
    """The run that ``source`` names: the newest published one of a chapter, or one by its id; raises RecordError."""
    return latest_published(chapter) if source == "published" else find_run(chapter, source)


def find_finished(chapter: str, plan_key: str) -> Run | None:
    """The newest finished live run of exactly this plan; None when there is none."""
    runs = [load_run(path) for path in finished_folders(chapter)]
    same = [run for run in runs if run.manifest.plan_key == plan_key]
    return max(same, key=lambda run: run.manifest.started_unix_s, default=None)


def find_begun_at(chapter: str, plan_key: str, started_unix_s: float) -> Run | None:
    """The finished live run of this plan that began at that moment; None when there is none that can be read."""
    for folder in finished_folders(chapter):
        try:
            manifest = parsed(read_bytes(folder / MANIFEST))
            if (manifest["plan_key"], manifest["started_unix_s"]) == (plan_key, started_unix_s):
                return load_run(folder)
        except (KeyError, TypeError, RecursionError, ValueError, RecordError):
            continue
    return None


def finished_folders(chapter: str) -> Sequence[Path]:
    """The folders of the finished live runs of a chapter."""
    return _finished(live_folder(chapter))


def published_folders(chapter: str) -> Sequence[Path]:
    """The folders of the published runs of a chapter."""
    return _finished(published_folder(chapter))


def given_folders(chapter: str) -> Sequence[Path]:
    """The folders of the runs of a chapter that others gave."""
    return _finished(GIVEN_RUNS / chapter)


def latest_published(chapter: str) -> Run:
    """The published run that a chapter's page shows: the newest that took it over
    (:func:`gapbook.record.standing.shown`); raises RecordError when there is none."""
    folders = published_folders(chapter)
    if not folders:
        raise RecordError(f"source: {chapter} has no published run yet; use source=live")
    return load_run(shown_folder(folders))


def shown_folder(folders: Sequence[Path]) -> Path:
    """That of the run which a page shows, of at least one, by their manifests alone; raises RecordError."""
    if len(folders) == 1:
        return folders[0]
    standing = [_standing(folder) for folder in folders]
    page = shown(standing)
    return next(folder for folder, one in zip(folders, standing, strict=True) if one is page)


def _standing(folder: Path) -> Standing:
    """As much of a run as its manifest says by itself; raises RecordError."""
    try:
        return msgspec.json.decode(read_bytes(folder / MANIFEST), type=Standing)
    except (ValueError, RecursionError) as error:
        raise RecordError(f"run {folder.name}: {MANIFEST}: {one_line(error)}{_WHAT_TO_DO}") from error


def _finished(parent: Path) -> Sequence[Path]:
    return sorted(
        path.parent for path in parent.glob(f"*/{MANIFEST}") if not path.parent.name.startswith(STAGED)
    )


def canonical(content: Mapping[str, Any]) -> bytes:
    """The one way in which an object is written; raises ValueError for text that is no UTF-8."""
    # Indented by another library: that of Python's own does it character by character.
    dense = json.dumps(content, sort_keys=True, ensure_ascii=False).encode()
    return msgspec.json.format(dense, indent=1) + b"\n"


def run_id_of(manifest: Mapping[str, Any]) -> str:
    """The id that follows from a manifest without its id; raises ValueError."""
    return hashlib.sha256(canonical(manifest)).hexdigest()[:_ID_LENGTH]
