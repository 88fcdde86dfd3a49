"""Whatever a trial tells can be estimated, divided and taken apart; goodput is one of these metrics."""

from __future__ import annotations

import hashlib
import html
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from gapbook.claims.claim import claim
from gapbook.claims.verdicts import judge
from gapbook.errors import ParameterError, RecordError
from gapbook.method.findings import Findings
from gapbook.model.plan import PlannedTrial
from gapbook.pages.exhibits.gap import waterfall
from gapbook.record.metric import METRICS, metric_named
from gapbook.record.run import Run, canonical, load_run, run_id_of
from tests.unit import stored_runs as runs
from tests.unit.test_results import FACTORS


@pytest.fixture(name="shown", scope="module")
def _shown(tmp_path_factory: pytest.TempPathFactory) -> Findings:
    """Every client takes half a second of processor time, whatever its rate; only one tier takes any."""
    rows = [
        runs.valid(planned, tier_cpu_s=0.25 if planned.contestant == "drizzle" else 0.0)
        for planned in runs.planned_trials(3)
    ]
    return Findings(runs.store(tmp_path_factory.mktemp("metric") / runs.CHAPTER, rows), runs.CHAPTER)


@pytest.mark.parametrize("metric", METRICS)
def test_every_metric_is_estimated_or_not_told(shown: Findings, metric: str) -> None:
    found = shown.estimate("drizzle", 0.0, metric)
    told = {
        "goodput",
        "p50",
        "p99",
        "p99.9",
        "mean-latency",
        "client-cpu",
        "tier-cpu",
        "server-memory",
        "catch-up",
    }
    assert (found is not None) == (metric in told)
    assert found is None or (found.n == 3 and found.low <= found.estimate <= found.high)


def test_processor_time_for_an_operation_falls_as_the_rate_rises(shown: Findings) -> None:
    ratio = shown.ratio("spacetimedb-rust", "drizzle", 0.0, "client-cpu")
    assert ratio is not None
    assert ratio.estimate == pytest.approx(1 / 48, rel=0.01)


def test_a_gap_of_another_metric_closes_and_is_drawn_in_its_unit(shown: Findings) -> None:
    parts = shown.decompose(FACTORS, 0.0, metric="client-cpu")
    assert parts is not None
    assert parts.gap.estimate == pytest.approx(1 / 48, rel=0.01)
    assert parts.closing_error_log < 1e-9
    figure = waterfall(shown, FACTORS, 0.0, "client-cpu")
    text = html.unescape(figure.html)
    assert "processor time of the client for each operation, µs (log scale)" in text
    assert " µs" in text
    assert "transactions/s" not in text
    assert (figure.wide.problems(), figure.phone.problems()) == ([], [])


def test_a_trial_that_does_not_tell_a_metric_is_left_out(shown: Findings) -> None:
    assert shown.values("procedure", 0.0, "tier-cpu") == {}
    assert shown.trial_values("procedure", 0.0, "tier-cpu") == [0.0] * 3
    assert shown.ratio("procedure", "drizzle", 0.0, "tier-cpu") is None


def test_what_can_be_nothing_has_a_mean_and_no_ratio(tmp_path: Path) -> None:
    rows = [runs.valid(planned, catch_up_s=float(planned.block)) for planned in runs.planned_trials(3)]
    shown = Findings(runs.store(tmp_path / runs.CHAPTER, rows), runs.CHAPTER)
    found = shown.estimate("drizzle", 0.0, "catch-up")
    assert found is not None
    assert (found.estimate, found.n) == (1.0, 3)
    # Student's t with two degrees of freedom, over a standard deviation of one.
    assert found.high - found.estimate == pytest.approx(4.3027 / 3**0.5, rel=1e-4)
    with pytest.raises(ParameterError, match="metric catch-up: it can be 0"):
        shown.ratio("spacetimedb", "drizzle", 0.0, "catch-up")
    with pytest.raises(ParameterError, match="metric catch-up: it can be 0"):
        shown.decompose(FACTORS, 0.0, metric="catch-up")


