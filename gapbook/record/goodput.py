"""Goodput from the counts of a stored trial, for runs that were stored under an earlier rule.

Until format 2 of the record, goodput also asked that a request *start* inside the window. That takes
the requests in flight at the window's opening, connections × depth of them, off every window. What was
counted of a window is stored beside the rate, so no trial has to be run again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import polars as pl

__all__ = ["PRINTED", "recount"]

PRINTED = "goodput_per_s_as_printed"
"""Column with the rate that was printed of a trial under the earlier rule; absent where none was."""


def recount(trials: pl.DataFrame, window_s: float) -> pl.DataFrame:
    """Trials with goodput by today's rule, and beside it what was printed of them.

    ``completed_in_window`` counts every request that ended inside the window, whatever its answer. Where
    no request of a trial failed, all of these were acknowledged, and the count is exact. A trial with a
    failure keeps what was printed: that is a lower bound, since requests that started before the window
    are missing from it, and how many of the failures lie in the window was not stored.
    """
    told = trials.select(
        pl.col("failed").map_elements(_none_failed, return_dtype=pl.Boolean, skip_nulls=False)
        & pl.col("completed_in_window").is_not_null()
    ).to_series()
    counted = pl.when(told).then(pl.col("completed_in_window"))
    windows_s = pl.col("window_s").fill_null(window_s) if "window_s" in trials.columns else window_s
    return trials.with_columns(
        pl.col("goodput_per_s").alias(PRINTED),
        counted.alias("acknowledged_in_window"),
        pl.coalesce(counted / windows_s, pl.col("goodput_per_s")).alias("goodput_per_s"),
    )


def _none_failed(text: str | None) -> bool:
    failed: Mapping[str, Any] = json.loads(text) if text else {"unknown": 1}
    return not any(failed.values())
