"""Tables over sessions, long windows and processor time say what the rows hold."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gapbook.method.findings import Findings
from gapbook.pages.answer import answer
from gapbook.pages.exhibits.comparisons import comparisons_chart, comparisons_table
from gapbook.pages.exhibits.factors import residual_by_cores_table
from gapbook.pages.proof.processor import processor_table
from gapbook.pages.proof.sessions import sessions_table
from gapbook.pages.provenance import method_words
from gapbook.trial.contestant import Contestant
from tests.unit import stored_runs as runs
from tests.unit.stored_runs import PROCEDURE, SPACETIMEDB, SPACETIMEDB_RUST

PAIR = ("SpacetimeDB ÷ procedure", SPACETIMEDB, PROCEDURE)


def _row(planned: Any) -> dict[str, Any]:
    """SpacetimeDB does twice the procedure in the first session and three times in the second."""
    session = planned.block // 2
    rate = 1000.0 * (2 + session if planned.contestant == "spacetimedb" else 1)
    spent = {"client_cpu_s": 0.5, "tier_cpu_s": 0.0, "server_cpu_s": 1.0, "completed_in_window": 1000}
    return runs.valid(planned, rate, session=session, **spent)


@pytest.fixture(name="shown")
def _shown(tmp_path: Path) -> Findings:
    rows = [_row(planned) for planned in runs.planned_trials(4)]
    return Findings(runs.store(tmp_path, rows), runs.CHAPTER)


def test_each_session_has_its_ratio_and_their_distance(shown: Findings) -> None:
    text = sessions_table(shown, [PAIR]).html
    assert "session 1" in text
    assert "×2.00" in text
    assert "×3.00" in text
    assert "50%" in text
    over_blocks, over_sessions = text.split("<tr>")[2].split("</td>")[-3:-1]
    assert "×2.45 [" in over_blocks
    assert "×2.45 [0.1" in over_sessions
    assert "Intervals over blocks, here and elsewhere on this page, leave out" in text


def test_where_each_block_is_a_session_one_interval_is_printed(tmp_path: Path) -> None:
    rows = [runs.valid(planned, session=planned.block) for planned in runs.planned_trials(3)]
    text = sessions_table(Findings(runs.store(tmp_path, rows), runs.CHAPTER), [PAIR]).html
    assert "session 3" in text
    assert "over blocks" not in text
    assert "over sessions" in text
    assert "every interval on this page also holds what changes" in text


def test_a_session_that_one_of_a_pair_sat_out_has_no_ratio_because_it_was_not_run(tmp_path: Path) -> None:
    planned = [one for one in runs.planned_trials(3) if (one.contestant, one.block) != ("spacetimedb", 1)]
    rows = [
        runs.refused(one) | {"session": 2} if one.block == 2 else runs.valid(one, session=one.block)
        for one in planned
    ]
    text = sessions_table(Findings(runs.store(tmp_path, rows), runs.CHAPTER), [PAIR]).html
    told = text.split("<tr>")[2].split("</td>")
    assert [("not run" in cell, "no valid trial" in cell) for cell in told[1:4]] == [
        (False, False),
        (True, False),
        (False, True),
    ]


def test_a_run_without_sessions_is_one_session(tmp_path: Path) -> None:
    text = sessions_table(Findings(runs.store(tmp_path, runs.whole(2)), runs.CHAPTER), [PAIR]).html
    assert "session 1" in text
    assert "session 2" not in text
    assert "cannot tell what another would give" in text
    assert "over sessions" in text
    assert text.split("<tr>")[2].split("</td>")[-2].endswith("–")


def test_processor_time_is_for_each_transfer_of_the_window(shown: Findings) -> None:
    row = processor_table(shown).html.split("procedure, α = 0")[1].split("</tr>")[0]
    assert "500.0" in row
    assert "1,000.0" in row
    assert "–" in row


def test_what_the_hypervisor_took_is_told_where_it_is_more_than_a_neighbour_may_take(
    shown: Findings, tmp_path: Path
) -> None:
    assert "hypervisor" not in processor_table(shown).html
    taken_s = {"spacetimedb": 0.4}
    rows = [
        runs.valid(planned, steal_s=taken_s.get(planned.contestant, 0.0))
        for planned in runs.planned_trials(3)
    ]
    text = processor_table(Findings(runs.store(tmp_path, rows), runs.CHAPTER)).html
    assert "machine time taken by the hypervisor" in text
    assert "10 %" in text.split("spacetimedb, α = 0")[1].split("</tr>")[0]


def test_a_ratio_of_another_metric_is_told_and_cited_as_that(shown: Findings) -> None:
    answered = answer(
        shown,
        ("{over} took {ratios} as much for a {operation} as {under}.", SPACETIMEDB, PROCEDURE, "server-cpu"),
    )
    expected = shown.ratio(SPACETIMEDB.name, PROCEDURE.name, shown.treatments[0], "server-cpu")
    assert expected is not None
    assert answered.cited[0].value == expected.as_factor()
    assert "processor time of the server for each operation" in answered.cited[0].quantity
    assert "as much for a transfer as" in answered.html


def test_a_row_is_called_as_its_page_calls_it(shown: Findings) -> None:
    rows = processor_table(shown, {"procedure": "Postgres on"}).html
    assert "Postgres on, α = 0" in rows
    assert "procedure, α = 0" not in rows


def test_a_ratio_without_a_cell_is_not_measured(tmp_path: Path) -> None:
    found = Findings(runs.store(tmp_path, runs.nothing_came_through()), runs.CHAPTER)
    assert comparisons_table(found, [PAIR]).html.count("not measured") == 2


def test_a_residual_stands_beside_the_cores_that_both_servers_used(tmp_path: Path) -> None:
    used_s = {"spacetimedb": 3.0, "procedure": 1.0}
    rows = [
        runs.valid(planned, server_cpu_s=used_s.get(planned.contestant)) for planned in runs.planned_trials(3)
    ]
    shown = Findings(runs.store(tmp_path, rows), runs.CHAPTER)
    text = residual_by_cores_table(
        shown, [("all cores", SPACETIMEDB, PROCEDURE), ("Rust", SPACETIMEDB_RUST, PROCEDURE)]
    ).html
    first, second = (line for line in text.split("<tr>") if "α = 1.5" in line)
    # Windows are two seconds long.
    assert ">1.50<" in first
    assert ">0.50<" in first
    assert "not readable" in second
    assert "more than all cores" not in text
    # Two cores for two seconds: what server and client used together cannot be more than four.
    rows = [runs.valid(planned, server_cpu_s=3.9, client_cpu_s=0.5) for planned in runs.planned_trials(3)]
    busier = Findings(runs.store(tmp_path / "busier", rows), runs.CHAPTER)
    assert "come to 10 % more than all cores" in residual_by_cores_table(busier, [PAIR]).html


@pytest.mark.parametrize(("sessions", "words"), [(1, "in one session;"), (3, "in 3 sessions;")])
def test_a_picture_says_what_its_intervals_do_not_hold(tmp_path: Path, sessions: int, words: str) -> None:
    run = runs.store(tmp_path, runs.whole(2))
    method = method_words(
        Findings(
            replace(run, manifest=msgspec.structs.replace(run.manifest, sessions=sessions)), runs.CHAPTER
        )
    )
    assert words in method
    assert "do not hold what changes between sessions" in method


def test_a_title_says_what_differs_from_pair_to_pair(tmp_path: Path) -> None:
    strict = replace(PROCEDURE, name="strict", isolation="serializable")
    waits = replace(PROCEDURE, name="waits", durability="fsync-per-commit")
    scenario = replace(
        runs.SCENARIO, contestants=(*runs.CONTESTANTS, strict, waits), varies=("durability", "isolation")
    )
    every = runs.planned_trials(2, scenario)
    rates = {**runs.GOODPUT_PER_S, "strict": 6e3, "waits": 4e3}
    rows = [runs.valid(planned, rates[planned.contestant]) for planned in every]
    found = Findings(runs.store(tmp_path, rows, scenario=scenario), runs.CHAPTER)

    def title(*pairs: tuple[Contestant, Contestant]) -> str:
        return comparisons_chart(
            found, [(over.name + under.name, over, under) for over, under in pairs]
        ).title

    engine = (SPACETIMEDB, PROCEDURE)
    assert "what they promise" not in title(engine, (SPACETIMEDB, runs.DRIZZLE))
    assert ", by how both sides are called" in title(engine, (SPACETIMEDB, runs.DRIZZLE))
    for other, alone, beside in (
        (strict, "isolation", "isolation"),
        (waits, "what both sides promise", "what they promise"),
    ):
        assert f", by {alone}" in title(engine, (SPACETIMEDB, other))
        assert f", by how both sides are called, {beside} and how many want" in title(
            (SPACETIMEDB, runs.DRIZZLE), (SPACETIMEDB, other)
        )
    assert ", by the system, how it is called and how many want" in title((PROCEDURE, runs.SQL))
