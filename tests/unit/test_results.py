"""Every result of a run with holes says what is missing, and none of them fails."""

from __future__ import annotations

import inspect
import pkgutil
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from gapbook.charts import Figure
from gapbook.method.factors import Factor
from gapbook.method.findings import Findings
from gapbook.method.summary import read_summary, summary_of
from gapbook.pages import exhibits
from gapbook.pages.answer import answer
from gapbook.pages.caveats import warmth_caveat
from gapbook.pages.exhibits.calibration import calibration_chart, omission_table
from gapbook.pages.exhibits.comparisons import comparisons_chart, comparisons_table
from gapbook.pages.exhibits.contention import answer_contention, contention_chart, hot_key_table, redraw_table
from gapbook.pages.exhibits.elsewhere import residual_elsewhere
from gapbook.pages.exhibits.factors import (
    answer_factors,
    effects_table,
    factors_table,
    infeasible_table,
    interaction_chart,
    interactions_table,
    order_range,
    residual_by_cores_table,
)
from gapbook.pages.exhibits.flaws import (
    answer_counts,
    batch_table,
    counts_chart,
    flaws_table,
    metrics_table,
    unwritten_table,
)
from gapbook.pages.exhibits.gap import waterfall
from gapbook.pages.exhibits.ladder import ladder_table
from gapbook.pages.exhibits.latencies import latency_chart
from gapbook.pages.exhibits.rates import catch_up_table, goodput_table, retries_table
from gapbook.pages.exhibits.sweeps import best_table, depth_chart, lines_chart
from gapbook.pages.exhibits.travelled import travelled
from gapbook.pages.exhibits.windows import long_windows_table
from gapbook.pages.first_screen import cite_panels, first_screen, own_run_banner, provenance_line, run_buttons
from gapbook.pages.glued import glue
from gapbook.pages.losses.kills import kill_table
from gapbook.pages.page import refused_table
from gapbook.pages.proof.audited import audited, uncounted
from gapbook.pages.proof.gates import gates_chart
from gapbook.pages.proof.page import proof
from gapbook.pages.proof.processor import processor_table
from gapbook.pages.proof.servers import systems_table
from gapbook.pages.proof.sessions import sessions_table
from gapbook.pages.proof.warmth import warmth_table
from gapbook.pages.provenance import provenance_parts, run_facts
from gapbook.pages.register.lines import claim_and_verdict, claim_line, claim_lines
from gapbook.pages.rerun import rerun_panel
from gapbook.pages.sentence import Said, sentence, times
from gapbook.record.run import Run
from tests.unit import stored_runs as runs
from tests.unit.stored_runs import DRIZZLE, PROCEDURE, PROCEDURE_RUST, REPLAYED, SPACETIMEDB, SPACETIMEDB_RUST

