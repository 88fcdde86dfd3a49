"""A run that somebody gives to the book: what must hold of it, and the folder that a pull request needs.

What cannot be told from a run's files alone, as whether its servers were what they said, is not asked here; a
reviewer runs the command that its page prints.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gapbook.book.chapters import chapters
from gapbook.errors import ParameterError, RecordError, SetupError, cut
from gapbook.method.named import named_run, published_counterpart
from gapbook.method.plausibility import plausibility
from gapbook.method.spread import compared_as_usual
from gapbook.method.summary import summary_of
from gapbook.paths import CHECKOUT, GIVEN_RUNS
from gapbook.record.run import Run
from gapbook.record.schema import UNKNOWN_REVISION, one_line
from gapbook.trial.facts import knows_revision
from gapbook.writing import can_be_written

__all__ = ["Checked", "checked_run", "submitted"]

_ENTRIES = CHECKOUT / "results" / "machines.toml"
_MOST_CHARACTERS = 200


@dataclass(frozen=True)
class Checked:
    """One thing that was looked at. ``holds`` None: it is told, and decides nothing."""

    what: str
    holds: bool | None
    says: str

    def __str__(self) -> str:
        word = {True: "holds", False: "FAILS", None: "told"}[self.holds]
        return f"{word:5}  {self.what}: {self.says}"


def checked_run(name: str) -> tuple[Run, list[Checked]]:
    """A run by whatever name :func:`gapbook.method.named.named_run` takes, and what was looked at in it.

    Raises what that raises: also for a run whose files are not those that its id is made of.
    """
    run = named_run(name)
    return run, [
        Checked("schema and hashes", True, f"run {run.run_id} of {one_line(run.manifest.chapter)} is whole"),
        _chapter(run),
        _revision(run),
        *_trials(run),
        _plausible(run),
    ]


def _chapter(run: Run) -> Checked:
    name = run.manifest.chapter
    return Checked("chapter", name in chapters(), cut(one_line(name)))


def _revision(run: Run) -> Checked:
    code = run.manifest.code
    if code.revision == UNKNOWN_REVISION:
        return Checked("revision", False, "not recorded: measure from a clone of the repository")
    if code.changed:
        return Checked("revision", False, f"{code.revision[:12]}, with changes that nobody else has")
    if not knows_revision(code.revision):
        return Checked("revision", False, f"{code.revision[:12]} is none of this repository's")
    return Checked("revision", True, f"{code.revision[:12]}, unchanged")


def _trials(run: Run) -> Iterator[Checked]:
    counted = run.trials.filter(run.trials["valid"])
    yield Checked(
        "trials",
        counted.height > 0,
        f"{counted.height} of {run.trials.height} count, the others are refused and stay in the run",
    )
    passed_over = [
        f"trial {trial + 1}, {gate['name']}"
        for trial, gates in zip(counted["trial"], counted["gates"], strict=True)
        for gate in json.loads(gates)
        if gate["passed"] is False
    ]
    says = (
        f"a gate refused what counts: {', '.join(passed_over[:3])}"
        if passed_over
        else "of what counts, all passed"
    )
    yield Checked("gates", not passed_over, says)


def _plausible(run: Run) -> Checked:
    """How many of its numbers lie where other machines and other hours put them."""
    what = "beside the published run"
    try:
        yours = summary_of(run)
        found = compared_as_usual(yours, published_counterpart(yours))
    except RecordError as error:
        return Checked(what, None, str(error))
    says = (
        "the same run"
        if found.same_run
        else f"{plausibility(run, found)}; a run is not refused for the others"
    )
    return Checked(what, None, says)


def submitted(run: Run, *, machine: str, by: str) -> Path:
    """The run put under ``results/given``, and its entry with who gives it; returns the folder.

    Raises ParameterError for words that are no line, and for a run that is there already; SetupError where
    this clone cannot be written.
    """
    for option, words in (("--machine", machine), ("--by", by)):
        if len(words) > _MOST_CHARACTERS or not words.isprintable():
            raise ParameterError(
                f"submit: {option} {cut(repr(words))}: allowed: one line of {_MOST_CHARACTERS} characters"
            )
    if not machine.strip():
        raise ParameterError(
            'submit: --machine is missing: say what it ran on, as --machine "Hetzner AX41, Debian 13"'
        )
    if run.manifest.chapter not in chapters():
        raise ParameterError(f"submit: run {run.run_id} is of no chapter of this book")
    target = GIVEN_RUNS / run.manifest.chapter / run.run_id
    if run.published or target.exists():
        raise ParameterError(f"submit: run {run.run_id} is in the book already")
    _require_clone_to_write(target.parent)
    target.parent.mkdir(parents=True, exist_ok=True)
    staged = target.with_name(f".{target.name}")
    shutil.rmtree(staged, ignore_errors=True)
    shutil.copytree(run.folder, staged)
    entry = {"run": run.run_id, "machine": machine, **({"by": by} if by else {})}
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in entry.items()]
    # The run first: what is refused here must leave no entry of a run that is not there.
    staged.rename(target)
    with _ENTRIES.open("a", encoding="utf-8") as entries:
        entries.write("\n".join(["", "[[given]]", *lines, ""]))
    return target


def _require_clone_to_write(folder: Path) -> None:
    """Raises SetupError where the run or its entry cannot be written, before either is."""
    for path, writable in ((folder, can_be_written(folder)), (_ENTRIES, os.access(_ENTRIES, os.W_OK))):
        if not writable:
            raise SetupError(f"submit: {path} cannot be written; give it from a clone that you can write")
