"""How far trials of one cell lie apart, and how much of that is the machine's doing."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import polars as pl

from gapbook.method.estimate import Floats

__all__ = ["TrialNoise", "trial_noise"]

# Two trials that started at most so many seconds apart are neighbours; prose calls it a minute.
_NEAR_S = 60.0

_CELL = ("contestant", "treatment")


@dataclass(frozen=True)
class TrialNoise:
    """Of the trials of a run: ``spread`` is the standard deviation of log goodput within cells.

    ``explained_frac`` of its variance goes with the processor time that an operation took (server, tier and client):
    what costs more time for the same work on the same code ran on a slower machine. ``shared_frac`` of it is common
    to neighbours of different contestants: what slows whatever runs at an hour is nobody's own. It is a mean of
    products, so below 0 by chance where neighbours share nothing, and None where no trial has a neighbour.
    """

    spread: float
    explained_frac: float
    shared_frac: float | None


def trial_noise(trials: pl.DataFrame) -> TrialNoise | None:
    """The noise of the valid trials of a record; None without two of them in some cell."""
    spent = pl.col("server_cpu_s").fill_null(0) + pl.col("tier_cpu_s").fill_null(0) + pl.col("client_cpu_s")
    rows = trials.filter(pl.col("valid") & (pl.col("completed_in_window") > 0)).select(
        *_CELL,
        "session",
        "started_unix_s",
        rate=pl.col("goodput_per_s").log(),
        cost=(spent / pl.col("completed_in_window")).log(),
    )
    repeated = rows.filter(pl.len().over(_CELL) > 1)
    within = repeated.with_columns(
        pl.col(name) - pl.col(name).mean().over(_CELL) for name in ("rate", "cost")
    )
    free = within.height - repeated.select(_CELL).n_unique()
    if free < 2 or not within["cost"].is_finite().all():
        return None
    together = within.select(pl.corr("rate", "cost")).item()
    return TrialNoise(
        math.sqrt(float((within["rate"] ** 2).sum()) / free),
        float(together or 0.0) ** 2,
        _shared_frac(within),
    )


def _shared_frac(within: pl.DataFrame) -> float | None:
    """The mean product of the deviations of neighbours ÷ the mean square of a deviation."""
    rate: Floats = within["rate"].to_numpy()
    started_s: Floats = within["started_unix_s"].to_numpy()
    contestant, session = (within[name].rank("dense").to_numpy() for name in ("contestant", "session"))
    neighbours = (
        (np.abs(started_s[:, None] - started_s[None, :]) <= _NEAR_S)
        & (contestant[:, None] != contestant[None, :])
        & (session[:, None] == session[None, :])
    )
    if not neighbours.any() or not rate.any():
        return None
    return float(np.outer(rate, rate)[neighbours].mean() / (rate**2).mean())
