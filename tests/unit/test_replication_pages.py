"""What a page says of replicators follows from what their trials told: losses first, nothing where nothing is told."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gapbook.method.findings import Findings
from gapbook.model.plan import PlannedTrial
from gapbook.pages.losses.copies import _share, copies_of_all_table, copies_table
from gapbook.pages.losses.replication import (
    PublishedLine,
    memory_answer,
    memory_chart,
    metrics_table,
    strikes_table,
    writes_table,
)
from gapbook.pages.register.lines import claim_lines
from gapbook.trial.contestant import Contestant
from gapbook.trial.scenario import WorkloadSettings
from gapbook.trial.treatment import Treatment
from tests.unit import stored_runs as runs

_WORKLOAD = "counter-and-messages"


def _contestant(name: str, system: str, access: str = "sql", **settings: Any) -> Contestant:
    return Contestant(name, system, access, "in-process", "rust", 1, workload=_WORKLOAD, **settings)


_LOSSY = _contestant("lossy", "walsync")
_KEEPS = _contestant("keeps", "litestream", version="0.3.13")
_EACH = _contestant("each", "litestream", "sql-each", version="0.3.13")
_ALONE = _contestant("alone", "sqlite")
_SCENARIO = replace(
    runs.SCENARIO,
    contestants=(_LOSSY, _KEEPS, _EACH, _ALONE),
    workload=WorkloadSettings(_WORKLOAD, {"increment_share": 0.0}),
    treatment=Treatment.of("databases", _WORKLOAD, [1, 20]),
    connections=1,
    durability=runs.SCENARIO.durability.parse("none"),
)
_MIB = {"lossy": 12.0, "keeps": 30.0, "each": 600.0}


def _told(planned: PlannedTrial) -> dict[str, Any]:
    """What a trial of a replicator told; the engine alone tells nothing."""
    if planned.contestant == "alone":
        return {}
    lost = 40.0 if planned.contestant == "lossy" else 0.0

    def metric(value: float, unit: str) -> Mapping[str, Any]:
        return {"value": value, "unit": unit, "better": "lower"}

    memory = _MIB[planned.contestant]
    return {
        "rows lost": metric(lost, "rows"),
        "copies unusable": metric(0.0, "databases"),
        "restored whole": metric(0.0 if lost else 1.0, "of databases"),
        "RSS, idle": metric(memory, "MiB"),
        "PSS, idle": metric(memory / 3, "MiB"),
        "PSS, written": metric(memory / 2, "MiB"),
        "replicator CPU": metric(3.0, "% of a core"),
    }


@pytest.fixture(name="found", scope="module")
def _found(tmp_path_factory: pytest.TempPathFactory) -> Findings:
    return _shown(tmp_path_factory.mktemp("replication"), lambda _: True)


def _shown(
    folder: Path,
    counts: Callable[[PlannedTrial], bool],
    told: Callable[[PlannedTrial], dict[str, Any]] = _told,
) -> Findings:
    rows = []
    for planned in runs.planned_trials(3, _SCENARIO):
        if counts(planned):
            row = runs.valid(planned, 1000.0 if planned.contestant == "alone" else 900.0)
            rows.append({**row, "acknowledged": 400, "metrics": told(planned)})
        else:
            rows.append(runs.broken(planned))
    run = runs.store(folder / runs.CHAPTER, rows, scenario=_SCENARIO)
    return Findings(run, runs.CHAPTER)


def _cells(html: str) -> list[list[str]]:
    rows = re.findall(r"<tr>(.*?)</tr>", html)
    return [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in rows[1:]]


def test_who_lost_most_comes_first_and_who_told_nothing_is_not_there(found: Findings) -> None:
    table = _cells(copies_table(found, [("keeps", _KEEPS), ("lossy", _LOSSY), ("alone", _ALONE)]).html)
    assert [row[0] for row in table] == ["lossy", "lossy", "keeps", "keeps"]
    assert table[0][1:] == ["1 database", "3", "1,200", "120", "0", "0 %"]
    assert table[2][4:] == ["0", "0", "100 %"]


def test_one_row_of_a_replicator_adds_up_its_conditions(found: Findings) -> None:
    groups = [("lossy", [_LOSSY]), ("whole", [_KEEPS, _EACH]), ("alone", [_ALONE])]
    table = _cells(copies_of_all_table(found, groups).html)
    each = _cells(copies_table(found, [("keeps", _KEEPS), ("each", _EACH)]).html)
    trials = sum(int(row[2]) for row in each)
    assert table == [
        ["lossy", "0 %", "0 of 6", "0", "0"],
        ["whole", "100 %", f"{trials} of {trials}", "0", "0"],
    ]


def test_rows_are_lost_only_where_a_copy_could_be_read(tmp_path: Path) -> None:
    def told(planned: PlannedTrial) -> dict[str, Any]:
        known = _told(planned)
        fails = planned.contestant == "each" or (planned.contestant == "keeps" and planned.block == 0)
        if not known or not fails:
            return known
        changed = {"rows lost": 1001.0, "copies unusable": 1.0, "restored whole": 0.0}
        return known | {name: {**known[name], "value": value} for name, value in changed.items()}

    found = _shown(tmp_path, lambda planned: planned.treatment == 1, told)
    rows = [("keeps", _KEEPS), ("each", _EACH), ("lossy", _LOSSY), ("alone", _ALONE)]
    table = _cells(copies_table(found, rows).html)
    assert [[row[0], *row[4:6]] for row in table] == [
        ["each", "–", "3"],
        ["keeps", "0", "1"],
        ["lossy", "120", "0"],
    ]
    struck = _cells(strikes_table(found, rows).html)
    assert [[row[0], *row[2:5]] for row in struck] == [
        ["keeps", "2 of 3", "1", "0"],
        ["each", "0 of 3", "3", "–"],
        ["lossy", "0 of 3", "0", "40"],
    ]
    assert "No trial of this run has been restored" in strikes_table(found, [("alone", _ALONE)]).html


def test_the_answer_gives_each_count_and_says_what_the_copies_were_worth(found: Findings) -> None:
    answer = memory_answer(found, _LOSSY, _EACH, [_KEEPS], [_LOSSY, _KEEPS], published_at=[1, 20])
    text = re.sub(r"<[^>]+>", "", answer.html)
    assert text.startswith("walsync brought every row back in none of 6 trials. ")
    assert "rows had not" not in text
    assert "Every copy that Litestream 0.3.13 made was whole" in text
    assert text.index("in none of 6 trials") < text.index(
        "With 20 databases, one process of walsync for all takes 12.0"
    )
    assert re.search(r"Litestream 0\.3\.13 with a process for each takes 600 .*resident sets added up", text)
    assert re.search(r"one process takes: Litestream 0\.3\.13, 15\.0.*; walsync, 6\.00", text)
    assert "single trial" not in text
    assert [one.value.split()[0] for one in answer.cited] == ["12.0", "600", "15.0", "6.00"]


def test_tables_have_what_was_told_and_a_dash_for_what_was_not(found: Findings) -> None:
    table = _cells(
        metrics_table(
            found, [("lossy", _LOSSY), ("alone", _ALONE)], [("idle", "RSS, idle"), ("never", "restore")]
        ).html
    )
    assert [row[2].split()[0] for row in table] == ["12.0", "12.0", "–", "–"]
    assert {row[3] for row in table} == {"–"}
    counts = _cells(
        metrics_table(found, [("keeps", _KEEPS)], [("whole", "restored whole"), ("lost", "rows lost")]).html
    )
    assert counts[0][2].startswith("100 %")
    assert counts[0][2].endswith("of databases")
    assert counts[0][3] == "0"
    rates = _cells(writes_table(found, [("none", _ALONE, _ALONE), ("lossy", _LOSSY, _ALONE)]).html)
    assert [row[2].split()[0] for row in rates] == ["–", "–", "×0.900", "×0.900"]


@pytest.mark.parametrize(
    ("share", "told"),
    [
        (0, "0 %"),
        (1e-5, "0.1 %"),
        (0.004, "0.4 %"),
        (0.5, "50 %"),
        (0.998, "99.8 %"),
        (1 - 1e-5, "99.9 %"),
        (1, "100 %"),
    ],
)
def test_all_and_none_are_said_only_of_all_and_none(share: float, told: str) -> None:
    assert _share(share) == told


def test_the_chart_has_a_line_for_each_and_the_published_ones(found: Findings) -> None:
    printed = PublishedLine("litestream", {20: "walsync-memory-litestream-20db"})
    chart = memory_chart(
        found, [("lossy", _LOSSY), ("each", _EACH)], published={"published": printed}, title="One takes less"
    )
    assert chart.title == "One takes less"
    assert {row[0] for row in chart.table.rows} >= {"lossy", "each", "published"}


def test_claims_stand_beside_each_other_with_their_verdicts(found: Findings) -> None:
    lines = claim_lines(found, "walsync-memory-litestream-20db", "walsync-memory-walsync-20db").html
    assert lines.count("why this verdict") == 2
    assert lines.index("600 MB") < lines.index("12 MB")


def test_a_run_that_answers_nothing_says_so(tmp_path: Path) -> None:
    found = _shown(tmp_path, lambda planned: planned.contestant == "alone")
    rows = [("lossy", _LOSSY), ("each", _EACH)]
    assert "No trial of this run has been restored" in copies_table(found, rows).html
    assert "No trial of this run has been restored" in copies_of_all_table(found, [("lossy", [_LOSSY])]).html
    assert (
        "no valid trial" in memory_answer(found, _LOSSY, _EACH, [_KEEPS], [_LOSSY], published_at=[1, 20]).html
    )
    assert "No contestant has a valid trial" in memory_chart(found, rows).html
    assert {row[2] for row in _cells(metrics_table(found, rows, [("idle", "RSS, idle")]).html)} == {"–"}
