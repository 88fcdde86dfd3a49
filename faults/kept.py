"""What a journal kept of trials, kills and cuts when a fault struck, and whether the finished run has it all."""

from __future__ import annotations

import contextlib
import json
import os
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from gapbook.errors import GapbookError
from gapbook.record.run import MANIFEST, load_run
from gapbook.record.schema import FILES
from gapbook.record.tables import make_tables

__all__ = [
    "RUN_ID",
    "beside_runs",
    "changed",
    "compared",
    "kept_trials",
    "kept_work",
    "lost",
    "reported_trials",
]

RUN_ID = "[0-9a-f]" * 12
"""The pattern of the folder of a finished run."""
_OF_TRIAL = ".json"
_CHECKS = ("kill_checks", "cut_checks")


def kept_work(runs: Path) -> dict[str, bytes]:
    """What journals below a folder keep: trials, and rounds of kills and cuts, by name."""
    found = kept_trials(runs)
    for path in _in_journals(runs, "plan.json"):
        with contextlib.suppress(FileNotFoundError):  # the run ended at this moment
            found |= _rounds(json.loads(path.read_bytes())["content"]["facts"])
    return found


def _rounds(facts: Mapping[str, Any]) -> dict[str, bytes]:
    """Each round of kills and cuts that a run tells of."""
    return {
        f"{kind} {row['contestant']} {row['round']}": json.dumps(row, sort_keys=True).encode()
        for kind in _CHECKS
        for row in facts.get(kind, ())
    }


def kept_trials(runs: Path) -> dict[str, bytes]:
    """The files of finished trials in the journals below a folder, whole, by name."""
    found = {}
    for path in _in_journals(runs, "trial-*.json"):
        try:
            found[path.name] = path.read_bytes()
        except FileNotFoundError:
            continue  # the run ended at this moment
    return found


def _in_journals(runs: Path, name: str) -> Iterator[Path]:
    """The files of that name in the journals below a folder; none of a journal that is removed at this moment."""
    for journal in sorted(runs.glob("*/incomplete-*")):
        with contextlib.suppress(FileNotFoundError):
            yield from sorted(journal.glob(name))


def beside_runs(runs: Path) -> list[str]:
    """A line for each thing in the folders of chapters that is no finished run, once all are finished."""
    return [f"folder {path}" for path in sorted(runs.glob("*/*")) if not path.match(RUN_ID)]


def reported_trials(output: str) -> int:
    """How many trials a run has told its reader of."""
    return sum(line.startswith("trial ") for line in output.splitlines())


def changed(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> list[str]:
    """A line for each thing that was kept and is not any more, or not as it was."""
    return [
        f"{name}: {'changed' if name in after else 'gone'}"
        for name in before
        if after.get(name) != before[name]
    ]


def lost(before: Mapping[str, bytes], runs: Path) -> list[str]:
    """A line for each thing that is not in the one finished run as it was kept, byte for byte.

    In a child: tables are read by threads, and no process of ours that has any may fork.
    """
    return _in_child(lambda: compared(before, runs))


def compared(before: Mapping[str, bytes], runs: Path) -> list[str]:
    """What :func:`lost` says, found in this process."""
    folders = [path.parent for path in runs.glob(f"*/{RUN_ID}/{MANIFEST}")]
    if len(folders) != 1:
        return [f"{len(folders)} finished runs"]
    (folder,) = folders
    try:
        run = load_run(folder)
    except GapbookError as error:
        return [str(error)]
    manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    planned = len(manifest["trials"])
    there = set(run.trials["trial"].to_list())
    problems = [f"trial {number}: not in the run" for number in range(planned) if number not in there]
    trials = {name: data for name, data in before.items() if name.endswith(_OF_TRIAL)}
    rounds = {name: data for name, data in before.items() if name not in trials}
    problems += changed(rounds, _rounds(manifest))
    rows = [json.loads(data)["content"] for data in trials.values()]
    stored = _by_trial([pl.read_parquet(folder / name) for name in FILES])
    for number, expected in (_by_trial(make_tables(rows)) if rows else {}).items():
        for table, text in expected.items():
            if stored.get(number, {}).get(table) != text:
                problems.append(f"trial {number}: its {table} are not those that were kept")
    return problems


def _by_trial(tables: Sequence[pl.DataFrame]) -> dict[int, dict[str, str]]:
    """The rows of each table in full digits, by trial."""
    found: dict[int, dict[str, str]] = {}
    for name, table in zip(FILES, tables, strict=True):
        for row in table.iter_rows(named=True):
            of_trial = found.setdefault(row["trial"], {})
            of_trial[name] = of_trial.get(name, "") + repr(sorted(row.items())) + "\n"
    return found


def _in_child(find: Callable[[], list[str]]) -> list[str]:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            text = json.dumps(find())
        except BaseException:
            text = json.dumps(["cannot be read: " + traceback.format_exc()[-600:]])
        with os.fdopen(writing, "w", encoding="utf-8") as pipe:
            pipe.write(text)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    found: list[str] = json.loads(text)
    return found
