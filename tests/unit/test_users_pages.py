"""What the pages of a chapter over users show: each function in every shape of a run, and the numbers that it prints."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hdrh.histogram import HdrHistogram

from gapbook.charts import Figure
from gapbook.claims.closed_loop import Row
from gapbook.claims.quantities import quantity, quantity_name
from gapbook.errors import ParameterError
from gapbook.method.findings import Findings
from gapbook.model.plan import PlannedTrial
from gapbook.pages.answer import answer
from gapbook.pages.exhibits.client_share import client_share_table
from gapbook.pages.exhibits.comparisons import comparisons_chart
from gapbook.pages.exhibits.ladder import ladder_table
from gapbook.pages.exhibits.open_loop import open_loop_table
from gapbook.pages.exhibits.rates import retries_table
from gapbook.pages.exhibits.sweeps import best_table, depth_chart
from gapbook.pages.exhibits.users import users_chart
from gapbook.pages.first_screen import cite_panels
from gapbook.pages.losses.kills import kill_table
from gapbook.pages.proof.audited import audited
from gapbook.pages.proof.failures import failures_table
from gapbook.pages.proof.processor import processor_table
from gapbook.pages.provenance import method_words, provenance_parts
from gapbook.pages.rerun import rerun_panel
from gapbook.pages.sentence import sentence, times
from tests.unit import stored_runs as runs
from tests.unit import users_runs as users
from tests.unit.users_runs import ELSEWHERE, IN_RUST, ON_SCHEDULE, PUBLISHED_WAY

PUBLISHED = {"Somebody's": [Row(20, 244, 81.7), Row(500, 225, 2311)]}
ALL = (PUBLISHED_WAY, IN_RUST, ON_SCHEDULE, ELSEWHERE)
FUNCTIONS: dict[str, Callable[[Findings], Any]] = {
    "users_chart": lambda found: users_chart(found, ALL, published=PUBLISHED),
    "users_chart, a percentile": lambda found: users_chart(found, ALL, published=PUBLISHED, latency="p99"),
    "open_loop_table": lambda found: open_loop_table(found, ALL),
    "failures_table": lambda found: failures_table(found, ALL),
    "client_share_table": lambda found: client_share_table(found, [(IN_RUST, PUBLISHED_WAY)]),
}


def _some_refused() -> list[dict[str, Any]]:
    """One cell broke in every trial, another was refused in every trial by a gate."""
    made = []
    for planned in users.planned_trials():
        if (planned.contestant, planned.treatment) == ("as-published", 50.0):
            made.append(runs.broken(planned))
        elif planned.contestant == "on-schedule":
            made.append(_refused(planned))
        else:
            made.append(users.row(planned))
    return made


def _refused(planned: PlannedTrial) -> dict[str, Any]:
    gate = {"name": "failures", "passed": False, "value": 0.5, "limit": 0.001, "text": "half of all"}
    return users.row(
        planned,
        valid=False,
        refused_because="failures: half of all",
        gates=[gate],
        attempted=1000,
        failed={"error": 499, "timeout": 1},
        in_doubt=7,
        lost_connections=2,
    )


SHAPES: dict[str, Callable[[], list[dict[str, Any]]]] = {
    "whole": lambda: [users.row(planned) for planned in users.planned_trials()],
    "one block": lambda: [users.row(planned) for planned in users.planned_trials(1)],
    "holes": _some_refused,
    "all broken": lambda: [runs.broken(planned) for planned in users.planned_trials(2)],
}


@pytest.fixture(name="stored", scope="module")
def _stored(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Findings]:
    return {shape: users.shown(tmp_path_factory.mktemp("users"), make()) for shape, make in SHAPES.items()}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_nothing_fails_whatever_is_missing(stored: dict[str, Findings], name: str, shape: str) -> None:
    result = FUNCTIONS[name](stored[shape])
    if isinstance(result, Figure):
        assert (result.wide.problems(), result.phone.problems()) == ([], [])
    assert ">nan" not in result.html
    assert ">None" not in result.html


def _rows(html: str) -> dict[str, list[str]]:
    """The cells of each row by its first."""
    found = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in html.split("<tr>")[2:]]
    return {cells[0]: cells[1:] for cells in found}


# --- users ----------------------------------------------------------------------------------------


def test_the_chart_tells_rate_and_mean_latency_of_each_and_the_published_rows(
    stored: dict[str, Findings],
) -> None:
    figure = users_chart(stored["whole"], [PUBLISHED_WAY, ELSEWHERE], published=PUBLISHED)
    rows = set(figure.table.rows)
    assert ("elsewhere", "50", "mean latency", "4.00 [4.00–4.00] ms", "3") in rows
    assert ("elsewhere", "50", "goodput", "11,100 [11,100–11,100]/s", "3") in rows
    assert ("Somebody's, published", "500", "goodput", "225/s", "published") in rows
    assert ("Somebody's, published", "500", "mean latency", "2,311 ms", "published") in rows
    assert figure.title == "At 50 users, as-published does 20,000/s and elsewhere does 11,100/s"


def test_lines_and_title_are_called_what_the_author_calls_them(stored: dict[str, Findings]) -> None:
    figure = users_chart(
        stored["whole"], [PUBLISHED_WAY, ELSEWHERE], labels={ELSEWHERE.name: "another way"}, title="Flat"
    )
    assert {row[0] for row in figure.table.rows} == {PUBLISHED_WAY.name, "another way"}
    assert figure.title == "Flat"


def test_a_published_mean_is_not_drawn_as_a_percentile(stored: dict[str, Findings]) -> None:
    figure = users_chart(stored["whole"], [ELSEWHERE], published=PUBLISHED, latency="p50")
    assert {row[2] for row in figure.table.rows if row[4] == "published"} == {"goodput"}


# --- open loop ------------------------------------------------------------------------------------


def test_an_open_loop_is_told_from_when_requests_were_due_beside_the_same_in_a_closed_one(
    tmp_path: Path,
) -> None:
    late = HdrHistogram(1_000, 60_000_000_000, 3)
    late.record_value(40_000_000, 1000)
    encoded = late.encode().decode()
    found = users.shown(
        tmp_path,
        [
            users.row(planned, goodput_per_s=450.0, response_time_histogram=encoded)
            if planned.contestant == "on-schedule"
            else users.row(planned)
            for planned in users.planned_trials()
        ],
    )
    rows = _rows(open_loop_table(found, ALL).html)
    assert list(rows) == ["on-schedule, 1 user", "on-schedule, 50 users"]
    offered, done, of_it, p50, p99, closed, *service = rows["on-schedule, 50 users"]
    assert (offered, done, of_it) == ("500/s", "450 [450–450]/s", "90.0%")
    assert [float(text.removesuffix(" ms")) for text in (p50, p99)] == pytest.approx([40.0, 40.0], rel=0.01)
    in_rust = found.goodput("in-rust", 50.0)
    assert in_rust is not None
    assert closed == f"{in_rust.as_count()}/s"
    assert service == ["5.0 ms", "9.9 ms"]


def test_an_open_loop_without_its_closed_one_says_so(tmp_path: Path) -> None:
    found = users.shown(tmp_path)
    alone = [one for one in found.scenario.contestants if one.name != "in-rust"]
    found.scenario.contestants[:] = alone
    assert _rows(open_loop_table(found, [ON_SCHEDULE]).html)["on-schedule, 1 user"][5] == "not in this run"


# --- failures -------------------------------------------------------------------------------------


def test_failures_of_refused_trials_are_told_by_name_and_why_they_were_refused(
    stored: dict[str, Findings],
) -> None:
    rows = _rows(failures_table(stored["holes"], ALL).html)
    assert rows["on-schedule, 1 user"] == [
        "0 of 3",
        "3,000",
        "error 1,497 (50 %), timeout 3 (0.1 %)",
        "21",
        "6",
        "failures (3)",
    ]
    assert rows["as-published, 50 users"][:2] == ["0 of 3", "no report"]
    assert rows["as-published, 50 users"][-1] == "client gap-postgres: ended with code 4 (3)"
    assert rows["in-rust, 50 users"][2] == "none"


# --- the client's share ---------------------------------------------------------------------------


def test_what_a_user_spends_outside_requests_is_told_at_every_number_of_users(
    stored: dict[str, Findings],
) -> None:
    rows = _rows(client_share_table(stored["whole"], [(IN_RUST, PUBLISHED_WAY)]).html)
    for name in ("in-rust, 1 user", "in-rust, 50 users", "as-published, 50 users"):
        told = re.fullmatch(r"([\d.]+) \[.*\] ms", rows[name][4])
        assert told is not None
        assert float(told[1]) == pytest.approx(users.OUTSIDE_MS, abs=0.005)
        assert rows[name][3] == "25%"
    assert rows["rust ÷ typescript, 50 users"][0].startswith("×1.67")


def test_a_pair_that_differs_in_more_than_its_client_is_refused(stored: dict[str, Findings]) -> None:
    with pytest.raises(ParameterError, match="pair elsewhere and in-rust: differs in system too"):
        client_share_table(stored["whole"], [(ELSEWHERE, IN_RUST)])


# --- contestants that run at some values only -----------------------------------------------------


def test_what_was_not_to_be_run_is_no_gap_in_a_table_nor_in_an_answer(tmp_path: Path) -> None:
    made = [
        users.row(planned)
        for planned in users.planned_trials()
        if planned.contestant != "elsewhere" or planned.treatment > 1
    ]
    found = users.shown(tmp_path, made)
    assert list(_rows(failures_table(found, [ELSEWHERE, IN_RUST]).html)) == [
        "elsewhere, 50 users",
        "in-rust, 1 user",
        "in-rust, 50 users",
    ]
    answered = runs.answer_ratio(found, IN_RUST, ELSEWHERE)
    assert "1 user<" not in answered.html
    assert [one.quantity.rpartition(" at ")[2] for one in answered.cited] == ["50 users"]
    assert "no valid trial" not in ladder_table(found, [("rung", "in-rust", "elsewhere", {})]).html


# --- words ----------------------------------------------------------------------------------------


def test_a_page_calls_load_operations_and_audit_what_the_record_calls_them(
    stored: dict[str, Findings],
) -> None:
    found = stored["whole"]
    assert method_words(found).startswith(
        "Counter and messages, counters 1,000, increment share 0.7, message bytes 50, 1 to 50 users, 2 s windows."
    )
    assert audited(found).endswith(" operations")
    assert "1 to 50 users" in " · ".join(provenance_parts(found))
    everything = "".join(
        [
            answer(found, ("{over} {ratios} {operations} {under}", IN_RUST, ELSEWHERE)).html,
            cite_panels(found, sentence("It is {lead}.", lead=times(found, IN_RUST, ELSEWHERE))).html,
            comparisons_chart(found, [("pair", IN_RUST, ELSEWHERE)]).html,
            processor_table(found).html,
            retries_table(found).html,
            kill_table(found).html,
            depth_chart(found, [IN_RUST], [ELSEWHERE]).html,
            rerun_panel(found).html,
            method_words(found),
        ]
    )
    assert not re.search(r"transfer|account|balance|α|alpha", everything)


def test_comparisons_are_headed_by_the_ratio_that_is_farthest_from_one(stored: dict[str, Findings]) -> None:
    pairs = [("near", PUBLISHED_WAY, IN_RUST), ("far", ELSEWHERE, IN_RUST)]
    title = comparisons_chart(stored["whole"], pairs).title
    assert re.fullmatch(r"×0\.333 at (1 user|50 users): far", title)


@pytest.mark.parametrize("metric", ["client-cpu", "p99", "mean-latency"])
def test_comparisons_and_depths_are_drawn_of_any_metric(stored: dict[str, Findings], metric: str) -> None:
    found = stored["whole"]
    label = found.metric(metric).label
    pair = comparisons_chart(found, [("pair", ELSEWHERE, IN_RUST)], metric=metric)
    assert f"{label} of the first ÷ that of the second (log scale)" in pair.html
    depths = depth_chart(found, [IN_RUST], [ELSEWHERE], metric=metric)
    assert depths.title.startswith(f"Lowest {label}: ")
    table = best_table(found, [IN_RUST], [ELSEWHERE], metric=metric).html
    assert found.metric(metric).unit in table
    assert all(figure.phone.problems() == [] for figure in (pair, depths))


def test_a_test_of_a_rule_is_named_as_the_run_prints_its_treatment(stored: dict[str, Findings]) -> None:
    test = {"quantity": "ratio", "over": "in-rust@50", "under": "in-rust@1", "metric": "mean-latency"}
    assert quantity_name(test, stored["whole"]) == "mean latency, in-rust at 50 users ÷ in-rust at 1 user"
    assert quantity_name({**test, "under": "elsewhere@50"}, stored["whole"]) == (
        "mean latency, in-rust ÷ elsewhere, 50 users"
    )
    missing = quantity({**test, "over": "as-published@50"}, stored["holes"])
    assert missing == f"as-published at 50 users has no valid trial in run {stored['holes'].run.run_id}"
