"""One quantity over several runs: the same cells are found by what they are, and pooled as published software pools."""

from __future__ import annotations

import math
import statistics
from dataclasses import replace
from pathlib import Path

import msgspec
import polars as pl
import pytest

from gapbook.method.estimate import amount_interval
from gapbook.method.findings import Findings
from gapbook.method.interval import Interval
from gapbook.method.over_runs import OverRuns, RunEstimate, kept_beside, ratio_over_runs
from gapbook.method.random_effects import pooled
from gapbook.method.same import cells_of
from gapbook.method.student import quantile_of_t
from gapbook.record.published import published_runs
from gapbook.record.run import Run, latest_published
from gapbook.record.scenario import RecordedScenario
from tests.unit import stored_runs as runs
from tests.unit.stored_runs import DRIZZLE, SPACETIMEDB

# Thirteen trials of a vaccine (Colditz and others 1994, as `dat.bcg` of metafor): log risk ratio and its variance.
_BCG = {
    -0.8893: 0.3256, -1.5854: 0.1946, -1.3481: 0.4154, -1.4416: 0.0200, -0.2175: 0.0512, -0.7861: 0.0069,
    -1.6209: 0.2230, 0.0120: 0.0040, -0.4694: 0.0564, -1.3713: 0.0730, -0.3394: 0.0124, 0.4459: 0.5325,
    -0.0173: 0.0714,
}  # fmt: skip

# Ten trials of a drug against high blood pressure, an example of Riley, Higgins and Deeks (2011, doi 10.1136/bmj.d549), as
# `sbp` of pimeta has them: standardised mean differences, and their standard errors.
_SBP = [0.0, 0.1, -0.4, -0.8, -0.63, 0.22, -0.34, -0.51, 0.03, -0.81]
_SBP_ERRORS = [
    0.42347717, 0.21939179, 0.02551067, 0.19898325, 0.30102594, 0.30102594, 0.07142988, 0.10204269, 0.12245123,
    0.30102594,
]  # fmt: skip


def test_pooling_agrees_with_published_software() -> None:
    """metafor: rma(yi, vi, data=dat.bcg, test="knha") prints -0.7145 [-1.1084, -0.3206], tau^2 0.3132."""
    found = pooled(list(_BCG), [math.sqrt(variance) for variance in _BCG.values()])
    assert found.mean == pytest.approx(-0.7145, abs=1e-4)
    assert found.variance_between == pytest.approx(0.3132, abs=1e-4)
    assert found.mean - found.half == pytest.approx(-1.1084, abs=1e-4)
    assert found.mean + found.half == pytest.approx(-0.3206, abs=1e-4)


def test_the_next_trial_is_predicted_as_metafor_predicts_it() -> None:
    """Its first page, https://wviechtb.github.io/metafor/: predict(rma(yi, vi, data=dat.bcg, test="knha"), transf=exp,
    digits=2) prints 0.49, and from 0.14 to 1.76 as prediction interval."""
    found = pooled(list(_BCG), [math.sqrt(variance) for variance in _BCG.values()])
    ends = (found.mean - found.prediction_half, found.mean, found.mean + found.prediction_half)
    assert [round(math.exp(end), 2) for end in ends] == [0.14, 0.49, 1.76]


def test_the_next_trial_is_predicted_as_pimeta_predicts_it() -> None:
    """Its help page, https://nshi-stat.github.io/pimeta/reference/pima.html: pima(sbp$y, sbp$sigmak, method="HK"), the
    interval of Partlett and Riley (2017, doi 10.1002/sim.7140), prints -0.3287 [-0.9887, 0.3312] with 8 degrees of freedom,
    for the mean [-0.5761, -0.0814] with 9, and tau^2 0.0700."""
    found = pooled(_SBP, _SBP_ERRORS)
    assert found.variance_between == pytest.approx(0.0700, abs=1e-4)
    assert (found.mean - found.half, found.mean + found.half) == pytest.approx((-0.5761, -0.0814), abs=1e-4)
    # It takes two degrees of freedom less than there are trials, and metafor one less, as we do.
    half = found.prediction_half * quantile_of_t(8) / quantile_of_t(9)
    assert (found.mean - half, found.mean + half) == pytest.approx((-0.9887, 0.3312), abs=1e-4)


def test_runs_that_agree_are_not_told_more_exactly_than_their_own_errors_allow() -> None:
    found = pooled([1.0, 1.0, 1.0], [0.3, 0.3, 0.3])
    assert found.variance_between == 0
    assert found.half == pytest.approx(4.303 * 0.3 / math.sqrt(3), rel=1e-3)
    with pytest.raises(ValueError, match="1 estimates with 1 standard errors"):
        pooled([1.0], [0.1])


