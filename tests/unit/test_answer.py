"""An answer says who, how much and under which promise; what is cited is what is answered."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gapbook.charts import Gate
from gapbook.method.findings import Findings
from gapbook.model.plan import PlannedTrial
from gapbook.pages.answer import answer
from gapbook.pages.exhibits.comparisons import comparisons_chart, comparisons_table
from gapbook.pages.exhibits.contention import contention_chart
from gapbook.pages.exhibits.factors import answer_factors, interaction_chart
from gapbook.pages.exhibits.gap import waterfall
from gapbook.pages.exhibits.ladder import ladder_table
from gapbook.pages.exhibits.latencies import latency_chart
from gapbook.pages.losses.kills import kill_table
from gapbook.pages.proof.gates import _gate_cell
from gapbook.pages.proof.servers import systems_table
from gapbook.pages.provenance import provenance_parts
from gapbook.pages.who import who_table
from gapbook.record.losses import BROKEN
from gapbook.record.run import Run
from gapbook.record.tables import StoredGate
from gapbook.trial.contestant import Contestant
from tests.unit import stored_runs as runs
from tests.unit.stored_runs import DRIZZLE, PROCEDURE, SPACETIMEDB, SQL
from tests.unit.test_results import FACTORS, RESULTS

_NUMBER = re.compile(r'<strong class="gb-number">([^<]*)</strong>')


def digits(text: str) -> list[str]:
    return re.findall(r"\d[\d,.]*", text)


def answered(answer: str) -> list[list[str]]:
    """The numbers of an answer, each with its interval, in their order."""
    return [digits(html.unescape(number)) for number in _NUMBER.findall(answer)]


@pytest.fixture(name="whole", scope="module")
def _whole(tmp_path_factory: pytest.TempPathFactory) -> Findings:
    folder = tmp_path_factory.mktemp("runs") / runs.CHAPTER
    # No label: beyond a residual, cells of which a client is the limit are left out.
    rows = [runs.valid(planned, labels=[]) for planned in runs.planned_trials(3)]
    return Findings(runs.store(folder, rows), runs.CHAPTER)


@pytest.mark.parametrize("name", sorted(name for name in RESULTS if name.startswith("answer")))
def test_what_is_cited_is_what_is_answered(whole: Findings, name: str) -> None:
    said = RESULTS[name](whole)
    assert said.cited
    assert sorted(answered(said.html)) == sorted(digits(one.value) for one in said.cited)


def test_an_answer_names_systems_with_versions_and_what_an_exponent_means(whole: Findings) -> None:
    text = html.unescape(runs.answer_ratio(whole, SPACETIMEDB, DRIZZLE).html)
    assert "SpacetimeDB 1.0 committed" in text
    assert "times [" in text
    assert "as many transfers per second as Postgres 1.0 at α = 0, and " in text
    assert re.search(r"times( \[[^]]*\])?</strong> at α = 1.5\. ", text)
    assert "at 0, 2 % of transfers touch the busiest of 100 accounts; at 1.5," in text
    assert "delayed(500 ms) for both" in text
    assert "did not test it by killing" in text


def test_a_refuted_class_is_told_in_the_answer_and_not_called_equal(tmp_path: Path) -> None:
    checks = [
        runs.kills("drizzle", 0, "kept"),
        runs.kills("spacetimedb", 2071, "lost more than its class allows"),
    ]
    run = runs.store(tmp_path / runs.CHAPTER, runs.whole(), kill_checks=checks)
    text = html.unescape(runs.answer_ratio(Findings(run, runs.CHAPTER), SPACETIMEDB, DRIZZLE).html)
    assert "SpacetimeDB 1.0 lost 2,071 acknowledged transfers (2.07 s of work)" in text
    assert "the promises are not equal" in text
    table = html.unescape(kill_table(Findings(run, runs.CHAPTER), {"drizzle": "Postgres on"}).html)
    assert "<td>Postgres on</td>" in table


def test_kept_is_said_only_where_every_kill_of_both_was_resolved_and_took_nothing(tmp_path: Path) -> None:
    kept = [runs.kills(name, 0, "kept") for name in ("drizzle", "procedure")]
    # A kill of a contestant that is not compared says nothing of those that are.
    other = runs.kills("procedure-rust", 900, "lost 900 (within its class)")
    unresolved = runs.kills("procedure", 0, "not resolved") | {
        "lost": None,
        "lost_s": None,
        "resolved": False,
    }
    told = {}
    for name, checks in {
        "kept": [*kept, other],
        "one not killed": [kept[0], other],
        "one unresolved": [*kept, unresolved],
        "one lost": [*kept, runs.kills("procedure", 3, "lost 3 (within its class)")],
    }.items():
        run = runs.store(tmp_path / name / runs.CHAPTER, runs.whole(), kill_checks=checks)
        said = runs.answer_ratio(Findings(run, runs.CHAPTER), PROCEDURE, DRIZZLE).html
        told[name] = html.unescape(said)
        assert ("no kill of these servers took" in told[name]) is (name == "kept")
    for name in ("one not killed", "one unresolved"):
        assert "; 1 kill of each of the others under load took nothing, and whether Postgres (" in told[name]
        left_open = (
            told[name].partition(" and whether ")[2].partition(" lost something when killed is not known;")[0]
        )
        assert "procedure" in left_open
    assert (
        "killed under load from any of the clients, Postgres 1.0 lost up to 3 acknowledged transfers a kill "
        "(less than 0.01 s of work)" in told["one lost"]
    )


def test_a_server_that_a_kill_left_unreadable_is_told_and_nobody_kept_anything(tmp_path: Path) -> None:
    gone = {"lost": None, "lost_s": None, "recovered_in_s": None, "unreadable": True, "note": "bad page"}
    checks = [
        runs.kills("drizzle", 0, "kept"),
        runs.kills("procedure", 0, "kept"),
        runs.kills("procedure", 0, BROKEN) | gone,
    ]
    run = runs.store(tmp_path / runs.CHAPTER, runs.whole(), kill_checks=checks)
    text = html.unescape(runs.answer_ratio(Findings(run, runs.CHAPTER), PROCEDURE, SPACETIMEDB).html)
    assert (
        " Killed under load: Postgres 1.0 left nothing usable in 1 of 2 kills, which its class does not allow."
        in text
    )
    assert "no kill of these servers took" not in text
    assert "did not test it by killing" not in text


def test_a_loss_is_told_with_its_class_where_the_classes_differ(tmp_path: Path) -> None:
    waits = "fsync-per-commit"
    procedure_waits, drizzle_waits = (
        replace(one, name=f"{one.name}-waits", durability=waits) for one in (PROCEDURE, DRIZZLE)
    )
    scenario = replace(
        runs.SCENARIO,
        contestants=(PROCEDURE, DRIZZLE, procedure_waits, drizzle_waits),
        varies=("durability",),
    )
    rows = [runs.valid(planned, goodput_per_s=1e3) for planned in runs.planned_trials(3, scenario)]
    checks = [
        runs.kills("procedure", 300, "lost 300 (within its class)"),
        *(
            runs.kills(f"{name}-waits", 0, "kept") | {"durability": waits}
            for name in ("procedure", "drizzle")
        ),
    ]
    run = runs.store(tmp_path / runs.CHAPTER, rows, scenario=scenario, kill_checks=checks)
    said = answer(
        Findings(run, runs.CHAPTER),
        ("{over} did {ratios} of {under}.", procedure_waits, drizzle_waits),
        ("{over} did {ratios} of {under}.", PROCEDURE, DRIZZLE),
    )
    assert (
        "killed under load, servers with fsync-per-commit lost nothing in 1 kill of each and Postgres 1.0 "
        "(delayed(500 ms)) lost 300 acknowledged transfers (0.30 s of work)." in html.unescape(said.html)
    )


def test_losses_under_one_label_are_told_together_with_the_most_of_each(tmp_path: Path) -> None:
    on_one_core = replace(PROCEDURE, name="procedure-one", server_cores=1)
    scenario = replace(runs.SCENARIO, contestants=(PROCEDURE, on_one_core))
    rows = [runs.valid(planned, goodput_per_s=1e3) for planned in runs.planned_trials(3, scenario)]
    checks = [
        runs.kills("procedure", 300, "lost 300 (within its class)") | {"lost_s": 0.5},
        runs.kills("procedure-one", 400, "lost 400 (within its class)"),
    ]
    system = {"version": "1.0", "sha256": "a" * 64, "settings": {}}
    systems = {"postgres": system, "postgres (1 core)": system}
    run = runs.store(tmp_path / runs.CHAPTER, rows, scenario=scenario, kill_checks=checks, systems=systems)
    said = runs.answer_ratio(Findings(run, runs.CHAPTER), PROCEDURE, on_one_core)
    assert "Postgres 1.0 lost up to 400 acknowledged transfers a kill (0.50 s of work)." in said.html
    assert said.html.count("Postgres 1.0 lost") == 1


def test_losses_of_one_server_are_told_together_however_it_was_called(tmp_path: Path) -> None:
    checks = [
        runs.kills("procedure", 300, "lost 300 (within its class)") | {"lost_s": 0.5},
        runs.kills("procedure-rust", 400, "lost 400 (within its class)"),
    ]
    run = runs.store(tmp_path / runs.CHAPTER, runs.whole(), kill_checks=checks)
    said = runs.answer_ratio(Findings(run, runs.CHAPTER), PROCEDURE, SPACETIMEDB)
    assert (
        "killed under load from any of the clients, Postgres 1.0 lost up to 400 acknowledged transfers a kill "
        "(0.50 s of work)." in said.html
    )


def test_of_several_losses_the_first_says_what_is_counted(tmp_path: Path) -> None:
    checks = [
        runs.kills("spacetimedb", 400, "lost 400 (within its class)"),
        runs.kills("drizzle", 300, "lost 300 (within its class)"),
    ]
    run = runs.store(tmp_path / runs.CHAPTER, runs.whole(), kill_checks=checks)
    said = runs.answer_ratio(Findings(run, runs.CHAPTER), SPACETIMEDB, DRIZZLE)
    assert (
        "killed under load, SpacetimeDB 1.0 lost 400 acknowledged transfers (0.40 s of work) "
        "and Postgres 1.0 lost 300 (0.30 s)." in html.unescape(said.html)
    )


def test_a_chart_of_ratios_says_who_is_ahead(tmp_path: Path) -> None:
    found = Findings(runs.store(tmp_path / runs.CHAPTER, runs.whole(2)), runs.CHAPTER)

    def ahead(*pairs: tuple[Contestant, Contestant]) -> str:
        drawn = comparisons_chart(found, [(f"row {row}", *pair) for row, pair in enumerate(pairs)]).html
        (said,) = set(re.findall("Right of ×1, (.*?) makes more", drawn))
        return str(said)

    assert ahead((SPACETIMEDB, DRIZZLE), (SPACETIMEDB, PROCEDURE)) == "SpacetimeDB"
    assert ahead((PROCEDURE, DRIZZLE)) == "the first of the two named"
    assert ahead((SPACETIMEDB, DRIZZLE), (PROCEDURE, DRIZZLE)) == "the first of the two named"


def test_a_jam_gets_a_word_and_no_number(tmp_path: Path) -> None:
    # Eight are in flight, one on each connection, for half a second of warm-up and two of window.
    def rate_per_s(planned: PlannedTrial) -> float:
        return 3.0 if (planned.contestant, planned.treatment) == (DRIZZLE.name, 1.5) else 300.0

    rows = [runs.valid(planned, rate_per_s(planned)) for planned in runs.planned_trials(3)]
    found = Findings(runs.store(tmp_path / runs.CHAPTER, rows), runs.CHAPTER)
    said = runs.answer_ratio(found, PROCEDURE, DRIZZLE)
    assert "At α = 1.5 Postgres 1.0 jams: no ratio." in said.html
    assert said.html.count("fewer requests are answered in the 2.5 s of a trial than are in flight") == 1
    assert [one.value for one in said.cited] == ["×1.00 [1.00–1.00]"]
    assert "jam" not in runs.answer_ratio(found, PROCEDURE, SPACETIMEDB).html
    pair = ("both", PROCEDURE, DRIZZLE)
    chart = comparisons_chart(found, [pair])
    shown = [
        chart.title,
        chart.html,
        comparisons_table(found, [pair]).html,
        ladder_table(found, [("both", PROCEDURE.name, DRIZZLE.name, {})]).html,
        *(one.value for one in said.cited),
    ]
    assert not [text for text in shown if "×100" in text]
    told = [
        {
            row[1].endswith("one of the two jams")
            for row in interaction_chart(found, FACTORS, at).table.rows[1:2]
        }
        for at in (0.0, 1.5)
    ]
    assert told == [{False}, {True}]


@pytest.mark.parametrize(
    ("rates_per_s", "told"),
    [((100, 101, 102), True), ((100, 101), False), ((100, 180, 420), False)],
    ids=["narrow", "two blocks", "wider than times or divided by 2"],
)
def test_what_tells_too_little_is_in_no_answer_and_no_title_of_a_published_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rates_per_s: Sequence[float], told: bool
) -> None:
    def rate_per_s(planned: PlannedTrial) -> float:
        return rates_per_s[planned.block] if planned.contestant == SPACETIMEDB.name else 100.0

    rows = [runs.valid(planned, rate_per_s(planned)) for planned in runs.planned_trials(len(rates_per_s))]
    found = Findings(runs.store(tmp_path / runs.CHAPTER, rows), runs.CHAPTER)
    pair = ("pair", SPACETIMEDB, DRIZZLE)

    def named() -> list[bool]:
        return [
            bool(runs.answer_ratio(found, SPACETIMEDB, DRIZZLE).cited),
            "×" in comparisons_chart(found, [pair]).title,
        ]

    # A reader's own run may be short: what it has is told for what it is worth.
    assert named() == [True, True]
    monkeypatch.setattr(Run, "published", True)
    assert named() == [told, told]


@pytest.mark.parametrize("stores", [True, False])
def test_durability_is_told_only_of_what_stores_something(tmp_path: Path, stores: bool) -> None:
    recorded = runs.SCENARIO.recorded()
    recorded = msgspec.structs.replace(
        recorded, workload=msgspec.structs.replace(recorded.workload, stores=stores)
    )
    run = runs.store(tmp_path / runs.CHAPTER, runs.whole(), recorded=recorded)
    found = Findings(run, runs.CHAPTER)
    said = runs.answer_ratio(found, PROCEDURE, DRIZZLE)
    told = [
        said.html,
        "; ".join(provenance_parts(found)),
        who_table(found, [("a procedure", PROCEDURE)]).html,
    ]
    assert ["durability" in text.lower() for text in told] == [stores] * len(told)
    assert ("Nothing is stored" in said.html) is not stores


def test_an_answer_without_a_number_says_so_and_cites_nothing(tmp_path: Path) -> None:
    found = Findings(runs.store(tmp_path / runs.CHAPTER, runs.nothing_valid()), runs.CHAPTER)
    for name in ("answer_ratio", "answer_contention", "answer_factors"):
        said = RESULTS[name](found)
        assert "Not answered by this run" in said.html
        assert said.cited == ()
        assert answered(said.html) == []


@pytest.mark.parametrize(("slower", "told"), [(1.02, False), (40.0, True)])
def test_a_number_that_says_next_to_nothing_is_told_with_that(
    tmp_path: Path, slower: float, told: bool
) -> None:
    """Two blocks that disagree, by less and by more than anybody could read an answer from."""
    rows = [
        runs.valid(planned, 100.0 if planned.contestant == DRIZZLE.name and planned.block else 100.0 * slower)
        for planned in runs.planned_trials(2)
    ]
    found = Findings(runs.store(tmp_path / runs.CHAPTER, rows), runs.CHAPTER)
    said = answer(found, ("{over} committed {ratios} as many as {under}.", SPACETIMEDB, DRIZZLE))
    assert ("That rests on 2 blocks alone and says next to nothing." in said.html) is told


@pytest.mark.parametrize(
    ("ahead", "told"),
    [
        ({0.0: 2.0, 1.5: 2.0}, ""),
        ({0.0: 1.0, 1.5: 1.0}, " This run cannot tell the two apart."),
        ({0.0: 2.0, 1.5: 1.0}, " At α = 1.5 this run cannot tell the two apart."),
    ],
)
def test_an_interval_that_holds_one_is_said_to_tell_no_difference(
    tmp_path: Path, ahead: dict[float, float], told: str
) -> None:
    rows = [
        runs.valid(
            planned,
            (100.0 + planned.block % 2) * ahead[planned.treatment]
            if planned.contestant == SPACETIMEDB.name
            else 100.5,
        )
        for planned in runs.planned_trials(4)
    ]
    found = Findings(runs.store(tmp_path / runs.CHAPTER, rows), runs.CHAPTER)
    text = answer(found, ("{over} committed {ratios} as many as {under}.", SPACETIMEDB, DRIZZLE)).html
    assert "".join(re.findall(r" (?:This|At \S+ = \S+ this) run cannot tell the two apart\.", text)) == told


def test_what_a_run_never_planned_is_said_last_and_once(whole: Findings) -> None:
    newer = replace(SPACETIMEDB, name="newer", version="2.8.3")
    sentence = "{over} committed {ratios} as many as {under}."
    stated = Findings(whole.run, runs.CHAPTER, stated=[runs.SCENARIO.recorded_of(newer)])
    said = answer(
        stated, (sentence, newer, DRIZZLE), (sentence, newer, SQL), (sentence, SPACETIMEDB, DRIZZLE)
    )
    text = html.unescape(said.html)
    assert text.count(f"Not in this run: {stated.contestant(newer).full_label}.") == 1
    assert text.index("SpacetimeDB 1.0 committed") < text.index("Not in this run")
    assert len(said.cited) == 2


def test_a_residual_is_never_told_without_its_range_over_orders(whole: Findings) -> None:
    text = answer_factors(whole, FACTORS, "{residual}").html
    assert (
        len(re.findall(r"\(×[\d.]+ to ×[\d.]+ over orders of the steps\)", text)) == len(answered(text)) > 0
    )
    titles = [waterfall(whole, FACTORS, value).title for value in whole.treatments]
    assert all(
        re.search(
            r"engine residual ×[\d.]+ \(×[\d.]+ to ×[\d.]+ over orders of the steps\)", one, re.IGNORECASE
        )
        for one in titles
    )


def test_a_title_of_a_published_run_gives_no_value_of_two_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A short live run of the reader's does: it has few blocks by its purpose."""
    rows = [runs.valid(one, labels=[]) for one in runs.planned_trials(2)]
    found = Findings(runs.store(tmp_path / runs.CHAPTER, rows), runs.CHAPTER)
    titles: tuple[Callable[[], str], ...] = (
        lambda: waterfall(found, FACTORS, 1.5).title,
        lambda: contention_chart(found, [DRIZZLE, SPACETIMEDB]).title,
        lambda: latency_chart(found, 1.5, [DRIZZLE, SPACETIMEDB]).title,
    )
    at = found.at(1.5)
    assert all(re.search(r"\d", title().replace(at, "")) for title in titles[:2])
    monkeypatch.setattr(Run, "published", True)
    assert not any(re.search(r"\d", title().replace(at, "")) for title in titles)


