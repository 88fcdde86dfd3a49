"""What equal trials differ by: what goes with processor time, and what whoever else ran shares."""

from __future__ import annotations

import math

import polars as pl
import pytest

from gapbook.method.noise import trial_noise

NAMES = ("one", "other")


def trials(effects: dict[str, list[float]], *, apart_s: float = 10.0) -> pl.DataFrame:
    """Trials of both contestants in turn; each costs more processor time as it is slower."""
    turns = range(len(effects[NAMES[0]]))
    rows = [
        {
            "contestant": name,
            "treatment": 0.5,
            "valid": True,
            "session": 0,
            "started_unix_s": 1000.0 + apart_s * (2 * turn + place),
            "goodput_per_s": 1000 * math.exp(effects[name][turn]),
            "completed_in_window": 1000,
            "server_cpu_s": math.exp(-effects[name][turn]),
            "tier_cpu_s": None,
            "client_cpu_s": 0.0,
        }
        for turn in turns
        for place, name in enumerate(NAMES)
    ]
    return pl.DataFrame(rows)


DRIFT = [0.1, 0.2, 0.1, -0.1, -0.2, -0.1]


def test_a_machine_that_drifts_is_shared_by_all_that_run_near() -> None:
    noise = trial_noise(trials({"one": DRIFT, "other": DRIFT}, apart_s=20.0))
    assert noise is not None
    assert noise.spread == pytest.approx(math.sqrt(2 * 0.12 / 10))
    assert noise.explained_frac == pytest.approx(1.0)
    # Of 20 pairs within a minute, 6 of one turn have the products 0.12 in all, 10 of the next turn 0.14, and 4 of
    # the turn after that -0.02; a square is 0.02 in the mean.
    assert noise.shared_frac == pytest.approx((0.12 + 0.14 - 0.02) / 20 / 0.02)


def test_what_each_has_of_its_own_is_not_shared() -> None:
    alternating = [0.1, -0.1, 0.1, -0.1, 0.1, -0.1]
    noise = trial_noise(trials({"one": DRIFT, "other": alternating}))
    assert noise is not None
    assert noise.shared_frac == pytest.approx(0.0, abs=0.1)


def test_no_trial_has_a_neighbour_where_all_lie_minutes_or_a_session_apart() -> None:
    far = trial_noise(trials({"one": DRIFT, "other": DRIFT}, apart_s=100.0))
    assert far is not None
    assert far.shared_frac is None
    one = trials({"one": DRIFT, "other": DRIFT}).filter(pl.col("contestant") == "one")
    other_session = trials({"one": DRIFT, "other": DRIFT}).filter(pl.col("contestant") == "other")
    apart = trial_noise(pl.concat([one, other_session.with_columns(session=pl.lit(7, pl.Int64))]))
    assert apart is not None
    assert apart.shared_frac is None


def test_single_trials_have_no_noise() -> None:
    assert trial_noise(trials({"one": [0.1], "other": [0.2]})) is None