FACTORS = (
    Factor("ORM", "access", "Drizzle", "SQL statements", "wire"),
    Factor("Round trips", "access", "SQL statements", "one call", "wire"),
    Factor("Load client", "client", "typescript", "rust", "stack"),
    Factor("Engine residual", "system", "postgres", "spacetimedb", "residual"),
)
CLAIM = "keynote-headline-14x"
SHAPES: dict[str, Callable[[], list[dict[str, Any]]]] = {
    "whole": runs.whole,
    "one block": lambda: runs.whole(1),
    "holes": runs.patchy,
    "all refused by a gate": runs.nothing_valid,
    "all broken": runs.nothing_came_through,
}
RESULTS: dict[str, Callable[[Findings], Any]] = {
    "answer_contention": lambda e: answer_contention(
        e, ("grows by {factor}: {over} {kept_over}, {under} {kept_under}", SPACETIMEDB, PROCEDURE)
    ),
    "answer_factors": lambda e: answer_factors(e, FACTORS, "{over} {whole} {under}, {residual}"),
    "answer": lambda e: answer(
        e, ("{over} {ratios}.", SPACETIMEDB, DRIZZLE), ("{ratios}", DRIZZLE, PROCEDURE)
    ),
    "answer_counts": lambda e: answer_counts(
        e, 1.5, "{answers} and {bytes}", answers=(SPACETIMEDB, "answered"), bytes=(DRIZZLE, "written")
    ),
    "answer_ratio": lambda e: runs.answer_ratio(e, SPACETIMEDB, DRIZZLE, "It is {ratios}."),
    "audited": lambda e: audited(e),
    "own_run_banner": lambda e: own_run_banner(e),
    "batch_table": lambda e: batch_table(e, REPLAYED, 0.0),
    "best_table": lambda e: best_table(e, [SPACETIMEDB, SPACETIMEDB_RUST], [PROCEDURE, PROCEDURE_RUST]),
    "run_buttons": lambda e: run_buttons(e),
    "catch_up_table": lambda e: catch_up_table(e),
    "cite_panels": lambda e: cite_panels(e, sentence("It is {lead}.", lead=times(e, SPACETIMEDB, DRIZZLE))),
    "claim_and_verdict": lambda e: claim_and_verdict(e, CLAIM),
    "claim_line": lambda e: claim_line(e, CLAIM),
    "claim_lines": lambda e: claim_lines(e, CLAIM, CLAIM),
    "depth_chart": lambda e: depth_chart(e, [PROCEDURE, PROCEDURE_RUST], [SPACETIMEDB, SPACETIMEDB_RUST]),
    "contention_chart": lambda e: contention_chart(e, [DRIZZLE, PROCEDURE, SPACETIMEDB], PROCEDURE),
    "calibration_chart": lambda e: calibration_chart(e, [], [], FACTORS, []),
    "counts_chart": lambda e: counts_chart(
        e, [("answers", SPACETIMEDB, "answered"), ("flaw", REPLAYED, "with")], title="T"
    ),
    "effects_table": lambda e: effects_table(e, FACTORS),
    "factors_table": lambda e: factors_table(e, FACTORS),
    "flaws_table": lambda e: flaws_table(e, 0.0),
    "gates_chart": lambda e: gates_chart(e),
    "run_facts": lambda e: run_facts(e),
    "goodput_table": lambda e: goodput_table(e, "drizzle", "procedure", "spacetimedb"),
    "hot_key_table": lambda e: hot_key_table(e, ["drizzle", "procedure"]),
    "infeasible_table": lambda e: infeasible_table([("cell", "reason")]),
    "interaction_chart": lambda e: [interaction_chart(e, FACTORS, alpha) for alpha in e.treatments],
    "interactions_table": lambda e: interactions_table(e, FACTORS),
    "kill_table": lambda e: kill_table(e),
    "ladder_table": lambda e: ladder_table(
        e, [("engine", "spacetimedb", "procedure", {("spacetimedb", 0.0): CLAIM, ("procedure", 0.0): CLAIM})]
    ),
    "latency_chart": lambda e: [latency_chart(e, alpha) for alpha in e.treatments],
    "lines_chart": lambda e: [
        lines_chart(
            e,
            {"Drizzle": [(0.0, "drizzle"), (1.0, "procedure")], "engine": [(1.0, "spacetimedb")]},
            x_label="added round trip, ms",
            title="Distance",
            treatment=alpha,
            log_x=True,
        )
        for alpha in e.treatments
    ],
    "metrics_table": lambda e: metrics_table(e),
    "omission_table": lambda e: omission_table(e, [DRIZZLE, PROCEDURE]),
    "order_range": lambda e: [order_range(e, FACTORS, one.name, at=1.5) for one in FACTORS],
    "provenance_line": lambda e: provenance_line(e),
    "provenance_parts": lambda e: " · ".join(provenance_parts(e)),
    "redraw_table": lambda e: redraw_table(e),
    "proof": lambda e: [
        part for one in proof(e, [("engine", SPACETIMEDB, PROCEDURE)]).sections for part in one.parts
    ],
    "rerun_panel": lambda e: rerun_panel(e),
    "residual_by_cores_table": lambda e: residual_by_cores_table(
        e, [("TypeScript", SPACETIMEDB, PROCEDURE), ("Rust", SPACETIMEDB_RUST, PROCEDURE_RUST)]
    ),
    "long_windows_table": lambda e: long_windows_table(e, [(PROCEDURE, PROCEDURE_RUST)]),
    "processor_table": lambda e: processor_table(e),
    "comparisons_chart": lambda e: comparisons_chart(e, [("engine", SPACETIMEDB, PROCEDURE)]),
    "comparisons_table": lambda e: comparisons_table(e, [("engine", SPACETIMEDB, PROCEDURE)]),
    "sessions_table": lambda e: sessions_table(e, [("engine", SPACETIMEDB, PROCEDURE)]),
    "residual_elsewhere": lambda e: residual_elsewhere(e, FACTORS, at=e.treatments[0]),
    "retries_table": lambda e: retries_table(e),
    "systems_table": lambda e: systems_table(e),
    "travelled": lambda e: travelled(e, FACTORS, e.treatments[0]),
    "uncounted": lambda e: uncounted(e),
    "unwritten_table": lambda e: unwritten_table(e, [DRIZZLE, PROCEDURE], 1.5),
    "warmth_caveat": lambda e: warmth_caveat(e, DRIZZLE, SPACETIMEDB),
    "warmth_table": lambda e: warmth_table(e),
    "waterfall": lambda e: [
        *(waterfall(e, FACTORS, alpha) for alpha in e.treatments),
        waterfall(e, FACTORS, e.treatments[0], then=("Contention", e.treatments[-1])),
    ],
}