def test_a_gap_that_is_not_the_ratio_of_tables_says_why(tmp_path: Path) -> None:
    rows = [runs.valid(one, labels=[]) for one in runs.planned_trials(4)]
    for row in rows:
        # The last block is three times as fast, and SQL far more: without its end it tells the fit else.
        row["goodput_per_s"] *= (1 + row["block"]) * (1 + row["block"] * (row["contestant"] == "sql"))
        if (row["contestant"], row["block"]) == ("drizzle", 3):
            row |= {"valid": False, "refused_because": "quiet machine: 40 % by others"}
    found = Findings(runs.store(tmp_path / runs.CHAPTER, rows), runs.CHAPTER)
    parts = found.decompose(FACTORS, 1.5)
    start, end = found.end(FACTORS, "before"), found.end(FACTORS, "after")
    assert parts is not None
    assert start is not None
    assert end is not None
    paired = found.ratio(end.name, start.name, 1.5)
    assert paired is not None
    assert f"{paired.estimate:.3g}" != f"{parts.gap.estimate:.3g}"
    assert "Fitted to every valid trial" in waterfall(found, FACTORS, 1.5).html.replace("\u00a0", " ")


# --- gates and servers --------------------------------------------------------------------------
def gate(passed: bool | None, value: float | None) -> StoredGate:
    return StoredGate(name="steady", passed=passed, value=value, limit=0.2, text="")


