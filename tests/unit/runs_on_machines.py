"""Copies of a stored run as if each had been made on a machine of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import msgspec
import polars as pl

from gapbook.method.findings import Findings
from gapbook.method.same import Cell, Setup, cells_of
from gapbook.record.run import Run
from tests.unit.stored_runs import SPACETIMEDB

__all__ = ["copies", "findings_of"]


def copies(run: Run, factors: Sequence[float], *, machines: int) -> list[Run]:
    """The run once for each factor, by which SpacetimeDB is faster there; one after the other, under ids of their own, on so
    many machines in turn."""
    return [
        replace(
            run,
            run_id=f"{place:012x}",
            manifest=msgspec.structs.replace(
                run.manifest,
                started_unix_s=run.manifest.started_unix_s + place,
                machine=msgspec.structs.replace(run.manifest.machine, kernel=f"Linux {place % machines}"),
            ),
            trials=run.trials.with_columns(
                pl.when(pl.col("contestant") == SPACETIMEDB.name)
                .then(pl.col("goodput_per_s") * factor)
                .otherwise(pl.col("goodput_per_s"))
            ),
        )
        for place, factor in enumerate(factors)
    ]


def findings_of(runs: Sequence[Run]) -> list[tuple[Findings, dict[Setup, Cell]]]:
    """The runs as :func:`gapbook.method.over_runs.published_findings` has the published ones."""
    return [(Findings(run, run.manifest.chapter), dict(cells_of(run))) for run in runs]