# Those that need a plant, a notebook, a folder to write to or a run of their own, and parts of those that are here.
ELSEWHERE = {
    "answer_calibration",
    "answer_of_pair",
    "answered_at",
    "between_sessions",
    "calibration_facts",
    "caveats",
    "cited_contrast",
    "cited_value",
    "client_share_table",
    "colocation_line",
    "cores_together",
    "each_block_is_a_session",
    "first_screen",
    "fixed_work_table",
    "footprint_table",
    "glue",
    "histograms_of",
    "lacking",
    "labels_with_class",
    "level_words",
    "line_axis",
    "line_point",
    "method_of_marks",
    "method_words",
    "open_loop_table",
    "parameters_of",
    "planted_factors_table",
    "promises_of",
    "provenance",
    "ratios_table",
    "reach_note",
    "reached",
    "read_with",
    "tell_sentence",
    "truth_table",
    "users_chart",
    "version_of",
    "versioned_label",
    "watched_table",
    "windows_table",
}
_MODULES = (
    "answer",
    "caveats",
    "citation",
    "first_screen",
    "glued",
    "losses.kills",
    "promises",
    "proof.audited",
    "proof.gates",
    "proof.processor",
    "proof.servers",
    "proof.sessions",
    "proof.warmth",
    "provenance",
    "register.lines",
    "rerun",
    "versions",
)


def test_no_result_is_left_out() -> None:
    names = [f"exhibits.{one.name}" for one in pkgutil.iter_modules(exhibits.__path__)]
    modules = [import_module(f"gapbook.pages.{name}") for name in (*_MODULES, *names)]
    over_findings = {
        name
        for module in modules
        for name, member in inspect.getmembers(module, inspect.isfunction)
        if member.__module__ == module.__name__
        and not name.startswith("_")
        and member.__annotations__.get("found") == "Findings"
    }
    assert over_findings - ELSEWHERE <= RESULTS.keys()


