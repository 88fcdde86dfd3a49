"""Warmth: whether windows opened on a rate that still rose, told from all trials of a contestant."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gapbook.method.findings import Findings
from gapbook.method.warmth import Warmth, warmth_of
from gapbook.pages.proof.warmth import warmth_table
from tests.unit import stored_runs as runs

_WARMUP_S, _WINDOW_S = 3.0, 2.0


def _trial(block: int, per_second: Sequence[float]) -> dict[str, Any]:
    return {"block": block, "per_second": json.dumps(per_second)}


def _warmth(*per_second: Sequence[float], warmup_s: float = _WARMUP_S, window_s: float = _WINDOW_S) -> Warmth:
    return warmth_of([_trial(block, one) for block, one in enumerate(per_second)], warmup_s, window_s)


def test_the_way_to_the_rate_is_told_second_by_second() -> None:
    warmth = _warmth([50, 80, 95, 100, 100, 7], [50, 82, 95, 90, 110, 3], [40, 80, 95, 100, 100])
    assert warmth.approach == pytest.approx((0.50, 0.80, 0.95))


def test_a_rise_inside_the_window_is_the_geometric_mean_over_blocks() -> None:
    warmth = _warmth([9, 9, 9, 100, 121], [9, 9, 9, 100, 100])
    assert warmth.rise is not None
    assert warmth.rise.estimate == pytest.approx(1.1)
    assert warmth.rise.n == 2


def test_trials_of_one_block_are_one_value() -> None:
    trials = [_trial(0, [9, 9, 9, 100, 121]), _trial(0, [9, 9, 9, 100, 100])]
    rise = warmth_of(trials, _WARMUP_S, _WINDOW_S).rise
    assert rise is not None
    assert rise.estimate == pytest.approx(1.1)
    assert rise.n == 1


@pytest.mark.parametrize(
    ("second_halves", "reading"),
    [
        ((120, 121, 119), "still rising"),
        ((83, 84, 82), "falling"),
        # A wide interval has shown nothing: neither a rise nor warmth.
        ((120, 85, 100), "not resolved"),
        ((115, 137, 97), "not resolved"),
        ((112, 114, 106), "still rising"),
        # Told apart from one, but not by more than five percent.
        ((103, 103.1, 102.9), "warm"),
        ((100, 101, 99), "warm"),
        ((104, 106, 103), "not resolved"),
        ((120,), "not known"),
    ],
)
def test_a_trend_is_said_of_a_whole_interval_only(second_halves: Sequence[float], reading: str) -> None:
    assert _warmth(*([9, 9, 9, 100, half] for half in second_halves)).reading == reading


def test_a_rise_that_is_not_shown_is_suspected_all_the_same() -> None:
    def halves(*second: float) -> Warmth:
        return _warmth(*([9, 9, 9, 100, one] for one in second))

    assert [halves(115, 137, 97).suspected, halves(112, 114, 106).suspected] == [True, True]
    assert not any(one.suspected for one in (halves(103, 104, 103), halves(140), Warmth((), None)))


def test_tenths_of_a_second_are_used_where_they_were_told() -> None:
    tenths = [10] * 30 + [10] * 9 + [12] * 9 + [50]
    seconds = [100, 100, 100, 90, 108]
    rows = [{"block": b, "per_second": json.dumps(seconds), "per_100ms": json.dumps(tenths)} for b in (0, 1)]
    warmth = warmth_of(rows, _WARMUP_S, 1.8)
    assert warmth.rise is not None
    assert warmth.rise.estimate == pytest.approx(1.2)
    assert warmth.approach == pytest.approx((10 / 11,) * 3)


def test_longer_windows_are_halved_and_the_middle_second_is_in_neither_half() -> None:
    warmth = _warmth([1, 10, 10, 99, 20, 20], warmup_s=1.0, window_s=5.0)
    assert warmth.rise is not None
    assert warmth.rise.estimate == pytest.approx(2.0)


@pytest.mark.parametrize("warmup_s", [0.5, 0.0])
def test_a_window_without_two_whole_seconds_tells_nothing(warmup_s: float) -> None:
    warmth = _warmth([50, 100, 40], [50, 100, 40], warmup_s=warmup_s, window_s=1.9)
    assert warmth.rise is None
    assert warmth.reading == "not known"


def test_a_trial_without_its_seconds_is_left_out() -> None:
    whole = _trial(0, [9, 9, 9, 100, 121]) | {"per_100ms": json.dumps([1] * 30 + [10] * 20)}
    warmth = warmth_of([whole, whole | {"per_second": "[]"}], _WARMUP_S, _WINDOW_S)
    assert len(warmth.approach) == _WARMUP_S


def test_a_trial_that_stopped_or_stood_still_is_left_out() -> None:
    warmth = _warmth([9, 9, 9, 100, 110], [9, 9, 9, 100], [9, 9, 9, 100, 0])
    assert warmth.rise is not None
    assert warmth.rise.n == 1


def test_a_trial_whose_last_answers_came_before_the_end_is_read_as_if_its_count_went_on() -> None:
    ends_early = [10] * 30 + [10] * 10 + [12] * 9
    per_second = json.dumps([100, 100, 100, 100, 108])
    rows = [
        {"block": block, "per_second": per_second, "per_100ms": json.dumps(tenths)}
        for block, tenths in enumerate((ends_early, [*ends_early, 0]))
    ]
    left_out, padded = (warmth_of([row], _WARMUP_S, _WINDOW_S) for row in rows)
    assert left_out == padded
    assert padded.rise is not None
    assert padded.rise.estimate == pytest.approx(1.08)
    assert padded.approach == pytest.approx((100 / 104,) * 3)


def _results(folder: Path, warmup_s: float, per_second: Sequence[int], window_s: float = 2.0) -> Findings:
    scenario = replace(runs.SCENARIO, warmup_s=warmup_s, window_s=window_s)
    rows = [
        runs.valid(planned, per_second=list(per_second))
        if planned.contestant == "drizzle"
        else runs.valid(planned, per_second=[100] * 5)
        for planned in runs.planned_trials(3, scenario)
    ]
    return Findings(runs.store(folder, rows, scenario=scenario), runs.CHAPTER)


def test_the_page_names_who_was_still_warming_up(tmp_path: Path) -> None:
    found = _results(tmp_path, 3.0, [40, 60, 80, 100, 120])
    table = warmth_table(found).html
    assert table.count("still rising") == 1
    assert "0.364 · 0.545 · 0.727" in table
    answer = runs.answer_ratio(found, runs.SPACETIMEDB, runs.DRIZZLE, "It is {ratios}.").html
    assert "Still warming up inside the window, and so understated: Postgres." in answer
    assert "warming" not in runs.answer_ratio(found, runs.SPACETIMEDB, runs.SQL, "It is {ratios}.").html


def test_a_run_that_cannot_tell_says_so(tmp_path: Path) -> None:
    found = _results(tmp_path, 0.5, [40, 60, 80], window_s=1.0)
    told = warmth_table(found).html
    assert "not known from this run: 0.5 s of warm-up and windows of 1 s hold too few whole seconds" in told


def test_the_way_is_shown_where_the_window_cannot_be_halved(tmp_path: Path) -> None:
    found = _results(tmp_path, 1.0, [40, 60, 80], window_s=1.0)
    assert "0.667" in warmth_table(found).html
    assert "still rising" not in warmth_table(found).html
