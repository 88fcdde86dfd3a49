"""A chapter's view of a run: its cells among those that a campaign measured for several chapters together.

A cell that two chapters ask for is measured once. Each chapter's run holds the very trials of its cells, under the
names that the chapter has for its contestants and with the numbers of the run that all were measured in, so that one
cell has one value in all of them.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from gapbook.errors import RecordError
from gapbook.record.run import MANIFEST, STAGED, Run, live_folder, load_run, read_bytes
from gapbook.record.scenario import RecordedScenario
from gapbook.record.written import placed_run, write_run

__all__ = ["View", "write_view"]

_IDENTITY = ("run_id", "format", "files")


@dataclass(frozen=True)
class View:
    """What a chapter has of a run.

    ``names`` are its contestants by their name in the run, ``at`` the values of the treatment at which each is asked
    for. ``systems`` and ``modules`` name the servers and modules that they need, ``absent`` who could not be measured.
    """

    scenario: RecordedScenario
    names: Mapping[str, str]
    at: Mapping[str, Collection[float]]
    systems: Collection[str]
    modules: Collection[str]
    parameters: Mapping[str, Any]
    absent: Mapping[str, str]


def write_view(run: Run, view: View, chapters: Sequence[str]) -> Run:
    """The run of one of ``chapters``, cut from the run of all and kept among the reader's own.

    Raises RecordError when it cannot be written, or would be none.
    """
    chapter = view.scenario.chapter
    staged = live_folder(chapter) / f"{STAGED}{run.run_id}"
    try:
        run_id = write_run(staged, _tables(run, view), _manifest(run, view, chapters))
    except OSError as error:
        raise RecordError(
            f"run: {error.filename or staged} cannot be written ({error.strerror}); what was measured is kept in "
            f"{run.folder}; make room, then give the same command again"
        ) from error
    return load_run(placed_run(staged, run_id))


def _tables(run: Run, view: View) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    asked = pl.DataFrame(
        [(name, float(value)) for name in view.names for value in view.at[name]],
        schema={"contestant": pl.String, "treatment": pl.Float64},
        orient="row",
    )
    trials = run.trials.join(asked, on=["contestant", "treatment"], how="semi", maintain_order="left")
    renamed = trials.with_columns(pl.col("contestant").replace_strict(view.names, return_dtype=pl.String))
    kept = trials.select("trial")
    histograms, metrics = (
        table.join(kept, on="trial", how="semi", maintain_order="left")
        for table in (run.histograms, run.metrics)
    )
    return renamed, histograms, metrics


def _manifest(run: Run, view: View, chapters: Sequence[str]) -> dict[str, Any]:
    measured: dict[str, Any] = json.loads(read_bytes(run.folder / MANIFEST))
    return {
        **{name: told for name, told in measured.items() if name not in _IDENTITY},
        "chapter": view.scenario.chapter,
        "scenario": view.scenario.as_dict(),
        "trials": [
            [number, block, view.names[name], value, *rest]
            for number, block, name, value, *rest in measured["trials"]
            if name in view.names and value in view.at[name]
        ],
        "systems": {name: told for name, told in measured["systems"].items() if name in view.systems},
        "modules": {name: told for name, told in measured.get("modules", {}).items() if name in view.modules},
        **{
            kind: [
                {**row, "contestant": view.names[row["contestant"]]}
                for row in measured.get(kind, [])
                if row["contestant"] in view.names
            ]
            for kind in ("kill_checks", "cut_checks")
        },
        "parameters": dict(view.parameters),
        "absent": dict(view.absent),
        "measured_with": {"run": run.run_id, "chapters": list(chapters)},
    }
