"""The folder of a finished run: written beside its place, read back, and only then put there."""

from __future__ import annotations

import hashlib
import io
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from gapbook.record.run import MANIFEST, canonical, read_run, run_id_of
from gapbook.record.schema import FILES, FORMAT_VERSION
from gapbook.record.whole import write_whole

__all__ = ["Tables", "placed_run", "write_run"]

Tables = tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]
"""Trials, their histograms and their metrics, in the order of :data:`gapbook.record.schema.FILES`."""


def write_run(staged: Path, tables: Tables, manifest: Mapping[str, Any]) -> str:
    """Write a run into the folder ``staged``, in place of what lies there; returns its id. ``manifest`` is without
    id, format and hashes. Raises OSError."""
    shutil.rmtree(staged, ignore_errors=True)
    staged.mkdir(parents=True)
    hashes = {}
    for name, table in zip(FILES, tables, strict=True):
        written = io.BytesIO()
        table.write_parquet(written)
        hashes[name] = hashlib.sha256(written.getvalue()).hexdigest()
        write_whole(staged / name, written.getvalue())
    content = {**manifest, "format": FORMAT_VERSION, "files": hashes}
    run_id = run_id_of(content)
    write_whole(staged / MANIFEST, canonical({**content, "run_id": run_id}))
    return run_id


def placed_run(staged: Path, run_id: str) -> Path:
    """Read a written run back, then move it to the folder of its id, which is returned; raises RecordError for one
    that cannot be read."""
    read_run(staged, run_id)
    final = staged.parent / run_id
    shutil.rmtree(final, ignore_errors=True)
    staged.rename(final)
    return final