@pytest.mark.parametrize(
    ("chapter", "over", "under", "treatment", "expected"),
    [
        ("both-optimized", "spacetimedb-2-waits-deep", "postgres-waits-deep", 0.5, (5.95, 2.4, 15)),
        ("both-optimized", "spacetimedb-2-rust-deep", "postgres-rust-deep", 0.5, (1.90, 0.81, 4.5)),
    ],
)
def test_published_runs_are_pooled_as_an_independent_computation_did(
    chapter: str, over: str, under: str, treatment: float, expected: tuple[float, float, float]
) -> None:
    # The newest that has the load of those before it.
    newest = [
        run for run in published_runs() if run.scenario.chapter == chapter and run.scenario.connections == 50
    ][-1]
    found = ratio_over_runs(Findings(newest, chapter), over, under, treatment)
    assert found is not None
    assert found.runs == 4
    assert (found.expected.estimate, found.expected.low, found.expected.high) == pytest.approx(
        expected, rel=0.02
    )


@pytest.fixture(name="run", scope="module")
def _run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder: Path = tmp_path_factory.mktemp("over-runs")
    return runs.store(folder, runs.whole())


def _renamed(run: Run, *, connections: int | None = None) -> Run:
    """The same run under another id, whose contestants a later chapter calls otherwise; ``connections`` if others."""
    scenario = run.scenario.as_dict()
    for contestant in scenario["contestants"]:
        contestant["name"] = contestant["settings"]["name"] = f"later-{contestant['name']}"
        contestant["levels"]["durability"] = contestant["durability"]
    scenario["chapter"] = "later"
    scenario["connections"] = connections or scenario["connections"]
    trials = run.trials.with_columns(pl.format("later-{}", "contestant").alias("contestant"))
    manifest = msgspec.structs.replace(
        run.manifest,
        scenario=msgspec.convert(scenario, RecordedScenario),
        chapter="later",
        started_unix_s=2e9,
    )
    return replace(run, run_id="0123456789ab", manifest=manifest, trials=trials)


@pytest.mark.parametrize(("connections", "count"), [(None, 2), (7, 1)])
def test_cells_are_the_same_by_what_they_are_not_by_their_names(
    run: Run, monkeypatch: pytest.MonkeyPatch, connections: int | None, count: int
) -> None:
    later = _renamed(run, connections=connections)
    known = [(Findings(later, "later"), cells_of(later))]
    monkeypatch.setattr("gapbook.method.over_runs.published_findings", lambda: known)
    found = ratio_over_runs(Findings(run, run.scenario.chapter), SPACETIMEDB.name, DRIZZLE.name, 0.0)
    assert found is not None
    assert found.runs == count
    assert found.machines == 1
    assert found.where == f"over {count} run{'s' if count > 1 else ''} on 1 machine"


