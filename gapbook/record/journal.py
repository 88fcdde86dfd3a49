"""The journal of a run under way: written trial by trial, so that whatever was measured can be resumed.

``FOLDER/incomplete-<plan key>/`` holds ``plan.json`` and a file for each trial. Each file carries the
sha256 of what it holds, together with the plan's key: what was edited, cut or brought from elsewhere is
told from what was measured here.

Each kind of machine has a run of its own of a plan, and so a journal of its own. The kind that begins has the folder
above, a further one ``incomplete-<plan key>-<kind>/`` beside it (:func:`journal_of`).
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from gapbook.errors import RecordError
from gapbook.model.plan import PlannedTrial
from gapbook.record.kind import kind_of
from gapbook.record.machine import Machine
from gapbook.record.run import (
    STAGED,
    Run,
    canonical,
    find_begun_at,
    find_finished,
    live_folder,
    load_run,
    read_bytes,
)
from gapbook.record.schema import Facts, one_line
from gapbook.record.tables import make_tables
from gapbook.record.whole import PARTIAL, write_whole
from gapbook.record.written import placed_run, write_run

__all__ = ["UNDER_WAY", "Journal", "begun_on", "journal_of", "trials_under_way"]

UNDER_WAY = "incomplete-"
"""What the name of a folder begins with that holds the journal of a run."""
_PLAN = "plan.json"
_TRIALS = "trial-*.json"
_BEFORE_KIND = "-"
_Result = TypeVar("_Result")


def trials_under_way(chapter: str) -> dict[str, int]:
    """How many trials each run of a chapter that is under way, or was interrupted, has kept, by the key of its plan and,
    where another kind of machine began before, its own kind."""
    return {
        folder.name.removeprefix(UNDER_WAY): len(list(folder.glob(_TRIALS)))
        for folder in sorted(live_folder(chapter).glob(f"{UNDER_WAY}*"))
        if folder.is_dir()
    }


def begun_on(chapter: str) -> list[Machine]:
    """The machines upon which the runs of a chapter that are under way were begun, where that can be read."""
    found = []
    for name in trials_under_way(chapter):
        key, _, kind = name.partition(_BEFORE_KIND)
        with contextlib.suppress(RecordError):
            found.append(Journal(live_folder(chapter), key, (), kind).facts().machine)
    return found


def journal_of(folder: Path, plan_key: str, plan: Sequence[PlannedTrial], kind: str) -> Journal:
    """The journal of a kind of machine, begun or not; raises RecordError where the first cannot be told of which kind it
    is."""
    first, own = (Journal(folder, plan_key, plan, suffix) for suffix in ("", kind))
    taken = first.begun and kind_of(first.facts().machine) != kind
    return own if own.begun or taken else first


class Journal:
    """A run under way. One process at a time may write it (``flock``, released by the kernel).

    ``plan`` are the trials of which it holds some; a later attempt of a trial has the number of the plan's
    trial, increased by the length of the plan for each attempt before. ``kind`` is that of the machine, where one of
    another kind began before it.
    """

    def __init__(self, folder: Path, plan_key: str, plan: Sequence[PlannedTrial], kind: str = "") -> None:
        self.folder = folder
        self.plan_key = plan_key
        self.plan = plan
        self.kind = kind
        self._name = f"{plan_key}{_BEFORE_KIND}{kind}" if kind else plan_key
        self.directory = folder / f"{UNDER_WAY}{self._name}"

    @contextmanager
    def locked(self, *, resume: bool) -> Iterator[None]:
        """Hold the journal; raises RecordError when another process does, or when there is none to resume."""
        if resume and not self.begun:
            others = sorted(path.name for path in self.folder.glob(f"{UNDER_WAY}*"))
            raise RecordError(
                f"source: no interrupted run with these parameters in {self.folder} on this kind of machine; "
                f"there are: {', '.join(others) or 'none'}; use source=live to start one"
            )
        if not resume and self.begun:
            raise RecordError(
                f"source: an interrupted run with these parameters is kept in {self.directory}; "
                "use source=resume to finish it, or remove that folder to start again"
            )
        self._write_guarded(lambda: self.directory.mkdir(parents=True, exist_ok=True))
        with self._lock():
            try:
                yield
            finally:
                if not self.begun:
                    self.remove()

    @contextmanager
    def _lock(self) -> Iterator[None]:
        try:
            lock = os.open(self.directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError as error:
            raise RecordError(
                f"source: {self.directory} is no folder of its own ({error.strerror}); remove it, or use "
                "source=live after you moved it away"
            ) from error
        try:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise RecordError(
                    f"source: another process is writing {self.directory}; wait for it"
                ) from None
            yield
        finally:
            os.close(lock)

    @property
    def begun(self) -> bool:
        """Whether it holds a trial."""
        return bool(self._trial_files())

    def finished(self) -> Run | None:
        """The finished run of this plan, where nothing is under way, or only what was to be removed after it.

        Raises RecordError when what is under way cannot be told.
        """
        chapter, trials = self.folder.name, self.trials()
        if trials:
            finished = find_begun_at(chapter, self.plan_key, self.facts().started_unix_s)
        else:
            finished = find_finished(chapter, self.plan_key)
        if finished is not None and self.directory.is_dir() and bool(trials) == self.begun:
            # What is no trial of the run, though it is named so, is not ours to remove.
            with self.locked(resume=self.begun):
                self.remove()
        return finished

    # --- what it holds ------------------------------------------------------------------------
    def trials(self) -> dict[int, dict[str, Any]]:
        """Trials measured so far, by number; what does not fit is left out."""
        return self._read_trials()[0]

    def left_out(self) -> list[str]:
        """What lies among the trials and is none of this run, a line each with the reason."""
        return self._read_trials()[1]

    def facts(self) -> Facts:
        """What was written down of a run to resume besides its trials; raises RecordError."""
        try:
            return self._read_facts()
        except ValueError as error:
            raise RecordError(
                f"source: {self.directory / _PLAN} {error}; the run cannot be resumed: remove that folder and "
                "use source=live"
            ) from error

    def _read_facts(self) -> Facts:
        return _facts_in(self._unseal(self.directory / _PLAN))

    # --- what was measured elsewhere ----------------------------------------------------------
    def files(self) -> dict[str, bytes]:
        """All that it holds, by name."""
        return {path.name: read_bytes(path) for path in (*self._trial_files(), self.directory / _PLAN)}

    def read_files(self, files: Mapping[str, bytes]) -> tuple[dict[int, dict[str, Any]], Facts]:
        """The trials, by number, and the facts in the files of another journal of this plan.

        Raises RecordError for a file that is not as it was written there, or that is none of this plan.
        """
        rows: dict[int, dict[str, Any]] = {}
        facts = None
        for name in sorted(files, key=lambda name: (name != _PLAN, name)):
            try:
                content = self._unsealed(files[name])
                if name == _PLAN:
                    facts = _facts_in(content)
                else:
                    self._require_planned(name, content, rows)
                    make_tables([content])
                    rows[content["trial"]] = content
            except ValueError as error:
                raise RecordError(f"{name[:40]!r} of another machine {one_line(error)}") from error
        if facts is None:
            raise RecordError(f"{_PLAN} of another machine is missing")
        return rows, facts

    def _trial_files(self) -> list[Path]:
        return sorted(self.directory.glob(_TRIALS))

    def _read_trials(self) -> tuple[dict[int, dict[str, Any]], list[str]]:
        found: dict[int, dict[str, Any]] = {}
        left_out = []
        for path in self._trial_files():
            try:
                row = self._unseal(path)
                self._require_planned(path.name, row, found)
                make_tables([row])
            except ValueError as error:
                left_out.append(f"{path.name} {one_line(error)}: left out, to be measured again")
            else:
                found[row["trial"]] = row
        return found, left_out

    def _require_planned(self, name: str, row: Mapping[str, Any], before: Mapping[int, Any]) -> None:
        """Raises ValueError unless the row is the trial of the plan that its file is named after."""
        number = row.get("trial")
        if type(number) is not int or number < 0 or name != _file_name(number):
            raise ValueError(f"holds trial {one_line(repr(number))}")
        attempt, place = divmod(number, len(self.plan))
        planned = self.plan[place]
        stated = [row.get(name) for name in ("block", "contestant", "treatment", "work_seed")]
        if stated != [planned.block, planned.contestant, planned.treatment, planned.work_seed]:
            raise ValueError(f"is not trial {number} of the plan")
        earlier = before.get(number - len(self.plan))
        if attempt and (earlier is None or earlier["valid"]):
            raise ValueError("is a second attempt at a trial that was not refused")

    # --- writing ------------------------------------------------------------------------------
    def write_plan(self, plan: Mapping[str, Any]) -> None:
        self._write(self.directory / _PLAN, self._seal(plan))

    def add(self, row: Mapping[str, Any]) -> None:
        """Keep a trial; raises RecordError for one that is no row of the record, or cannot be written."""
        try:
            make_tables([row])
        except ValueError as error:
            raise RecordError(f"run: {error}; trials before it are kept") from error
        self._write(self.directory / _file_name(row["trial"]), self._seal(row))

    def forget(self, numbers: Iterable[int]) -> None:
        """Remove the trials of these numbers."""
        for number in numbers:
            self._write_guarded((self.directory / _file_name(number)).unlink)

    def finish(self, manifest: Mapping[str, Any]) -> Run:
        """Turn the journal into a finished run, atomically, and return it as read back."""
        tables = make_tables(self._in_order())
        staged = self.folder / f"{STAGED}{self._name}"
        run_id = self._write_guarded(lambda: write_run(staged, tables, manifest))
        final = placed_run(staged, run_id)
        self.remove()
        return load_run(final)

    def _in_order(self) -> list[dict[str, Any]]:
        return [row for _, row in sorted(self.trials().items())]

    def remove(self) -> None:
        """Remove what the journal wrote, and its folder unless somebody else keeps a file there. The plan goes
        last: until then it tells of which run the trials are."""
        for path in (
            *self._trial_files(),
            *self.directory.glob(f"{_PLAN}"),
            *self.directory.glob(f"*{PARTIAL}"),
        ):
            with contextlib.suppress(OSError):
                path.unlink()
        with contextlib.suppress(OSError):
            self.directory.rmdir()

    def _seal(self, content: Mapping[str, Any]) -> bytes:
        return canonical({"sha256": self._hash(content), "content": content})

    def _unseal(self, path: Path) -> dict[str, Any]:
        """What a file of the journal holds; raises ValueError saying why it is not what was written."""
        return self._unsealed(read_bytes(path))

    def _unsealed(self, data: bytes) -> dict[str, Any]:
        try:
            sealed = json.loads(data)
            intact = sealed["sha256"] == self._hash(sealed["content"]) and isinstance(sealed["content"], dict)
        except (KeyError, TypeError, RecursionError, ValueError):
            raise ValueError("was cut or changed: it holds no hash of its content") from None
        if not intact:
            raise ValueError("was changed since it was written")
        return dict(sealed["content"])

    def _hash(self, content: Any) -> str:
        return hashlib.sha256(canonical({"plan_key": self.plan_key, "content": content})).hexdigest()

    def _write(self, path: Path, data: bytes) -> None:
        self._write_guarded(lambda: write_whole(path, data))

    def _write_guarded(self, action: Callable[[], _Result]) -> _Result:
        try:
            return action()
        except OSError as error:
            raise RecordError(
                f"run: {error.filename or self.directory} cannot be written ({error.strerror}); "
                "trials finished so far are kept; make room or remove what is in the way, then use "
                "source=resume, or name another folder: GAPBOOK_RUNS=FOLDER"
            ) from error


def _facts_in(plan: Mapping[str, Any]) -> Facts:
    """Raises ValueError where a plan has none that a run can have."""
    facts = plan.get("facts")
    if facts is None:
        raise ValueError("holds no facts of the run")
    try:
        return msgspec.convert(facts, Facts)
    except (msgspec.ValidationError, OverflowError) as error:
        raise ValueError(f"holds facts that no run has: {one_line(error)}") from error


def _file_name(number: int) -> str:
    return f"trial-{number:05d}.json"