@pytest.fixture(name="stored", scope="module")
def _stored(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    return {
        shape: runs.store(tmp_path_factory.mktemp("runs") / runs.CHAPTER, make())
        for shape, make in SHAPES.items()
    }


def shown(stored: dict[str, Run], shape: str) -> Findings:
    return Findings(stored[shape], runs.CHAPTER)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", RESULTS)
def test_no_result_fails(stored: dict[str, Run], name: str, shape: str) -> None:
    result = RESULTS[name](shown(stored, shape))
    for one in result if isinstance(result, list) else [result]:
        if isinstance(one, Figure):
            assert (one.wide.problems(), one.phone.problems()) == ([], [])
        text = one.html if isinstance(one, Figure) else str(one)
        assert ">nan" not in text
        assert "None" not in text or one is None


@pytest.mark.parametrize("shape", SHAPES)
def test_the_first_screen_stands_whatever_is_missing(
    stored: dict[str, Run], shape: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GAPBOOK_BUILD", str(tmp_path))
    found = shown(stored, shape)
    screen = first_screen(
        found,
        claim=CLAIM,
        sentence=sentence("It does {a} times as many.", a=times(found, SPACETIMEDB, DRIZZLE, at=1.5)),
        conditions="Nobody waits.",
        picture=comparisons_chart(found, [("engine", SPACETIMEDB, DRIZZLE)]),
        in_full=runs.answer_ratio(found, SPACETIMEDB, DRIZZLE, "It is {ratios}."),
    )
    answers = "times as many" in screen.html.partition('gb-sentence">')[2].partition("</p>")[0]
    assert answers != ('gb-sentence">Not answered by this run' in screen.html)
    assert answers == ("Nobody waits." in screen.html)
    assert found.run.run_id in screen.html
    (small,) = tmp_path.rglob("compare.json")
    assert f"{found.run.run_id}/compare.json" in screen.html
    assert read_summary(small) == summary_of(found.run)
    assert "Read it" not in screen.html


def test_a_first_screen_leads_to_what_its_sentence_speaks_of(
    stored: dict[str, Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GAPBOOK_BUILD", str(tmp_path))
    found = shown(stored, "whole")
    screen = first_screen(
        found,
        sentence=sentence("It does {a} times as many.", a=times(found, SPACETIMEDB, DRIZZLE, at=1.5)),
        conditions="Nobody waits.",
        picture=comparisons_chart(found, [("engine", SPACETIMEDB, DRIZZLE)]),
        sources={"the commit": "https://example.org/commit", "the client": "https://example.org/client"},
    )
    read = re.findall(r'<p class="gb-read-it">(.*?)</p>', screen.html)
    assert [re.findall(r'href="([^"]+)"', line) for line in read] == [
        ["https://example.org/commit", "https://example.org/client"]
    ]


def test_a_verdict_that_another_chapter_measured_names_it(stored: dict[str, Run]) -> None:
    found = shown(stored, "whole")
    elsewhere = claim_line(found, "keynote-stdb-typescript-tps-alpha05").html
    assert 'as measured in <a href="commit-timer.html">commit-timer</a>' in elsewhere
    assert "as measured in" not in claim_line(found, "keynote-note-factors-product").html


def cells(html: str, first: str) -> str:
    """The row of a table that begins with this text."""
    return next(row for row in html.split("<tr")[1:] if f">{first}" in row)


def test_a_cell_without_a_valid_trial_is_named_and_the_others_are_told(stored: dict[str, Run]) -> None:
    found = shown(stored, "holes")
    table = goodput_table(found, "drizzle", "procedure").html
    for missing in ("drizzle, α = 1.5", "procedure, α = 1.5"):
        assert "no valid trial" in cells(table, missing)
    for there in ("drizzle, α = 0", "procedure, α = 0"):
        assert "no valid trial" not in cells(table, there)
    assert "1,0" in cells(table, "drizzle, α = 0")
    assert "no valid trial" in cells(hot_key_table(found, ["procedure"]).html, "1.5")


def test_an_answer_without_its_cells_says_so_and_names_the_place(stored: dict[str, Run]) -> None:
    found = shown(stored, "holes")
    assert "no valid trial at α = 1.5" in RESULTS["answer_ratio"](found).html
    assert "Not answered by this run" in RESULTS["answer_contention"](found).html
    assert "no valid trial at α = 1.5" in RESULTS["answer_factors"](found).html
    assert "not closed" in cells(RESULTS["factors_table"](found).html, "whole gap")
    assert "no number to cite" in RESULTS["cite_panels"](found).html
    undone = waterfall(found, FACTORS, 1.5)
    assert "cannot be taken apart" in undone.title
    assert "has no valid trial at α = 1.5." in _text(undone)


def test_a_gap_without_a_way_names_what_lies_on_it_and_was_not_measured(tmp_path: Path) -> None:
    ends = {DRIZZLE.name, SPACETIMEDB_RUST.name}
    rows = [runs.valid(one) for one in runs.planned_trials(2) if one.contestant in ends]
    found = Findings(runs.store(tmp_path / runs.CHAPTER, rows), runs.CHAPTER)
    text = _text(waterfall(found, FACTORS, 1.5))
    assert "passes a combination that has none: " in text
    between = {one.full_label for one in found.between(FACTORS) if one.name not in ends}
    assert len(between) > 2
    assert all(label in text for label in between)


def test_a_gap_whose_end_nobody_stated_says_which_levels_it_would_have(stored: dict[str, Run]) -> None:
    deeper = replace(FACTORS[-1], after="spacetimedb 9")
    text = _text(waterfall(shown(stored, "whole"), [*FACTORS[:-1], deeper], 1.5))
    assert re.search(r"This run has no contestant with .*system spacetimedb 9\.", text)


def _text(figure: Figure) -> str:
    return " ".join(box.text for box in figure.wide.boxes).replace("\u00a0", " ")


def test_every_refused_trial_is_listed_with_its_reason(stored: dict[str, Run]) -> None:
    found = shown(stored, "holes")
    invalid = [row for row in runs.patchy() if not row["valid"]]
    assert len(found.refused) == len(invalid) > 0
    assert {reason for _, _, reason in found.refused} == {row["refused_because"] for row in invalid}
    assert refused_table(found.refused).html.count("ended with code 4") == sum(
        row["goodput_per_s"] is None if "goodput_per_s" in row else True for row in invalid
    )


# --- what is there is told --------------------------------------------------------------------
def test_answers_of_a_whole_run_are_those_that_were_planted(stored: dict[str, Run]) -> None:
    found = shown(stored, "whole")
    assert "16.0 times" in RESULTS["answer_ratio"](found).html
    ratio = found.ratio("spacetimedb-rust", "drizzle", 0.0)
    assert ratio is not None
    assert ratio.estimate == pytest.approx(48.0)
    growth = found.ratio_of_ratios("spacetimedb", "drizzle", 1.5, 0.0)
    assert growth is not None
    assert growth.estimate == pytest.approx(1.0)
    moved = found.moved_ratio(("spacetimedb-rust", "drizzle"), ("spacetimedb", "drizzle"), 0.0)
    assert moved is not None
    assert moved.estimate == pytest.approx(48.0 / 16.0)
    assert found.moved_ratio(("spacetimedb-rust", "nobody"), ("spacetimedb", "drizzle"), 0.0) is None


def test_retries_are_told_of_who_had_them(stored: dict[str, Run]) -> None:
    table = RESULTS["retries_table"](shown(stored, "whole")).html
    assert "procedure-rust" in table
    assert "drizzle" not in table
    assert "sent again" in table
    assert "No transfer" in RESULTS["retries_table"](shown(stored, "all broken")).html


def test_best_is_chosen_by_goodput_of_each_alpha(stored: dict[str, Run]) -> None:
    found = shown(stored, "whole")
    row = cells(RESULTS["best_table"](found).html, "0<")
    assert "×3.00" in row


def test_a_ladder_of_which_nothing_was_published_shows_ours_alone(stored: dict[str, Run]) -> None:
    found = shown(stored, "whole")
    assert "published" in RESULTS["ladder_table"](found).html
    assert "published" not in ladder_table(found, [("engine", "spacetimedb", "procedure", {})]).html


def test_the_depth_chart_is_called_by_the_best_depth_of_each(stored: dict[str, Run]) -> None:
    assert RESULTS["depth_chart"](shown(stored, "whole")).title == (
        "Highest goodput: Postgres with one request at a time, SpacetimeDB with one request at a time"
    )
    assert depth_chart(shown(stored, "whole"), [PROCEDURE], [SPACETIMEDB], title="Flat").title == "Flat"
    assert (
        "No number in flight has a valid trial" in RESULTS["depth_chart"](shown(stored, "all broken")).title
    )


@pytest.mark.parametrize("text", ["16,384", "0.10", "1e5", "None", "it's", '"quoted"', "×1.72 [1.63–1.82]"])
def test_what_is_glued_is_shown_as_it_is(
    stored: dict[str, Run], monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    # Loaded where it is needed: it takes as long as all else that these tests import.
    from myst_nb.core.variables import format_plain_text  # noqa: PLC0415

    glued: dict[str, str] = {}
    monkeypatch.setattr(Findings, "trial_noise", lambda self: None)
    monkeypatch.setattr("myst_nb.glue", lambda key, value, display: glued.setdefault(key, value))
    glue(shown(stored, "whole"), number=text)
    assert format_plain_text(repr(glued["number"]), "s") == text


def test_a_number_that_the_run_lacks_is_glued_as_not_measured(
    stored: dict[str, Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    glued: dict[str, str] = {}
    monkeypatch.setattr(Findings, "trial_noise", lambda self: None)
    monkeypatch.setattr("myst_nb.glue", lambda key, value, display: glued.setdefault(key, value))
    glue(shown(stored, "whole"), here=Said("8.24"), missing=Said(why="No valid trial."))
    assert (glued["here"], glued["missing"]) == ("8.24", "(not measured)")


# --- flaws ------------------------------------------------------------------------------------
def flawed_run(folder: Path, make: Sequence[Callable[..., dict[str, Any]]]) -> Findings:
    flawed = {
        "replayed-pairs": {"transfers": 1000, "distinct_pairs": 100},
        "clock-between-batches": {
            "transactions_per_s": 180_000.0,
            "batches": 4,
            "batch": 100,
            "mean_batch_latency_s": 0.51,
            "max_batch_latency_s": 0.75,
        },
    }
    rows = [
        make[planned.block](planned) | {"goodput_per_s": 90_000.0, "flawed": flawed}
        for planned in runs.planned_trials(len(make))
        if (planned.contestant, planned.treatment) == ("replayed", 0.0)
    ]
    return Findings(runs.store(folder / runs.CHAPTER, rows), runs.CHAPTER)


def test_each_flaw_stands_beside_the_number_without_it(tmp_path: Path) -> None:
    found = flawed_run(tmp_path, [runs.valid, runs.refused, runs.valid])
    table = flaws_table(found, 0.0).html
    pairs, clock = (cells(table, name) for name in ("replayed-pairs", "clock-between"))
    for text in (
        "1,000 transfers",
        "100 different pairs of accounts</td><td>–",
        "2 of 3 valid; refused by: quiet machine",
    ):
        assert text in pairs
    for text in ("180,000/s", "90,000/s", "×2.00"):
        assert text in clock
    rounds = batch_table(found, REPLAYED, 0.0).html
    for text in ("4 of 100", "0.51 s", "0.75 s", "2 s"):
        assert text in rounds


def test_a_flaw_without_a_number_is_told_as_such(stored: dict[str, Run]) -> None:
    row = cells(flaws_table(shown(stored, "whole"), 0.0).html, "replayed-pairs, replayed")
    assert "no trial" in row
    assert "3 of 3 valid" in row


def test_metrics_stand_beside_what_was_committed(tmp_path: Path) -> None:
    (planned,) = [p for p in runs.planned_trials(1) if (p.contestant, p.treatment) == ("spacetimedb", 0.0)]
    row = runs.valid(planned, 1000.0, metric_transactions=2507, failed={"insufficient": 7})
    found = Findings(runs.store(tmp_path / runs.CHAPTER, [row]), runs.CHAPTER)
    line = cells(metrics_table(found).html, "spacetimedb")
    for text in ("2,507", "2,500", ">7<"):
        assert text in line
