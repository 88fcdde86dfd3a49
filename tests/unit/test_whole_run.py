"""What `make doctor` says of the last run of every test."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from gapbook.book import whole_run
from gapbook.book.whole_run import WholeRun, last_whole_run


@pytest.mark.parametrize("passed", [True, False])
def test_the_last_whole_run_is_told_with_its_date_its_commit_and_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, passed: bool
) -> None:
    path = tmp_path / "last.json"
    monkeypatch.setattr(whole_run, "LAST_WHOLE_RUN", path)
    assert "no run of every case" in last_whole_run()
    run = WholeRun("2026-11-27", "0123456789abcdef", passed, {"unit": 6.25, "book": 20.0})
    path.write_bytes(msgspec.json.encode(run))
    told = last_whole_run()
    assert ("passed" in told, "FAILED" in told) == (passed, not passed)
    assert "2026-11-27, commit 012345678, 26 min" in told
    path.write_text('{"date": 3}', encoding="utf-8")
    assert "cannot be read" in last_whole_run()