def test_runs_of_too_few_blocks_stand_aside_and_are_not_lost(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = _renamed(run)
    few = replace(few, trials=few.trials.filter(pl.col("block") < 2))
    monkeypatch.setattr(
        "gapbook.method.over_runs.published_findings", lambda: [(Findings(few, "later"), cells_of(few))]
    )
    found = ratio_over_runs(Findings(run, run.scenario.chapter), SPACETIMEDB.name, DRIZZLE.name, 0.0)
    assert found is not None
    assert [one.run.run_id for one in found.each] == [run.run_id]
    assert [(one.run.run_id, one.interval.n) for one in found.aside] == [(few.run_id, 2)]


def _on_machines(run: Run, estimates: list[float], machines: int) -> OverRuns:
    each = []
    for place, estimate in enumerate(estimates):
        machine = msgspec.structs.replace(run.manifest.machine, kernel=f"Linux {place % machines}")
        manifest = msgspec.structs.replace(run.manifest, machine=machine)
        interval = Interval(estimate, estimate / 1.1, estimate * 1.1, 5)
        each.append(RunEstimate(replace(run, manifest=manifest), interval))
    return OverRuns(each)


def test_what_one_more_run_should_find_is_told_from_three_machines_on(run: Run) -> None:
    alike = _on_machines(run, [2.0, 2.02, 2.04, 2.06], 3).between
    assert (alike.expected, alike.foreseen) != ("", False)
    low, high = (float(end.removeprefix("×")) for end in alike.expected.split(" to "))
    # Four runs that agree leave the error of one run and a little more: none of theirs lies outside.
    assert 2.0 / 1.25 < low < 2.0 / 1.1
    assert 2.06 * 1.1 < high < 2.06 * 1.25
    assert _on_machines(run, [2.0, 2.02, 2.04, 2.06], 2).between.expected == ""
    far = _on_machines(run, [1.0, 3.0, 9.0], 3).between
    assert far.expected
    assert not far.foreseen


def test_two_runs_are_told_by_their_range_and_what_their_noise_adds(run: Run) -> None:
    precise, vague = Interval(2.0, 1.9, 2.1, 5), Interval(3.0, 1.0, 9.0, 5)
    two = OverRuns([RunEstimate(run, one) for one in (precise, vague)])
    assert two.as_range() == "×2.00 to ×3.00"
    assert two.expected.low < two.least
    assert two.greatest < two.expected.high
    assert (two.expected.low, two.expected.high) == pytest.approx((2.0, 3.0), rel=0.05)
    one = OverRuns([RunEstimate(run, precise)])
    assert one.expected == one.mean == precise
    assert one.as_range() == "×2.00"


def test_an_amount_whose_interval_ends_at_nothing_weighs_by_its_own_error(run: Run) -> None:
    amounts = [[0.0, 0.0, 0.0, 0.0, 5.0], [2.0, 3.0, 4.0]]
    intervals = list(map(amount_interval, amounts))
    assert intervals[0].low == 0.0
    found = OverRuns([RunEstimate(run, one) for one in intervals], log=False).pooled
    means = [statistics.fmean(of_run) for of_run in amounts]
    errors = [statistics.stdev(of_run) / math.sqrt(len(of_run)) for of_run in amounts]
    assert found is not None
    assert (found.mean, found.half) == pytest.approx((pooled(means, errors).mean, pooled(means, errors).half))


def test_a_share_whose_interval_ends_at_all_of_it_still_has_an_error(run: Run) -> None:
    of_all = Interval(1.0, 0.57, 1.0, 5)
    found = OverRuns([RunEstimate(run, one) for one in (of_all, of_all)], log=False).pooled
    assert found is not None
    assert found.error_within > 0.1


@pytest.mark.parametrize(
    ("shown", "another", "opposed"),
    [
        ((1.13, 1.55), (0.59, 0.85), True),
        ((0.50, 0.70), (1.05, 1.25), True),
        ((1.13, 1.55), (0.90, 1.05), False),  # the other holds ×1
        ((0.98, 1.55), (0.59, 0.85), False),  # the shown one does
        ((1.13, 1.55), (1.60, 1.90), False),
        ((1.13, 1.55), (math.nan, math.nan), False),  # of a single block
    ],
)
def test_a_run_says_the_opposite_where_both_intervals_leave_out_one(
    run: Run, shown: tuple[float, float], another: tuple[float, float], opposed: bool
) -> None:
    later = _renamed(run)
    both = [
        RunEstimate(which, Interval(math.sqrt(low * high), low, high, 5))
        for which, (low, high) in ((run, shown), (later, another))
    ]
    assert [one.run for one in OverRuns(both).opposed(run)] == [later] * opposed


def test_what_is_kept_of_a_rate_is_told_over_all_runs_and_agrees_with_their_trials() -> None:
    shown = latest_published("contention")
    told = kept_beside(Findings(shown, "contention"), "sql-rust", 1.5, 0.0)
    assert told is not None
    assert told.runs >= 3
    parts = [_kept_by_hand(one.run, "sql-rust") for one in told.each]
    assert [one.interval.estimate for one in told.each] == pytest.approx(parts)
    least, greatest = (100 * pick(parts) for pick in (min, max))
    assert told.between_in_percent.ends == f"{least:.1f} to {greatest:.1f} %"


def _kept_by_hand(run: Run, contestant: str) -> float:
    """The geometric mean over blocks of the rate at the highest exponent by that at the lowest."""
    own = run.trials.filter(pl.col("valid"), pl.col("contestant") == contestant)
    rates = own.with_columns(rate=pl.col("acknowledged_in_window") / pl.col("window_s")).pivot(
        "treatment", index="block", values="rate", aggregate_function="mean"
    )
    parts = rates.drop_nulls(["0.0", "1.5"]).select((pl.col("1.5") / pl.col("0.0")).log().mean().exp())
    return float(parts.item())


def test_what_a_readers_own_run_kept_is_of_that_run_alone(run: Run) -> None:
    assert kept_beside(Findings(run, runs.CHAPTER), DRIZZLE.name, *run.scenario.treatment.values[:2]) is None
