"""The pages of precision: what is read off trials, and the sentences and rows that come of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from gapbook.method.findings import Findings
from gapbook.method.interval import Interval
from gapbook.model.plan import PlannedTrial
from gapbook.pages.precision import (
    Remedy,
    aa_trials,
    precision_answer,
    precision_chart,
    precision_table,
    remedies_of,
    spread_table,
)
from gapbook.record.own_metric import PROBE_ARITHMETIC, PROBE_MEMORY
from tests.unit import stored_runs as runs

_BLOCKS = 4


def _probes(slow: float) -> dict[str, dict[str, Any]]:
    return {
        PROBE_ARITHMETIC: {"value": 200 * slow, "unit": "µs", "better": "lower"},
        PROBE_MEMORY: {"value": 300.0 + slow, "unit": "µs", "better": "lower"},
    }


@pytest.fixture(name="found", scope="module")
def _found(tmp_path_factory: pytest.TempPathFactory) -> Findings:
    """Every trial twice as slow as the probe says that the machine was, and nothing else differs."""
    every = runs.planned_trials(_BLOCKS, trials_per_block={"sql": 3, "drizzle": 3})
    folder = tmp_path_factory.mktemp("precision") / runs.CHAPTER
    return Findings(runs.store(folder, _rows(every), planned=every), runs.CHAPTER)


def _rows(every: Sequence[PlannedTrial]) -> list[dict[str, Any]]:
    rows = []
    for place, planned in enumerate(every):
        slow = 1 + (place * 7 % 11) / 20
        rate = 1000 / slow
        bins = [round(rate / 10)] * 25
        rows.append(
            runs.valid(
                planned, rate, metrics=_probes(slow), per_100ms=bins, window_s=2.0, started_unix_s=1e9 + place
            )
        )
    return rows


def test_a_probe_that_tells_all_leaves_nothing(found: Findings) -> None:
    trials = aa_trials(found, [runs.SQL, runs.DRIZZLE], [0.5])
    first = trials[0]
    assert first.rates_per_s[0.5] == pytest.approx(first.rates_per_s[2.0], rel=0.02)
    remedies = remedies_of(trials, within_s=2, lengths_s=[0.5])
    by_name = {one.name: one for one in remedies}
    told = by_name["corrected by a probe of arithmetic"]
    assert told.left is not None
    assert told.left.high < 0.01
    assert told.reading == "narrows"
    answer = precision_answer(trials, remedies, {"sql": "SQL by hand", "drizzle": "Drizzle"})
    assert "corrected by" in answer.html
    assert "(SQL by hand)" in answer.html
    assert "(Drizzle)" in answer.html
    assert next(one.quantity for one in answer.cited) == "spread of trials of one contestant within a block"
    assert "What each remedy leaves" in precision_chart(found, remedies).html
    assert "narrows" in str(precision_table(remedies))
    assert "SQL by hand" in str(spread_table(trials, {"sql": "SQL by hand"}))


def test_without_two_trials_of_a_kind_the_page_says_so(found: Findings) -> None:
    trials = aa_trials(found, [runs.PROCEDURE], [0.5])
    remedies = remedies_of(trials, within_s=2, lengths_s=[0.5])
    assert {one.reading for one in remedies} == {"not known from this run"}
    assert "Not answered by this run" in precision_answer(trials, remedies, {"procedure": "one call"}).html
    assert "Fewer than two blocks" in precision_chart(found, remedies).html
    assert "–" in str(spread_table(trials, {"procedure": "one call"}))


@pytest.mark.parametrize(
    ("low", "high", "reading"),
    [(0.8, 0.9, "narrows"), (1.1, 1.2, "widens"), (0.9, 1.1, "changes nothing that shows")],
)
def test_a_reading_follows_from_the_side_of_one(low: float, high: float, reading: str) -> None:
    assert Remedy("remedy", Interval((low * high) ** 0.5, low, high, 8)).reading == reading
