"""The log of SpacetimeDB: what was written is counted, also when a snapshot makes its files smaller."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

from gapbook.deploy.stack import stack_class


@pytest.fixture(name="log")
def _log() -> Any:
    package = stack_class("spacetimedb").__module__
    return importlib.import_module(f"{package}.commit_log").CommitLog()


def test_a_compressed_segment_counts_as_what_was_written(log: Any, tmp_path: Path) -> None:
    older, newer = tmp_path / "0.stdb.log", tmp_path / "1.stdb.log"
    older.write_bytes(bytes(1000))
    assert log.written_bytes([older]) == 1000
    newer.write_bytes(bytes(10))
    older.write_bytes(bytes(50))
    assert log.written_bytes([older, newer]) == 1010
    older.write_bytes(bytes(1200))
    assert log.written_bytes([older, newer]) == 1210


def test_a_segment_that_goes_away_was_written_all_the_same(log: Any, tmp_path: Path) -> None:
    segment = tmp_path / "0.stdb.log"
    segment.write_bytes(bytes(1000))
    assert log.written_bytes([segment]) == 1000
    segment.unlink()
    assert log.written_bytes([segment]) == 1000
    assert log.written_bytes([]) == 1000
