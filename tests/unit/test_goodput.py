"""Stored trials counted again by today's rule."""

import json

import polars as pl
import pytest

from gapbook.paths import CHECKOUT
from gapbook.record.goodput import PRINTED, recount
from gapbook.record.run import load_run


def _trials(**columns: object) -> pl.DataFrame:
    row: dict[str, object] = {
        "goodput_per_s": 4_000.0,
        "completed_in_window": 10_000,
        "failed": json.dumps({"insufficient": 0, "error": 0}),
        "window_s": 2.0,
    }
    return pl.DataFrame([row | columns])


def test_what_ended_in_the_window_is_goodput_where_nothing_failed() -> None:
    found = recount(_trials(), 9.0).row(0, named=True)
    assert (found["goodput_per_s"], found[PRINTED]) == (5_000.0, 4_000.0)
    assert found["acknowledged_in_window"] == 10_000


@pytest.mark.parametrize("unknown", [{"failed": json.dumps({"error": 1})}, {"failed": None}])
def test_a_failure_that_may_lie_in_the_window_keeps_the_lower_bound(unknown: dict[str, object]) -> None:
    found = recount(_trials(**unknown), 9.0).row(0, named=True)
    assert (found["goodput_per_s"], found["acknowledged_in_window"]) == (4_000.0, None)


def test_a_trial_that_broke_stays_without_a_rate() -> None:
    columns = {"goodput_per_s": pl.Float64, "completed_in_window": pl.Int64, "failed": pl.String}
    broken = pl.DataFrame({name: [None] for name in columns}, schema=columns)
    found = recount(broken, 9.0).row(0, named=True)
    assert found["goodput_per_s"] is None
    assert found[PRINTED] is None


def test_every_valid_published_trial_is_counted_exactly() -> None:
    """Against the series by second, wherever the window's edges are whole seconds."""
    compared = 0
    for manifest in sorted(CHECKOUT.glob("results/*/*/manifest.json")):
        run = load_run(manifest.parent)
        if PRINTED not in run.trials.columns:
            continue
        valid = run.trials.filter("valid")
        assert not valid["acknowledged_in_window"].has_nulls()
        assert (valid["goodput_per_s"] >= valid[PRINTED] - 1e-9).all()
        warmup_s = run.manifest.scenario.warmup_s
        for row in valid.iter_rows(named=True):
            if float(warmup_s).is_integer() and float(row["window_s"]).is_integer():
                series = json.loads(row["per_second"])[int(warmup_s) : int(warmup_s + row["window_s"])]
                assert sum(series) == row["acknowledged_in_window"]
                compared += 1
    assert compared > 500
