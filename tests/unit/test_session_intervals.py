"""Intervals over sessions are those of the textbook over the means of sessions, and hold what sessions change."""

from __future__ import annotations

import html
import math
from pathlib import Path
from typing import Any

import pytest

from gapbook.method.coverage import AA_FACTOR, TOTAL_GAP, Plant, measure_coverage
from gapbook.method.findings import Findings
from gapbook.method.sessions import session_interval, session_means
from gapbook.pages.citation import reach_note
from gapbook.pages.first_screen import cite_panels
from gapbook.pages.provenance import provenance_parts
from gapbook.pages.sentence import sentence, times
from gapbook.pages.simulated import simulated
from tests.unit import stored_runs as runs
from tests.unit.stored_runs import PROCEDURE, SPACETIMEDB


def test_interval_by_hand() -> None:
    # Logs 0 and 2; 1 and 3; 3: sessions of mean 1, 2 and 3, s = 1, half width t(0.975, 2) / sqrt(3).
    by_block = {0: 1.0, 1: math.e**2, 2: math.e, 3: math.e**3, 4: math.e**3}
    interval = session_interval(by_block, {0: [0, 1], 1: [2, 3], 2: [4]})
    half = 4.302653 / math.sqrt(3)
    assert interval is not None
    assert interval.n == 3
    assert interval.estimate == pytest.approx(math.e**2)
    assert interval.low == pytest.approx(math.exp(2 - half), rel=1e-6)
    assert interval.high == pytest.approx(math.exp(2 + half), rel=1e-6)


def test_one_session_has_no_interval_and_none_no_estimate() -> None:
    alone = session_interval({0: 2.0, 1: 8.0}, {0: [0, 1]})
    assert alone is not None
    assert alone.estimate == pytest.approx(4.0)
    assert not alone.bounded
    assert session_interval({}, {0: [0]}) is None


def test_a_session_without_a_value_is_left_out() -> None:
    by_block, sessions = {0: 2.0, 3: 8.0}, {0: [0, 1], 1: [2], 2: [3]}
    assert session_means(by_block, sessions) == {0: pytest.approx(2.0), 1: None, 2: pytest.approx(8.0)}
    interval = session_interval(by_block, sessions)
    assert interval is not None
    assert interval.n == 2


def test_intervals_over_sessions_cover_where_sessions_move_every_cell_and_those_over_blocks_do_not() -> None:
    coverage = simulated(measure_coverage, Plant(sessions=5, session_spread=0.1), blocks=10, seeds=1000)
    rates = {one.name: (one.session_covered or 0) / one.tried for one in coverage.quantities}
    assert 0.93 <= rates[TOTAL_GAP] <= 0.97
    # Of several quantities one may be off by chance; four standard errors of so many plants are 2.8 %.
    assert AA_FACTOR in rates
    assert rates == pytest.approx(dict.fromkeys(rates, 0.95), abs=0.028)
    assert all(quantity.wilson[1] < 0.95 for quantity in coverage.quantities)


def test_an_interval_over_sessions_covers_where_cells_run_in_every_second_session_only() -> None:
    plant = Plant(sessions=10, session_spread=0.1, trial_noise=0.1, others_every=2)
    coverage = simulated(measure_coverage, plant, blocks=10, seeds=400)
    rates = {one.name: (one.session_covered or 0) / one.tried for one in coverage.quantities}
    assert all(0.93 < rate < 0.98 for rate in rates.values()), rates


def test_a_plant_of_one_session_has_no_interval_over_sessions() -> None:
    coverage = measure_coverage(Plant(), blocks=3, seeds=2)
    assert {quantity.session_covered for quantity in coverage.quantities} == {None}


def _row(planned: Any) -> dict[str, Any]:
    """SpacetimeDB does twice the procedure in the first session and three times in the second."""
    session = planned.block // 2
    rate = 1000.0 * (2 + session if planned.contestant == "spacetimedb" else 1)
    return runs.valid(planned, rate, session=session)


def _shown(folder: Path, **facts: Any) -> Findings:
    rows = [_row(planned) for planned in runs.planned_trials(4)]
    return Findings(runs.store(folder / runs.CHAPTER, rows, **facts), runs.CHAPTER)


def test_an_answer_of_several_sessions_gives_and_cites_the_interval_over_them(tmp_path: Path) -> None:
    shown = _shown(tmp_path)
    answer = runs.answer_ratio(shown, SPACETIMEDB, PROCEDURE)
    # Logs of 2 and 3: t(0.975, 1) times half their distance.
    half = 12.7062 * math.log(1.5) / 2
    low, high = (math.sqrt(6) * math.exp(sign * half) for sign in (-1, 1))
    told = f"×2.45 [{low:.3f}–{high:.1f}]"
    assert f"The same ratios with intervals over 2 sessions: {told} and {told}." in html.unescape(answer.html)
    assert [(one.over_sessions, one.n) for one in answer.cited] == [(told, 4)] * 2


def test_of_unequal_blocks_each_number_says_how_many_it_has(tmp_path: Path) -> None:
    planned = list(runs.planned_trials(3))
    rows = [runs.refused(one) if one.block == 0 and one.treatment else runs.valid(one) for one in planned]
    shown = Findings(runs.store(tmp_path / runs.CHAPTER, rows), runs.CHAPTER)
    assert [one.n for one in runs.answer_ratio(shown, SPACETIMEDB, PROCEDURE).cited] == [3, 2]
    for alpha, blocks in ((0, "3"), (1.5, "2 of 3")):
        lead = times(shown, SPACETIMEDB, PROCEDURE, at=alpha)
        assert f", {blocks} blocks. " in cite_panels(shown, sentence("It is {lead}.", lead=lead)).html


def test_where_each_block_is_a_session_the_intervals_hold_that_and_are_not_said_twice(tmp_path: Path) -> None:
    rows = [
        runs.valid(planned, 2000.0 if planned.contestant == "spacetimedb" else 1000.0, session=planned.block)
        for planned in runs.planned_trials(3)
    ]
    shown = Findings(runs.store(tmp_path / runs.CHAPTER, rows), runs.CHAPTER)
    answer = runs.answer_ratio(shown, SPACETIMEDB, PROCEDURE)
    assert reach_note(shown, answer.cited).startswith("Measured over 3 sessions on one machine, within ")
    assert reach_note(shown, answer.cited) in answer.noted(reach_note(shown, answer.cited)).html
    assert [(one.over_sessions, one.n) for one in answer.cited] == [("", 3)] * 2


def test_an_answer_of_one_session_claims_nothing_of_others(tmp_path: Path) -> None:
    shown = Findings(runs.store(tmp_path / runs.CHAPTER, runs.whole()), runs.CHAPTER)
    answer = runs.answer_ratio(shown, SPACETIMEDB, PROCEDURE)
    assert "sessions" not in answer.html
    assert not any(one.over_sessions for one in answer.cited)
    assert "3 blocks in one session" in " · ".join(provenance_parts(shown))


def test_a_run_says_on_how_many_sessions_and_machines_it_rests(tmp_path: Path) -> None:
    machines = [runs.MACHINE, {**runs.MACHINE, "kernel": "Linux 6.2"}]
    deployed = [
        {"session": session, "started_unix_s": 1.0, "machine": machine}
        for session, machine in enumerate(machines)
    ]
    parts = provenance_parts(_shown(tmp_path, deployments=deployed))
    assert "4 blocks in 2 sessions on 2 machines of one kind" in parts
