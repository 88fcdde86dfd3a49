"""Corrections: old and new come from one run by one code, and only what reads differently is listed."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import polars as pl
import pytest

from gapbook.pages.corrections import as_printed, corrected_runs, correction_facts, corrections, fixed_table
from gapbook.record.goodput import PRINTED
from gapbook.record.run import Run
from tests.unit import stored_runs as runs


@pytest.fixture(name="run", scope="module")
def _run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run whose SpacetimeDB was printed at half of its rate."""
    folder: Path = tmp_path_factory.mktemp("corrections")
    stored = runs.store(folder, runs.whole())
    half = pl.when(pl.col("contestant") == "spacetimedb").then(0.5).otherwise(1.0)
    return replace(stored, trials=stored.trials.with_columns((pl.col("goodput_per_s") * half).alias(PRINTED)))


def test_what_was_printed_is_computed_from_the_printed_rates(run: Run) -> None:
    assert as_printed(run).trials["goodput_per_s"].to_list() == run.trials[PRINTED].to_list()


def test_only_what_reads_differently_is_listed(run: Run) -> None:
    found = {one.quantity: one for one in corrections(run)}
    assert found["spacetimedb, α = 0"].printed.startswith("8,")
    assert found["spacetimedb, α = 0"].now.startswith("16,")
    assert all("spacetimedb" in name or "in flight" in name for name in found)
    assert all(one.printed != one.now for one in found.values())


def test_the_size_is_counted_from_what_changed(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gapbook.pages.corrections.corrected_runs", lambda: [run])
    facts = correction_facts("keynote")
    assert facts["changed"] == str(sum(one.moved is not None for one in corrections(run)))
    assert float(facts["changed_most"].removeprefix("×")) >= 2.0
    assert int(facts["changed_much"]) > 0


def test_published_runs_of_the_earlier_rule_are_found() -> None:
    found = corrected_runs()
    assert len({run.manifest.chapter for run in found}) == len(found) > 0
    assert all(PRINTED in run.trials.columns for run in found)


def test_a_run_is_told_as_older_or_newer_than_its_tests(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    hours = [datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 3, 1, tzinfo=UTC)]
    monkeypatch.setattr("gapbook.pages.corrections.tests_fixed", lambda chapter: hours)
    for began, order in (
        (datetime(2025, 12, 31, tzinfo=UTC), "all newer than the run"),
        (datetime(2026, 2, 1, tzinfo=UTC), "newer than the run, 1 of 2"),
        (datetime(2026, 4, 1, tzinfo=UTC), "all older than the run"),
    ):
        begun = replace(run, manifest=msgspec.structs.replace(run.manifest, started_unix_s=began.timestamp()))
        monkeypatch.setattr("gapbook.pages.corrections.published_runs", lambda begun=begun: iter([begun]))
        text = fixed_table().html
        assert order in text
        assert f"{began:%Y-%m-%d %H:%M} UTC" in text