def test_a_gate_that_was_not_assessed_is_never_drawn_as_passed() -> None:
    # Records from before gates had three states hold True with no value.
    for passed in (None, True):
        cell = _gate_cell("steady", [gate(passed, None)] * 3)
        assert (cell.state, cell.passed, cell.unassessed, cell.worst) == ("unassessed", 0, 3, "not assessed")
    some = _gate_cell("steady", [gate(True, 0.1), gate(None, None)])
    assert (some.state, some.passed, some.unassessed, some.count) == ("refused none", 1, 1, "1 of 1")
    assert _gate_cell("steady", [gate(False, 0.4), gate(None, None)]).state == "refused all"
    assert _gate_cell("steady", [gate(False, 0.4), gate(True, 0.1)]).state == "refused some"
    assert _gate_cell("reconciled", [gate(False, None)]).state == "refused all"


@pytest.mark.parametrize(("state", "passed"), [("refused none", 0), ("unassessed", 1)])
def test_a_gate_cannot_be_stated_otherwise(state: Any, passed: int) -> None:
    with pytest.raises(ValueError, match=r"not assessed|cannot have passed"):
        Gate("steady", "", "", (), 0.2, passed, 3, state, 3)


def test_a_server_in_between_says_its_settings_once(tmp_path: Path) -> None:
    rows = [
        runs.valid(planned, settings={"fsync": "on", "tier: node": "24", "tier: seen": str(planned.block)})
        if planned.contestant == DRIZZLE.name
        else runs.valid(planned)
        for planned in runs.planned_trials(2)
    ]
    table = systems_table(Findings(runs.store(tmp_path / runs.CHAPTER, rows), runs.CHAPTER)).html
    of_tier = table.split(f"in front of Postgres: {DRIZZLE.tier}, 2 rows")[1].split("</table>")[0]
    assert re.findall(r"<td>(.*?)</td>", of_tier) == ["24", "0 or 1"]


def test_servers_say_how_they_were_built_and_who_is_absent(tmp_path: Path) -> None:
    system = {"version": "2.8.3", "sha256": "b" * 64, "settings": {"fsync": "16384"}, "built": "cargo build"}
    run = runs.store(
        tmp_path / runs.CHAPTER,
        runs.whole(),
        systems={"spacetimedb 2.8.3": system},
        absent={"spacetimedb-3": "no binary <of it>"},
    )
    table = systems_table(Findings(run, runs.CHAPTER)).html
    for text in ("cargo build", "spacetimedb-3", "not measured here", "no binary &lt;of it&gt;", "16384"):
        assert text in table
    assert "gb-num" not in table
