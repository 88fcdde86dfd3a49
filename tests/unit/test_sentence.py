"""The sentence of a first screen: its limits, its numbers, and what it says where one of them is missing."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gapbook import charts
from gapbook.errors import ParameterError
from gapbook.markup import Html
from gapbook.method.factors import Factor
from gapbook.method.findings import Findings
from gapbook.method.interval import Interval
from gapbook.method.over_runs import Between
from gapbook.pages.exhibits.comparisons import comparisons_chart
from gapbook.pages.exhibits.gap import waterfall
from gapbook.pages.first_screen import on_all_machines, require_in
from gapbook.pages.page import Answer, Cited
from gapbook.pages.sentence import (
    MOST_WORDS,
    TOO_WIDE,
    Said,
    Version,
    answered,
    conditions,
    heading,
    kept,
    kept_across,
    rate,
    sentence,
    times,
)
from gapbook.pages.words import other_side
from gapbook.pages.worth import as_factors, further_worth, left_open, whole_gap, worth
from gapbook.record.run import Run, latest_published
from tests.unit import stored_runs as runs
from tests.unit.stored_runs import DRIZZLE, PROCEDURE, SPACETIMEDB

_SIXTEEN = Said("16.0")


@pytest.fixture(name="found", scope="module")
def _found(tmp_path_factory: pytest.TempPathFactory) -> Findings:
    return Findings(runs.store(tmp_path_factory.mktemp("runs") / runs.CHAPTER, runs.whole()), runs.CHAPTER)


def test_numbers_of_a_sentence_are_the_runs_and_are_cited_with_their_intervals(found: Findings) -> None:
    fast, slow = times(found, SPACETIMEDB, DRIZZLE, at=1.5), rate(found, DRIZZLE, at=1.5)
    said = sentence("It does {fast} times as many, {slow} against one.", fast=fast, slow=slow)
    assert said.plain == f"It does 16.0 times as many, {slow.printed} against one."
    assert [one.value.partition(" ")[0] for one in said.cited] == ["×16.0", slow.printed]
    assert all("[" in one.value for one in said.cited)


def test_what_is_kept_of_a_rate_is_said_in_percent_and_cited_as_the_ratio(found: Findings) -> None:
    part, ratio = kept(found, DRIZZLE, SPACETIMEDB, at=1.5), times(found, DRIZZLE, SPACETIMEDB, at=1.5)
    assert (part.printed, ratio.printed, part.cited) == ("6.25 %", "0.0625", ratio.cited)


def test_what_is_kept_from_one_exponent_to_another_is_the_contestants_own_and_cited(
    found: Findings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = kept_across(found, DRIZZLE, at=1.5, base=0.0)
    assert part.printed == "40.0 %"
    assert part.cited is not None
    assert part.cited.value.startswith("40.0 % [")
    assert "α = 1.5 against α = 0" in part.cited.quantity
    nothing = Findings(runs.store(tmp_path / runs.CHAPTER, runs.nothing_valid()), runs.CHAPTER)
    assert kept_across(nothing, DRIZZLE, at=1.5, base=0.0).why.endswith("no block has both ends.")
    two_blocks = Findings(runs.store(tmp_path / "two" / runs.CHAPTER, runs.whole(2)), runs.CHAPTER)
    monkeypatch.setattr(Run, "published", True)
    assert kept_across(two_blocks, DRIZZLE, at=1.5, base=0.0).instead == TOO_WIDE


def test_a_factor_whose_interval_holds_one_is_left_open(found: Findings, tmp_path: Path) -> None:
    factors = (
        Factor("ORM and its round trips", "access", "Drizzle", "one call", "wire"),
        Factor("Engine residual", "system", "postgres", "spacetimedb", "residual"),
    )
    rows = [
        runs.valid(
            planned, 100.0 * (0.8, 1.0, 1.3)[planned.block] if planned.contestant == DRIZZLE.name else 100.0
        )
        for planned in runs.planned_trials(3)
    ]
    noisy = Findings(runs.store(tmp_path / runs.CHAPTER, rows), runs.CHAPTER)
    assert left_open(noisy, factors, factors[0].name, at=0.0)
    assert not left_open(found, factors, factors[0].name, at=0.0)


def test_what_all_runs_made_of_its_numbers_is_a_line_of_its_own() -> None:
    def told(*between: Between | None, ratio: Said | None = None) -> str:
        numbers = [Said("2.00", Cited("ratio", "×2.00", 5, between_runs=one)) for one in between]
        names = "abc"[: len(numbers)]
        text = sentence(
            ", ".join(f"{{{name}}} times" for name in names), **dict(zip(names, numbers, strict=True))
        )
        return on_all_machines(text, ratio).striptags()

    far, near = (
        Between("×1.50 to ×2.00", 3, 3, "×1.10 to ×2.60", foreseen=True),
        Between("×1.90 to ×2.00", 2, 2),
    )
    begins = "The chart shows our newest full run; "
    assert told(None, None) == ""
    assert (
        told(far, near)
        == f"{begins}1.50–2.00 (we expect the next in 1.10–2.60) is of 3 runs on 3 machines; 1.90–2.00 is of 2 runs "
        "on 2 machines."
    )
    assert told(None, near) == f"{begins}1.90–2.00 is of 2 runs on 2 machines."
    assert told(near, near) == f"{begins}1.90–2.00 and 1.90–2.00 are of 2 runs on 2 machines."
    ratio = Said("9.00", Cited("ratio of two rates", "×9.00", 5, between_runs=near))
    assert (
        told(None, ratio=ratio)
        == f"{begins}the ratio of the two, 9.00, is 1.90–2.00 over 2 runs on 2 machines."
    )
    here = Between("×1.80 to ×2.00", 2, 1)
    assert told(here) == f"{begins}1.80–2.00 is of 2 runs on 1 machine."


def test_a_sentence_says_what_all_runs_made_of_its_numbers() -> None:
    cited = Cited("ratio", "×2.00", 5, between_runs=Between("×1.50 to ×2.00", 3, 2))
    told = sentence("It does {more} times as many.", more=answered(Answer(Html(""), (cited,)), 0))
    assert told.plain == "It does 1.50–2.00 times as many."
    assert told.printed == ("2.00",)


def test_a_number_that_is_missing_ends_the_sentence_with_its_reason(tmp_path: Path) -> None:
    found = Findings(runs.store(tmp_path / runs.CHAPTER, runs.nothing_valid()), runs.CHAPTER)
    for missing in (
        times(found, SPACETIMEDB, DRIZZLE),
        rate(found, DRIZZLE),
        answered(runs.answer_ratio(found, DRIZZLE, PROCEDURE), 0),
    ):
        said = sentence("It does {fast} times as many.", fast=missing)
        assert said.plain.startswith("Not answered by this run")
        assert not said.cited
        assert heading("×{fast}", fast=missing) == ""
    assert heading("×{fast} in {version}", fast=_SIXTEEN, version="1.2") == "×16.0 in 1.2"


@pytest.mark.parametrize(
    ("text", "parts", "why"),
    [
        ("{a} {b} {c}", {"a": _SIXTEEN, "b": _SIXTEEN, "c": _SIXTEEN}, "3 numbers; at most 2"),
        ("It does {a} times (as many).", {"a": _SIXTEEN}, "brackets"),
        ("It does 16 times as many.", {}, "a digit that no run gave"),
        ("{a} " + "word " * MOST_WORDS, {"a": _SIXTEEN}, f"{MOST_WORDS + 1} words; at most {MOST_WORDS}"),
        ("It does {b} times as many.", {"a": _SIXTEEN}, "a, b: stands either"),
        (
            "{a} of them{b}.",
            {"a": _SIXTEEN, "b": "; elsewhere 2 of 12"},
            "b brings a digit into the sentence",
        ),
        (
            "At {b} it does {a}.",
            {"a": _SIXTEEN, "b": Version("500 ms")},
            "b brings a digit into the sentence",
        ),
        ("At {b} it does {a}.", {"a": _SIXTEEN, "b": Version("17.8")}, "b brings a digit into the sentence"),
    ],
)
def test_a_sentence_over_the_limits_is_refused_in_one_line(
    text: str, parts: dict[str, Said | str], why: str
) -> None:
    with pytest.raises(ParameterError, match=re.escape(why)) as refused:
        sentence(text, **parts)
    assert "\n" not in str(refused.value)


def test_names_may_have_digits_and_are_escaped() -> None:
    said = sentence(
        "V8 beats {other}, {version}, {a} times.",
        a=_SIXTEEN,
        other="<b>k6</b>",
        version=Version("0.22.21-cgo"),
    )
    assert said.__html__().count("<b>") == 0
    assert "&lt;b&gt;k6" in said.__html__()
    assert said.plain == "V8 beats <b>k6</b>, 0.22.21-cgo, 16.0 times."
    assert said.printed == ("16.0",)


def test_conditions_say_how_many_want_one_account_and_the_machine(found: Findings) -> None:
    line = conditions(found, "{wanted_first}, then {wanted}; {machine}.", at=1.5)
    assert re.match(r"all accounts wanted alike, then \d+ % of transfers want one account; .*cores?", line)
    published = Findings(latest_published("both-optimized"), "both-optimized")
    assert conditions(published, "{wanted_first}.") == "few want the same account."
    with pytest.raises(ParameterError, match="line of conditions has 31 words"):
        conditions(found, "word " * 31)


def test_a_long_name_of_a_machine_is_no_fault_of_the_author(found: Findings) -> None:
    named = msgspec.structs.replace(found.run.manifest.machine, processor="a b c d e f g h i j k l")
    manifest = msgspec.structs.replace(found.run.manifest, machine=named)
    longer = Findings(dataclasses.replace(found.run, manifest=manifest), found.scenario.chapter)
    assert "i j k l, client and server" in conditions(longer, "word " * 22 + "{machine}")
    with pytest.raises(ParameterError, match="line of conditions has 31 words"):
        conditions(longer, "word " * 23 + "{machine}")


def test_parts_of_a_gap_are_said_as_its_waterfall_has_them_and_cited(
    found: Findings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    factors = (
        Factor("ORM and its round trips", "access", "Drizzle", "one call", "wire"),
        Factor("Engine residual", "system", "postgres", "spacetimedb", "residual"),
    )
    rows = {row[0]: row[2] for row in waterfall(found, factors, 0.0, then=("Contention", 1.5)).table.rows}
    said = [worth(found, factors, factor.name, at=0.0) for factor in factors]
    gap, more = whole_gap(found, factors, at=0.0), further_worth(found, factors, at=0.0, to=1.5)
    assert [f"×{one.printed}" for one in (*said, more)] == [
        rows[name] for name in (*(factor.name for factor in factors), "Contention")
    ]
    assert gap.printed == "16.0"
    for one in (*said, gap, more):
        assert one.cited is not None
        assert one.cited.value.startswith(f"×{one.printed} [")
    assert as_factors(gap=gap, none=Said(why="No.")) == {
        "gap": Said("×16.0", gap.cited),
        "none": Said(why="No."),
    }
    nothing = Findings(runs.store(tmp_path / runs.CHAPTER, runs.nothing_valid()), runs.CHAPTER)
    two_blocks = Findings(runs.store(tmp_path / "two" / runs.CHAPTER, runs.whole(2)), runs.CHAPTER)
    monkeypatch.setattr(Run, "published", True)
    for without in (nothing, two_blocks):
        for one in (
            worth(without, factors, "Engine residual", at=0.0),
            worth(without, factors, "No such factor", at=0.0),
            whole_gap(without, factors, at=0.0),
            further_worth(without, factors, at=0.0, to=1.5),
        ):
            assert one.why.startswith("Not answered by this run")


def test_a_number_that_its_chart_does_not_show_fails(found: Findings) -> None:
    picture = comparisons_chart(found, [("engine", SPACETIMEDB, DRIZZLE)])
    shown = sentence("It is {a} times.", a=times(found, SPACETIMEDB, DRIZZLE, at=1.5))
    require_in(picture, shown)
    for number in ("17.0", "6.0", "1"):
        with pytest.raises(ParameterError, match="not in its chart"):
            require_in(picture, sentence("It is {a} times.", a=Said(number)))


def test_rows_that_other_runs_turn_round_are_named() -> None:
    assert other_side(["engine", "client", "engine"]).striptags() == (
        "Other runs of ours lie on the other side of ×1: engine; client."
    )
    assert not other_side([])


def test_a_chart_that_prints_more_digits_shows_the_number() -> None:
    bar = charts.Gap("engine residual 2.271, ORM 1.665", Interval(2.0, 1.0, 3.0, 5), "ink")
    picture = charts.ruler([bar], axis="", provenance=charts.Provenance("", ""), title="", subtitle="")
    for shown in ("2.27", "2.3", "1.66", "1.67"):
        require_in(picture, sentence("{a} times", a=Said(shown)))
    for other in ("2.28", "1.68", "1.65"):
        with pytest.raises(ParameterError, match="not in its chart"):
            require_in(picture, sentence("{a} times", a=Said(other)))


def test_rows_of_counts_and_gaps_stand_in_table_and_description() -> None:
    gap = charts.Gap("as published", Interval(115.0, 108.0, 121.0, 10), "spacetimedb")
    count = charts.Counted("dead server", 2_060_000.0, 0.0)
    about: dict[str, Any] = {
        "axis": "times",
        "provenance": charts.Provenance("", ""),
        "title": "T",
        "subtitle": "S",
    }
    for figure, words in (
        (charts.ruler([gap], **about), ("as published", "×115 [108–121]")),
        (charts.counts([count], **about), ("dead server", "2,060,000", "none")),
    ):
        assert (figure.wide.problems(), figure.phone.problems()) == ([], [])
        assert set(words) <= set(figure.table.rows[0])
    draw: Any
    for draw in (charts.ruler, charts.counts):
        with pytest.raises(ValueError, match="needs"):
            draw([], **about)
