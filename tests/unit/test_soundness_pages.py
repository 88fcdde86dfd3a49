"""What a page says of copies after a kill: how many trials, how they ended, why, and nothing of refused trials."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from gapbook.charts import PHONE_WIDTH, Outcome, Outcomes, outcomes
from gapbook.deploy.observed import told
from gapbook.method.findings import Findings
from gapbook.model.plan import PlannedTrial
from gapbook.pages.losses.soundness import (
    Ends,
    ends_of,
    soundness_answer,
    soundness_chart,
    soundness_table,
    why_table,
)
from gapbook.pages.provenance import method_of_marks
from gapbook.trial.contestant import Contestant
from gapbook.trial.scenario import WorkloadSettings
from gapbook.trial.treatment import Treatment
from tests.unit import stored_runs as runs
from tests.unit.chart_inputs import PROVENANCE

_WORKLOAD = "counter-and-messages"


def _contestant(name: str, access: str) -> Contestant:
    return Contestant(
        name, "litestream", access, "in-process", "rust", 1, workload=_WORKLOAD, version="0.5.17"
    )


_KILLED, _ALONE = _contestant("killed", "sql-restarted"), _contestant("alone", "sql")
_SCENARIO = replace(
    runs.SCENARIO,
    contestants=(_KILLED, _ALONE),
    workload=WorkloadSettings(_WORKLOAD, {"increment_share": 0.0}),
    treatment=Treatment.of("databases", _WORKLOAD, [1]),
    connections=1,
    durability=runs.SCENARIO.durability.parse("none"),
)
_ROWS = [("killed", _KILLED), ("left alone", _ALONE)]
_BAD_INDEX = "1 of 1 copies: integrity_check says wrong # of entries in index"
_NO_FILE = "1 of 1 copies: its restore ended with code 1: 2026-11-24T12:13:45.001648Z ERROR no backup"


def _metrics(lost: int, unusable: int) -> dict[str, dict[str, Any]]:
    metrics = told("rows lost", lost, "rows") | told("copies unusable", unusable, "databases")
    return dict(msgspec.to_builtins(metrics))


def _row(planned: PlannedTrial) -> dict[str, Any]:
    """Five blocks: the killed one leaves two bad copies and one that lacks rows; its last trial is refused."""
    if planned.contestant == "killed" and planned.block == 4:
        return runs.broken(planned)
    row = {**runs.valid(planned, 100.0), "metrics": _metrics(0, 0)}
    if planned.contestant == "killed":
        ends = [(900, 1, [_BAD_INDEX]), (900, 1, [_NO_FILE]), (7, 0, ["1 of 1 copies: 7 rows"]), (0, 0, [])]
        lost, unusable, remarks = ends[planned.block]
        row |= {"metrics": _metrics(lost, unusable), "remarks": remarks}
    return row


@pytest.fixture(name="found", scope="module")
def _found(tmp_path_factory: pytest.TempPathFactory) -> Findings:
    folder = tmp_path_factory.mktemp("soundness")
    rows = [_row(planned) for planned in runs.planned_trials(5, _SCENARIO)]
    return Findings(runs.store(folder / runs.CHAPTER, rows, scenario=_SCENARIO), runs.CHAPTER)


def test_a_copy_without_some_rows_is_none_that_cannot_be_used(found: Findings) -> None:
    assert ends_of(found, _KILLED) == Ends(whole=1, lacking=1, unusable=2)
    assert ends_of(found, _ALONE) == Ends(whole=5, lacking=0, unusable=0)


def test_the_answer_counts_the_bad_copies_and_has_the_undisturbed_beside_them(found: Findings) -> None:
    answer = soundness_answer(found, [(_KILLED, _ALONE)])
    text = re.sub(r"<[^>]+>", "", answer.html)
    assert text == (
        "Litestream 0.5.17, killed with kill -9 under load and started again, left a copy that fails SQLite's integrity "
        "check or its restore in 2 of 4 [15–85 %] trials, and one that lacks rows in 1. Left alone, it did in none of 5."
    )
    assert [(one.value, one.n) for one in answer.cited] == [("2 of 4 [15–85 %]", 4)]
    assert "Left alone" not in soundness_answer(found, [(_KILLED, None)]).html
    assert not soundness_answer(found, []).cited


def test_tables_and_chart_have_every_trial_that_counts(found: Findings) -> None:
    html = soundness_table(found, _ROWS).html
    cells = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in re.findall(r"<tr>(.*?)</tr>", html)[1:]]
    assert cells[0] == ["killed", "4", "1", "1", "2", "15–85 %"]
    assert cells[1][:5] == ["left alone", "5", "5", "0", "0"]
    chart = soundness_chart(found, _ROWS)
    assert chart.title == "killed: 2 of 4 copies fail SQLite's integrity check or their restore"
    assert "5 randomised blocks in one session; each mark is one trial." in method_of_marks(found)
    assert "intervals" not in chart.svg()
    assert [row[1:4] for row in chart.table.rows] == [("1", "1", "2"), ("5", "0", "0")]


def test_reasons_are_counted_without_their_moment(found: Findings) -> None:
    html = why_table(found, _ROWS).html
    assert "wrong # of entries in index" in html
    assert "code 1: ERROR no backup" in html
    assert "2026" not in html
    assert "Every copy of this run was whole" in why_table(found, [("left alone", _ALONE)]).html


def test_the_chart_of_outcomes_has_a_mark_for_each_trial_and_no_words_that_touch() -> None:
    kinds = (Outcome("kept", "confirmed"), Outcome("late", "conditions"), Outcome("gone", "refuted"))
    rows = [
        Outcomes("a replicator with a name that is long enough for two lines", (60, 5, 3), "60 of 68 kept"),
        Outcomes("another", (0, 0, 1), "0 of 1 kept"),
    ]
    figure = outcomes(rows, kinds, provenance=PROVENANCE, title="How they ended", subtitle="One mark each.")
    assert (figure.wide.problems(), figure.phone.problems()) == ([], [])
    assert "60 kept, 5 late, 3 gone" in figure.description
    for svg in (figure.svg(), figure.svg(width=PHONE_WIDTH)):
        assert "60 of 68 kept" in svg


@pytest.mark.parametrize(
    ("rows", "says"),
    [([], "at least one row"), ([Outcomes("short", (1,), "")], r"short: \(1,\) for 2 outcomes")],
)
def test_rows_that_do_not_fit_are_refused(rows: list[Outcomes], says: str) -> None:
    kinds = (Outcome("kept", "confirmed"), Outcome("gone", "refuted"))
    with pytest.raises(ValueError, match=says):
        outcomes(rows, kinds, provenance=PROVENANCE, title="", subtitle="")
    with pytest.raises(ValueError, match="use confirmed"):
        Outcome("kept", "green")
