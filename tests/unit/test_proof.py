"""The page of a chapter's trials: what stands on it, and how it leaves the chapter's own page."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gapbook.book.chapters import chapters
from gapbook.book.proof_pages import EVERY_TRIAL, trials_page, with_trials_pages, without_proof
from gapbook.method.findings import Findings
from gapbook.notebook_text import code_cells
from gapbook.pages.proof.page import Proof, proof
from gapbook.record.losses import BROKEN
from tests.unit import stored_runs as runs

_PAIR = [("engine", runs.SPACETIMEDB, runs.PROCEDURE)]
_BY_HAND = ("gates_chart", "refused_table", "systems_table", "warmth_table", "sessions_table", "let_in_table")


def _texts(found: Proof) -> dict[str, str]:
    """What stands below each heading."""
    return {one.title: "".join(part.__html__() for part in one.parts) for one in found.sections}


@pytest.mark.parametrize("make", [runs.whole, runs.patchy, runs.nothing_valid, runs.nothing_came_through])
def test_every_trial_of_the_record_stands_there_once_with_why_it_does_not_count(
    make: Any, tmp_path: Path
) -> None:
    rows = make()
    found = proof(Findings(runs.store(tmp_path, rows), runs.CHAPTER), _PAIR)
    shown = _texts(found)["Every trial"]
    numbers = re.findall(r'<tr><td class="gb-num">(\d+)</td>', shown)
    assert sorted(map(int, numbers)) == [row["trial"] + 1 for row in rows]
    valid = sum(row["valid"] for row in rows)
    assert len(re.findall("<td>yes", shown)) == valid
    assert shown.count("<td>no: ") == len(rows) - valid
    assert found.line.html.startswith(f'<p class="gb-proof">{valid} of {len(rows)} trials count: ')
    assert "nan" not in shown


def test_a_section_stands_only_where_the_record_has_something_to_show(tmp_path: Path) -> None:
    plain = Findings(runs.store(tmp_path / "plain", runs.whole()), runs.CHAPTER)
    rows = [row | {"session": row["block"]} for row in runs.patchy()]
    killed = Findings(
        runs.store(tmp_path / "killed", rows, kill_checks=[runs.kills(runs.SPACETIMEDB.name, 3000, BROKEN)]),
        runs.CHAPTER,
    )
    shown, more = (_texts(proof(found, _PAIR)) for found in (plain, killed))
    assert "Which chapters share these trials?" not in shown
    of_all = {"run": plain.run.run_id, "chapters": ["fair", runs.CHAPTER, "original"]}
    together = Findings(runs.store(tmp_path / "together", runs.whole(), measured_with=of_all), runs.CHAPTER)
    said = _texts(proof(together))["Which chapters share these trials?"]
    assert re.findall(r'href="([a-z]+)\.html"', said) == ["fair", "original"]
    of_kills, of_sessions = "Did servers keep what they had acknowledged?", "How much do the sessions differ?"
    assert not {of_kills, of_sessions} & shown.keys()
    assert BROKEN in more[of_kills]
    assert "session 3" in more[of_sessions]
    assert _texts(proof(killed)).keys() == more.keys() - {of_sessions}
    of_noise, none = "How much do equal trials differ?", runs.store(tmp_path / "none", runs.nothing_valid())
    assert of_noise not in _texts(proof(Findings(none, runs.CHAPTER)))
    noise = plain.trial_noise()
    assert noise is not None
    assert f"standard deviation of {noise.spread:.0%}" in shown[of_noise]


def test_a_contestant_that_the_run_left_out_is_in_no_table_and_stops_none(tmp_path: Path) -> None:
    scenario = replace(runs.SCENARIO, contestants=(runs.SPACETIMEDB, runs.DRIZZLE))
    rows = [row | {"session": row["block"]} for row in map(runs.valid, runs.planned_trials(2, scenario))]
    stored = runs.store(tmp_path, rows, scenario=scenario)
    found = Findings(stored, runs.CHAPTER, stated=runs.SCENARIO.recorded().contestants)
    shown = _texts(proof(found, [*_PAIR, ("ORM", runs.SPACETIMEDB, runs.DRIZZLE)]))
    assert runs.PROCEDURE.name not in "".join(shown.values())
    assert "not run" in shown["How much do the sessions differ?"]


def test_only_trials_that_one_gate_with_a_limit_refused_are_let_in(tmp_path: Path) -> None:
    def refused(planned: Any, **limits: float) -> dict[str, Any]:
        gates = [
            {"name": name, "passed": False, "value": 9.0, "limit": limit, "text": ""}
            for name, limit in limits.items()
        ]
        return runs.valid(planned) | {"valid": False, "refused_because": ", ".join(limits), "gates": gates}

    refusals = [{"alone": 0.2}, {"exact": 0.0}, {"first": 0.2, "second": 0.2}]
    rows = [
        refused(planned, **refusals[planned.block])
        if planned.contestant == runs.SPACETIMEDB.name and planned.treatment == 0
        else runs.valid(planned)
        for planned in runs.planned_trials(3)
    ]
    shown = _texts(proof(Findings(runs.store(tmp_path, rows), runs.CHAPTER), _PAIR))
    assert re.findall("refused for (.*?) alone", shown["Does a gate move a ratio?"]) == ["alone"]


def _notebook() -> dict[str, Any]:
    def shown(kind: str, text: str) -> dict[str, Any]:
        return {"output_type": "display_data", "metadata": {}, "data": {kind: [text]}}

    outputs = [
        shown("text/html", "<p>1 of 2</p>"),
        shown("text/markdown", "## Gates"),
        shown("text/html", "<p>all</p>"),
    ]
    proves = {
        "cell_type": "code",
        "execution_count": 1,
        "metadata": {"tags": ["remove-input", "proof"]},
        "source": ["proof(found)"],
        "outputs": outputs,
    }
    title = {"cell_type": "markdown", "metadata": {}, "source": ["# Is it fast?\n", "\n", "Perhaps."]}
    return {"cells": [title, proves], "metadata": {"kernelspec": {"name": "python3"}}, "nbformat": 4}


def test_proof_leaves_the_chapter_for_a_page_that_leads_back() -> None:
    notebook = _notebook()
    before = json.dumps(notebook)
    _, proves = without_proof(notebook["cells"])
    assert [output["data"] for output in proves["outputs"]] == [{"text/html": ["<p>1 of 2</p>"]}]
    page = trials_page("fair", notebook)
    assert page is not None
    head, gates, rest = page["cells"]
    assert head["source"] == "# Every trial: Is it fast?\n\nBack to the chapter: [Is it fast?](fair.ipynb)."
    assert gates["source"] == "## Gates"
    assert [output["data"] for output in rest["outputs"]] == [{"text/html": ["<p>all</p>"]}]
    assert json.dumps(notebook) == before
    assert trials_page("fair", {**notebook, "cells": notebook["cells"][:1]}) is None


def test_pages_of_trials_stand_below_one_page_in_the_order_of_their_chapters() -> None:
    fair, last = {"file": "notebooks/fair", "title": "Fair"}, {"file": "notebooks/last", "title": "Last"}
    contents = {"parts": [{"caption": "A", "chapters": [fair]}, {"caption": "B", "chapters": [last]}]}
    below = [
        {"file": "notebooks/fair-trials", "title": "Fair"},
        {"file": "notebooks/last-trials", "title": "Last"},
        {"file": "notebooks/mine-trials"},
    ]
    shown = with_trials_pages(contents, ["mine", "last", "fair"])
    assert shown["parts"][0] == contents["parts"][0]
    assert shown["parts"][1]["chapters"] == [last, {"file": EVERY_TRIAL, "sections": below}]
    assert with_trials_pages(contents, []) == contents


@pytest.mark.parametrize("chapter", chapters())
def test_a_chapter_ends_with_its_proof_and_writes_none_by_hand(chapter: str) -> None:
    cells = code_cells(chapter)
    assert cells[-1].startswith("from gapbook.pages.proof import proof\n\nproof(found")
    assert not [name for cell in cells for name in _BY_HAND if f"{name}(" in cell]