def test_a_trial_tells_metrics_of_its_own_with_unit_and_direction(tmp_path: Path) -> None:
    def told(planned: PlannedTrial) -> dict[str, Any]:
        lost = {"value": 10.0 * (1 + planned.block), "unit": "transfers", "better": "lower"}
        return runs.valid(planned, metrics={"lost": lost})

    shown = Findings(
        runs.store(tmp_path / runs.CHAPTER, [told(planned) for planned in runs.planned_trials(2)]),
        runs.CHAPTER,
    )
    assert shown.values("drizzle", 0.0, "lost") == {0: 10.0, 1: 20.0}
    assert (shown.metric("lost").unit, shown.metric("lost").better) == (" transfers", "lower")
    ratio = shown.ratio("spacetimedb", "drizzle", 1.5, "lost")
    assert ratio is not None
    assert ratio.estimate == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("metrics", "said"),
    [
        ({"goodput": {"value": 1.0, "unit": "/s", "better": "higher"}}, "goodput follows from its columns"),
        ({"lost": {"value": 1.0, "unit": "transfers", "better": "none"}}, "Invalid enum value"),
        ({"lost": 1.0}, "Expected `object`"),
    ],
)
def test_a_metric_that_is_none_is_not_stored(tmp_path: Path, metrics: dict[str, Any], said: str) -> None:
    rows = [runs.valid(planned, metrics=metrics) for planned in runs.planned_trials(1)]
    with pytest.raises(RecordError, match=said):
        runs.store(tmp_path / runs.CHAPTER, rows)


def test_rate_times_mean_latency_is_what_is_out_at_once(shown: Findings) -> None:
    rate, latency = shown.estimate("drizzle", 1.5), shown.estimate("drizzle", 1.5, "mean-latency")
    assert rate is not None
    assert latency is not None
    assert rate.estimate * latency.estimate / 1000 == pytest.approx(shown.scenario.connections)


def test_transactions_of_the_server_are_told_for_each_acknowledged_operation(tmp_path: Path) -> None:
    rows = [
        runs.valid(planned, acknowledged=1000, metric_transactions=3000 + 100 * planned.block)
        for planned in runs.planned_trials(3)
    ]
    shown = Findings(runs.store(tmp_path / runs.CHAPTER, rows), runs.CHAPTER)
    assert shown.values("drizzle", 0.0, "transactions") == pytest.approx({0: 3.0, 1: 3.1, 2: 3.2})


def _with_metrics(folder: Path, table: pl.DataFrame) -> Run:
    """The run with another table of metrics, named and hashed as if it had always been so."""
    table.write_parquet(folder / "metrics.parquet")
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    del manifest["run_id"]
    written = (folder / "metrics.parquet").read_bytes()
    manifest["files"]["metrics.parquet"] = hashlib.sha256(written).hexdigest()
    run_id = run_id_of(manifest)
    (folder / "manifest.json").write_bytes(canonical({**manifest, "run_id": run_id}))
    return load_run(folder.rename(folder.with_name(run_id)))


def test_a_run_from_before_a_metric_is_read_and_tells_it(tmp_path: Path) -> None:
    folder = runs.store(tmp_path / runs.CHAPTER, runs.whole(1)).folder
    earlier = pl.read_parquet(folder / "metrics.parquet").filter(pl.col("name") != "mean-latency")
    shown = Findings(_with_metrics(folder, earlier), runs.CHAPTER)
    assert shown.estimate("drizzle", 0.0, "mean-latency") is not None


def test_metrics_that_disagree_with_their_trials_are_refused(tmp_path: Path) -> None:
    folder = runs.store(tmp_path / runs.CHAPTER, runs.whole(1)).folder
    table = pl.read_parquet(folder / "metrics.parquet")
    forged = table.with_columns(
        pl.when(pl.col("name") == "goodput").then(1e9).otherwise("value").alias("value")
    )
    with pytest.raises(RecordError, match=r"metrics\.parquet: it does not agree with the trials"):
        _with_metrics(folder, forged)


def test_an_unknown_metric_is_refused_with_those_there_are() -> None:
    with pytest.raises(ParameterError, match="metric 'speed': unknown; allowed: goodput, p50, p90, p95, p99"):
        metric_named("speed")


def test_a_verdict_can_be_on_another_metric(shown: Findings) -> None:
    test = {
        "chapter": runs.CHAPTER,
        "quantity": "ratio",
        "metric": "client-cpu",
        "over": "spacetimedb-rust",
        "under": "drizzle",
        "alpha": 0.0,
        "below": 0.1,
        "fixed": datetime(2020, 1, 1, tzinfo=UTC),
    }
    rule = {"rule": "bound", "why": "w", "test": [test]}
    judged = judge(claim("keynote-factor-orm"), rule, lambda chapter: shown)
    assert judged.verdict == "confirmed"
    assert judged.evidence[0].quantity == "client CPU, spacetimedb-rust ÷ drizzle, α = 0"
    rate = {**test, "quantity": "value", "under": [], "below": 1e6}
    (evidence,) = judge(claim("keynote-factor-orm"), {**rule, "test": [rate]}, lambda chapter: shown).evidence
    assert evidence.ours.endswith(" µs")
