"""Verdicts: one fixed rule a claim, evaluated from runs that are there, and never more than they say."""

from __future__ import annotations

import dataclasses
import math
import re
import tomllib
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, get_args

import msgspec
import polars as pl
import pytest

from gapbook.book.chapters import chapters, declared_parameters, overviews
from gapbook.book.execute import execute_chapter
from gapbook.book.prose import require_no_typed_numbers
from gapbook.claims.arithmetic import compute, picks_in_use
from gapbook.claims.claim import NOTE, Claim, claim, claims, documents
from gapbook.claims.rules import RULES
from gapbook.claims.verdicts import WORDS, Judgement, Verdict, judge, judge_all, judge_with
from gapbook.declared.verdict_change import PrintedWord, VerdictKey
from gapbook.declared.verdicts import REASON_WORDS, RuleTest, VerdictRule
from gapbook.errors import ParameterError
from gapbook.method.findings import Findings
from gapbook.pages.register.changes import (
    changed_verdicts_table,
    changed_words_table,
    verdict_changes,
)
from gapbook.paths import CHECKOUT
from gapbook.record.run import find_run, latest_published

_CHAPTER = "both-optimized"
_OVER, _UNDER = "procedure-rpc", "drizzle-rpc"
_DOCUMENTS = sorted(
    {
        row["id"].partition("-")[0]
        for row in tomllib.loads((CHECKOUT / "book" / "claims.toml").read_text(encoding="utf-8"))["claim"]
    }
)
_RULES: list[dict[str, Any]] = [
    rule
    for path in (CHECKOUT / "book").glob("verdicts*.toml")
    for rule in tomllib.loads(path.read_text(encoding="utf-8"))["verdict"]
]
_BY_CLAIM = {rule["claim"]: rule for rule in _RULES}
_TWO = dataclasses.replace(claim("keynote-factor-orm"), printed=2.0)


def _measured_tests() -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    for rule in _RULES:
        yield from ((rule, test) for test in rule.get("test", []) if "chapter" in test)


def _contestants(test: Mapping[str, Any]) -> Iterator[str]:
    for key in ("over", "under", "whole_over", "whole_under"):
        named = test.get(key, [])
        for name in [named] if isinstance(named, str) else named:
            yield name.partition("@")[0]


# --- the rules --------------------------------------------------------------------------------


def test_every_claim_has_one_rule_and_every_rule_a_claim() -> None:
    assert len(_RULES) == len(_BY_CLAIM)
    assert _BY_CLAIM.keys() == {one.identifier for name in _DOCUMENTS for one in claims(name)}
    assert {rule["rule"] for rule in _RULES} <= RULES.keys()


def test_no_absolute_rate_of_another_machine_is_judged_by_ours() -> None:
    """But where a timer sets the rate, which is the same on every machine."""
    for one in (one for name in _DOCUMENTS for one in claims(name)):
        if one.unit == "transactions/s" and one.kind != NOTE:
            rule = _BY_CLAIM[one.identifier]
            timed = {test.get("chapter") for test in rule.get("test", [])} == {"commit-timer"}
            assert timed or rule["rule"] in {"not-measurable", "version", "arithmetic"}, one.identifier


def test_a_claim_is_confirmed_or_refuted_only_on_versions_that_its_rule_names() -> None:
    for rule, test in _measured_tests():
        if any(
            "spacetimedb" in name and not re.search(r"-\d+\.\d+\.\d+(-|$)", name)
            for name in _contestants(test)
        ):
            assert rule["rule"] == "version", rule["claim"]


def test_measured_contestants_are_those_of_the_chapters() -> None:
    """Where a chapter is written, its notebook must be able to make each name."""
    for rule, test in _measured_tests():
        notebook = CHECKOUT / "notebooks" / f"{test['chapter']}.md"
        if notebook.exists():
            words = set(re.findall(r"[a-z0-9.]+", notebook.read_text(encoding="utf-8")))
            for name in _contestants(test):
                parts = {re.sub(r"^[\d.]+(?=ms$)", "", part) for part in name.split("-")}
                assert parts <= words | {"ms"}, f"{rule['claim']}: {name} in {notebook.name}"


@pytest.mark.parametrize("chapter", chapters())
def test_a_chapter_is_about_claims_of_the_register(chapter: str) -> None:
    source = (CHECKOUT / "notebooks" / f"{chapter}.md").read_text(encoding="utf-8")
    for named in re.findall(r"claim_lines?\(([^)]*)\)|\bclaim(?:_id)?=(\"[^\"]*\")", source):
        for identifier in re.findall(r'"([^"]+)"', "".join(named)):
            assert claim(identifier).says


def test_multipliers_across_sessions_are_those_of_the_register() -> None:
    rows = {
        row["id"]: row
        for row in tomllib.loads((CHECKOUT / "book" / "claims.toml").read_text(encoding="utf-8"))["claim"]
    }
    sessions = {
        name: tuple(rows[row[end]]["conditions"]["session"] for end in ("of", "over"))
        for name, row in rows.items()
        if re.fullmatch(r"keynote-[\w-]+-gap-alpha\d\d", name)
    }
    assert len(sessions) == 8
    (test,) = _BY_CLAIM["keynote-note-mixed-sessions"]["test"]
    assert set(test["counted"]) == {name for name, pair in sessions.items() if pair == ("turn 6", "turn 5")}


# --- from runs --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def planted() -> Any:
    """The published run with the goodput of two contestants overwritten: blocks of this ratio."""
    # As a reader's own, which is judged by itself and not with the published ones.
    run = dataclasses.replace(latest_published(_CHAPTER), folder=CHECKOUT / "runs" / _CHAPTER / "planted")

    def plant(*ratios: float, valid: bool = True) -> Findings:
        under = run.trials.filter((pl.col("contestant") == _UNDER) & (pl.col("treatment") == 0.5)).head(1)
        rows = [
            under.with_columns(
                contestant=pl.lit(name),
                block=pl.lit(block, dtype=under["block"].dtype),
                valid=pl.lit(valid),
                goodput_per_s=pl.lit(1000.0 * (ratio if name == _OVER else 1)),
            )
            for block, ratio in enumerate(ratios)
            for name in (_OVER, _UNDER)
        ]
        return Findings(dataclasses.replace(run, trials=pl.concat(rows)), _CHAPTER)

    return plant


def _rule(kind: str = "band", **test: Any) -> dict[str, Any]:
    given = {"chapter": _CHAPTER, "quantity": "ratio", "over": _OVER, "under": _UNDER, "alpha": 0.5}
    given |= {"fixed": datetime(2026, 11, 21, tzinfo=UTC)}
    return {"rule": kind, "why": "w", "test": [given | test]}


def _judged(rule: Mapping[str, Any], found: Findings | str, published: Claim = _TWO) -> Judgement:
    return judge(published, rule, lambda chapter: found)


@pytest.mark.parametrize(
    ("ratios", "verdict"),
    [
        ((2.0, 2.01, 1.99, 2.0), "confirmed"),
        ((2.17, 2.19, 2.18, 2.18), "confirmed"),  # at the end of the band, wholly inside
        ((2.3, 2.31, 2.29, 2.3), "not-here"),
        ((1.5, 1.51, 1.49, 1.5), "not-here"),
        ((2.1, 2.3, 2.1, 2.3), "undecided"),  # straddles the upper end
        ((1.0, 4.0, 1.0, 4.0), "undecided"),  # wider than the band
        ((2.0,), "undecided"),  # one block has no interval
    ],
)
def test_a_band_judges_the_whole_interval(planted: Any, ratios: tuple[float, ...], verdict: str) -> None:
    assert _judged(_rule(), planted(*ratios)).verdict == verdict


@pytest.mark.parametrize(
    ("bound", "verdict"),
    [
        ({"above": 1.1}, "confirmed"),
        ({"above": "sqrt(9)"}, "refuted"),
        ({"below": 3}, "confirmed"),
        ({"below": 1}, "refuted"),
        ({"above": 2}, "undecided"),
        ({"within": [1.5, 2.5]}, "confirmed"),
        ({"equals": 4}, "refuted"),
    ],
)
def test_a_bound_is_the_one_of_the_rule(planted: Any, bound: dict[str, Any], verdict: str) -> None:
    assert _judged(_rule("bound", **bound), planted(1.9, 2.0, 2.1)).verdict == verdict


@pytest.mark.parametrize(
    ("expected", "word", "line"),
    [
        (
            [2.0],
            "Cannot be decided here: our number agrees, but the claim names no version",
            "Cannot be decided here: the claim names no version; we got 1.95 to 2.05, which agrees",
        ),
        (
            [2.2],
            "Cannot be decided here: our number may agree, but the claim names no version",
            "Cannot be decided here: the claim names no version; we got 1.95 to 2.05",
        ),
        ([3.0], "Not here", "Not here: we got 2.00, not about 2 (the claim names no version)"),
        ([3.0, 4.0], "Not here", "Not here"),  # which of two it is that stands beside it, no rule says
        (
            [3.0, 2.0],
            "Cannot be decided here: our numbers agree in part, but the claim names no version",
            "Cannot be decided here: our numbers agree in part, but the claim names no version",
        ),
        (
            [3.0, 2.2],
            "Cannot be decided here: one of our numbers may agree, but the claim names no version",
            "Cannot be decided here: one of our numbers may agree, but the claim names no version",
        ),
        (
            [2.0, 2.0],
            "Cannot be decided here: our numbers agree, but the claim names no version",
            "Cannot be decided here: our numbers agree, but the claim names no version",
        ),
    ],
)
def test_another_version_confirms_nothing_and_says_what_came_out(
    planted: Any, expected: list[float], word: str, line: str
) -> None:
    rule = _rule("version")
    rule["test"] = [rule["test"][0] | {"equals": value} for value in expected]
    judged = _judged(rule, planted(2.0, 2.02, 1.98))
    assert (judged.word, "".join(judged.line)) == (word, line)


@pytest.mark.parametrize(
    ("expected", "reason"),
    [([2.2, 2.2], "intervals are too wide"), ([3.0, 2.2], "one interval is too wide")],
)
def test_what_is_open_says_whether_every_interval_is_too_wide(
    planted: Any, expected: list[float], reason: str
) -> None:
    rule = _rule("band")
    rule["test"] = [rule["test"][0] | {"equals": value} for value in expected]
    judged = _judged(rule, planted(2.0, 2.02, 1.98))
    assert (judged.verdict, judged.reason) == ("undecided", reason)


def test_another_version_that_its_place_names_is_confirmed_alone_where_every_place_holds(
    planted: Any,
) -> None:
    rule = _rule("version")
    places = "with the old one", "with the new one"
    rule["test"] = [rule["test"][0] | {"equals": 2.0, "place": place} for place in places]
    judged = _judged(rule, planted(2.0, 2.02, 1.98))
    assert judged.word == "Confirmed, but only with the old one and with the new one"
    rule["test"][1]["equals"] = 2.2
    assert _judged(rule, planted(2.0, 2.02, 1.98)).verdict == "undecided"


@pytest.mark.parametrize(
    ("expected", "line"),
    [
        ([2.0], "Confirmed, but only with the one of that day. Published about 2, here 2.00"),
        ([3.0], "Not here: we got 2.00 with the one of that day, not about 2 (the claim names no version)"),
        (
            [2.2],
            "Cannot be decided here: intervals are too wide. Here 1.95 to 2.05 with the one of that day",
        ),
        ([3.0, 2.0], "Confirmed, but only elsewhere"),
    ],
)
def test_the_newest_release_of_its_day_decides_a_claim_that_names_no_version(
    planted: Any, expected: list[float], line: str
) -> None:
    """Whatever other versions say."""
    rule = _rule("version", equals=2.0)
    places = ["with the one of that day", "elsewhere"]
    for value, place in zip(expected, places, strict=False):
        rule["test"].append(rule["test"][0] | {"equals": value, "place": place, "newest_then": True})
    judged = _judged(rule, planted(2.0, 2.02, 1.98))
    assert "".join(judged.line).startswith(line)
    assert [one.beside for one in judged.evidence] == [True, *[False] * len(expected)]


def test_a_place_has_its_words_in_the_verdict_and_beside_its_number(planted: Any) -> None:
    rule = _rule("version", equals=9, place="with the old one")
    rule["reason"] = "their version was never released"
    rule["test"].append(
        rule["test"][0] | {"over": [_OVER, _OVER], "under": [_UNDER, _UNDER], "place": "squared"}
    )
    rule["test"].append(rule["test"][0] | {"place": ""})
    judged = _judged(rule, planted(2.0, 2.02, 1.98))
    assert judged.word == "Not here"
    told = "We got 2.00 with the old one and 4.00 squared, not about 2 (their version was never released)"
    assert judged.published_and_ours == told
    assert judged.line == ("Not here", f": w{told[1:]}")
    # Ours is a ratio: beside a published time it says nothing.
    assert not _judged(
        rule, planted(2.0, 2.02, 1.98), dataclasses.replace(_TWO, unit="ms")
    ).published_and_ours
    assert not _judged(
        rule, planted(2.0, 2.02, 1.98), dataclasses.replace(_TWO, printed=None)
    ).published_and_ours


def test_what_holds_in_one_place_only_is_confirmed_only_for_it(planted: Any) -> None:
    rule = _rule(place="at home")
    rule["test"].append(rule["test"][0] | {"equals": 5, "of": "the other one", "place": ""})
    judged = _judged(rule, planted(2.0, 2.01, 1.99))
    assert judged.verdict == "conditions"
    assert judged.word == "Confirmed, but only at home"
    assert judged.summary == "Not for the other one."
    # A place of two tests is named where both hold.
    rule["test"].append(rule["test"][0])
    rule["test"][1]["place"] = "at home"
    rule["test"].append(rule["test"][0] | {"place": "", "of": "a third one"})
    assert _judged(rule, planted(2.0, 2.01, 1.99)).word == "Confirmed, but only for a third one"


def test_our_own_notes_are_never_confirmed(planted: Any) -> None:
    note = dataclasses.replace(_TWO, kind=NOTE)
    assert _judged(_rule(), planted(2.0, 2.01, 1.99), note).word == "Our own note"
    assert _judged(_rule(equals=9), planted(2.0, 2.01, 1.99), note).word == "Not here"
    notes = [one for document in documents() for one in judge_all(document) if one.claim.kind == NOTE]
    assert notes
    assert not {one.verdict for one in notes} & {"confirmed", "conditions"}


def test_what_is_told_beside_a_verdict_decides_nothing(planted: Any) -> None:
    found = planted(2.0, 2.02, 1.98)
    recomputed = {"compute": "9 / 1", "of": "the published table"}
    rule = _rule()
    rule["test"].append(recomputed)
    judged = _judged(rule, found)
    assert judged.verdict == "confirmed"
    assert [(one.beside, one.outcome) for one in judged.evidence] == [(False, "holds"), (True, "fails")]
    near = {**_rule("not-measurable"), "reason": "the other engine did not run"}
    near["test"].append(recomputed)
    judged = _judged(near, found)
    assert judged.word == "Cannot be decided here: the other engine did not run"
    assert judged.published_and_ours == "Published about 2, here 1.95 to 2.05"
    assert all(one.beside for one in judged.evidence)


def test_every_reason_has_six_words_at_most() -> None:
    for judged in (one for document in documents() for one in judge_all(document)):
        assert len(judged.reason.split()) <= REASON_WORDS, judged
        assert bool(judged.reason) >= (judged.verdict == "undecided"), judged.claim.identifier
        assert judged.word == judged.word.strip()
        assert not judged.word.endswith(("only", ":", "."))


def test_a_page_shows_its_own_number_first_beside_the_published_one() -> None:
    both = {
        "contention": "unpipelined",
        "both-optimized": "pipelined",
    }
    for own, first, then in (
        ("contention", *both.values()),
        ("both-optimized", *reversed(both.values())),
        ("original", *both.values()),  # measured nothing of the claim
    ):
        judged = judge_with("keynote-factor-contention", Findings(latest_published(own), own))
        told = rf"Published about 4, by our runs [\d.]+ to [\d.]+ {first} and [\d.]+ to [\d.]+ {then}"
        assert re.fullmatch(told, judged.published_and_ours), own


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        ({"rule": "not-measurable"}, "no reason says why"),
        ({"rule": "source", "verdict": "undecided"}, "no reason says why"),
        ({"rule": "source", "verdict": "conditions"}, "verdict conditions without a condition"),
        (
            {"rule": "not-measurable", "reason": "one two three four five six seven"},
            "has 7 words; allowed: at most 6",
        ),
        (
            {
                "rule": "version",
                "reason": "one two three four five six seven",
                "test": (RuleTest(of="o", compute="1"),),
            },
            "has 7 words; allowed: at most 6",
        ),
        (
            {"rule": "band", "test": (RuleTest(of="o", compute="1", newest_then=True),)},
            "rule band has a test of newest_then; allowed: in rule version",
        ),
    ],
)
def test_a_rule_that_leaves_a_verdict_without_its_words_is_refused(rule: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        VerdictRule(claim="c", why="w", **rule)


@pytest.mark.parametrize(
    ("identifier", "word", "beside"),
    [
        (
            "today-note-ratio-postgres-alpha15",
            "Not here",
            "We got 55.5–71.2 with 2.2.0, not 316 (the claim names no version)",
        ),
        (
            "trailbase-insert-vs-payload",
            "Not here",
            "We got 16.8–25.2 with one client for both and 19.0–28.5 with two clients, not almost 70 (they ran Payload 3.0.0-beta.134)",
        ),
        (
            "trailbase-fib-ratio",
            "Cannot be decided here: we cannot build TrailBase's V8",
            "Published about 40, here 24.5 to 50.4",
        ),
        ("convex-headline-47x", "Cannot be decided here: Convex was not run", ""),
        ("keynote-typescript-overhead", "Refuted", ""),
        ("keynote-note-factors-product", "Our own note", ""),
        ("walsync-memory-litestream-20db", "Confirmed, but only with Litestream 0.3", None),
        (
            "keynote-headline-14x",
            "Not here",
            "We got 9.69 with 2.0.1, newest that day, not about 14 (the claim names no version)",
        ),
        (
            "keynote-rust-gap-alpha15",
            "Not here",
            "We got 3.25–3.49 with 2.0.1, newest that day, not 8.3 (the claim names no version)",
        ),
    ],
)
def test_claims_of_first_screens_are_judged_by_what_their_chapter_measures(
    identifier: str, word: str, beside: str | None
) -> None:
    (judged,) = (one for one in judge_all(identifier.partition("-")[0]) if one.claim.identifier == identifier)
    assert judged.word == word
    if beside is None:
        assert judged.published_and_ours.startswith(f"Published {judged.claim.at_a_glance}, here ")
        assert re.search(r", but [\d.]+( MiB)? with ", judged.published_and_ours)
    else:
        assert judged.published_and_ours == beside


def test_several_contestants_are_multiplied_block_by_block(planted: Any) -> None:
    found = planted(2.0, 3.0, 4.0)
    twice = _judged(_rule("bound", over=[_OVER, _OVER], under=[_UNDER, f"{_UNDER}@0.5"], above=0), found)
    assert twice.evidence[0].ours.startswith(f"×{(24 ** (1 / 3)) ** 2:.2f}")


def test_a_metric_that_trials_tell_themselves_is_judged_by_its_mean(planted: Any) -> None:
    found = planted(2.0, 2.0, 2.0)
    lost = [0.0, 3.0, 0.0]
    own = pl.DataFrame(
        [
            {"trial": trial, "name": "rows lost", "unit": "rows", "better": "lower", "value": lost[block]}
            for trial, block, name in found.run.trials.select("trial", "block", "contestant").iter_rows()
            if name == _OVER
        ]
    )
    run = dataclasses.replace(found.run, metrics=pl.concat([found.run.metrics, own]))
    told = Findings(run, found.scenario.chapter)
    rule = _rule("bound", quantity="mean", metric="rows lost", over=_OVER, below=10)
    del rule["test"][0]["under"]
    assert _judged(rule, told).verdict == "confirmed"
    assert _judged(rule, told).evidence[0].ours.startswith("1.00 ")
    # What is claimed of every trial is refuted by one.
    rule["test"][0] |= {"quantity": "worst", "below": 2}
    assert _judged(rule, told).verdict == "refuted"
    assert _judged(rule, told).evidence[0].ours.startswith("3.00 rows, the worst of ")
    rule["test"][0] |= {"below": 4}
    assert _judged(rule, told).verdict == "confirmed"
    # A run whose trials tell no such metric decides nothing, and nothing breaks.
    assert _judged(rule, found).verdict == "undecided"
    rule["test"][0] |= {"quantity": "value"}
    with pytest.raises(ParameterError, match="rows lost can be 0 and has no ratio"):
        _judged(rule, told)


def test_share_of_a_part_in_the_logarithm_of_the_whole(planted: Any) -> None:
    found = planted(4.0, 4.0001, 3.9999)
    share = {"quantity": "log-share", "whole_over": [_OVER, _OVER], "whole_under": [_UNDER, _UNDER]}
    judged = _judged(_rule("bound", **share, within=[0.49, 0.51]), found)
    assert judged.verdict == "confirmed"
    assert judged.evidence[0].ours.startswith("50 %")
    assert judged.evidence[0].expected == "49 to 51 %"
    assert _judged(_rule("bound", **share, above=0.4), found).evidence[0].expected == "above 40 %"
    assert _judged(_rule("bound", **share, below=0.4), found).evidence[0].expected == "below 40 %"
    flat = _judged(_rule("bound", **share, above=0.5), planted(1.0, 1.01, 0.99))
    assert flat.verdict == "undecided"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"over": "nobody"}, "has no contestant nobody"),
        ({"alpha": 7.5}, "was not run in run"),
        ({"over": f"{_OVER}@7.5"}, "at α = 7.5 was not run"),
    ],
)
def test_what_a_run_does_not_have_is_said_and_not_judged(
    planted: Any, changes: dict[str, Any], said: str
) -> None:
    judged = _judged(_rule(**changes), planted(2.0, 2.0, 2.0))
    assert judged.verdict == "undecided"
    assert said in judged.summary


def test_refused_trials_judge_nothing(planted: Any) -> None:
    judged = _judged(_rule("version"), planted(2.0, 2.0, valid=False))
    assert judged.verdict == "undecided"
    assert "has no valid trial in run" in judged.summary


def test_a_chapter_without_a_run_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setattr("gapbook.record.run.CHECKOUT", tmp_path)
    judged = {one.claim.identifier: one for one in judge_all("keynote")}
    waiting = [one for one in judged.values() if any("chapter" in t for t in _tests_of(one))]
    assert waiting
    assert {one.verdict for one in waiting} == {"undecided"}
    assert {one.reason for one in waiting if one.rule != "not-measurable"} == {"no usable run of it yet"}
    assert judged["keynote-headline-14x"].summary == "No run of original yet."


def test_a_run_that_was_changed_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setattr("gapbook.record.run.CHECKOUT", tmp_path)
    broken = tmp_path / "results" / "original" / "0123456789ab"
    broken.mkdir(parents=True)
    (broken / "manifest.json").write_text("{", encoding="utf-8")
    judged = {one.claim.identifier: one for one in judge_all("keynote")}
    assert judged["keynote-headline-14x"].verdict == "undecided"
    assert "manifest.json was changed" in judged["keynote-headline-14x"].summary


def _tests_of(one: Judgement) -> list[dict[str, Any]]:
    return list(_BY_CLAIM[one.claim.identifier].get("test", []))


def test_a_run_older_than_its_rule_is_told(planted: Any) -> None:
    found = planted(2.0, 2.0, 2.0)

    def begun(at_unix_s: float) -> Findings:
        manifest = msgspec.structs.replace(found.run.manifest, started_unix_s=at_unix_s)
        return Findings(dataclasses.replace(found.run, manifest=manifest), _CHAPTER)

    old, new = begun(1.0), begun(1e11)
    assert _judged(_rule(), old).evidence[0].runs_older == 1
    assert _judged(_rule(), new).evidence[0].runs_older == 0


def test_several_runs_decide_together_and_a_readers_own_by_itself() -> None:
    test = {
        "chapter": _CHAPTER,
        "quantity": "ratio",
        "over": "spacetimedb-2-rust-deep",
        "under": "postgres-rust-deep",
    }
    rule = {
        "rule": "bound",
        "why": "w",
        "test": [{**test, "alpha": 0.5, "above": 1.1, "fixed": datetime(2026, 11, 1, tzinfo=UTC)}],
    }
    # The newest of those under one load.
    newest = Findings(find_run(_CHAPTER, "ef42884a49a7"), _CHAPTER)
    (pooled,) = _judged(rule, newest).evidence
    assert pooled.outcome == "straddles"
    assert pooled.alike == "holds"
    assert pooled.runs == pooled.runs_older == 4  # they are older than pooling
    assert pooled.pooled.startswith("over 4 runs on 2 machines, from ×")
    assert pooled.newest.startswith(f"×{newest.ratio(test['over'], test['under'], 0.5).estimate:.2f} ")  # type: ignore[union-attr]
    assert _judged(rule, newest).word == "Confirmed, but only in our 4 runs"
    own = Findings(dataclasses.replace(newest.run, folder=CHECKOUT / "runs" / _CHAPTER / "own"), _CHAPTER)
    (alone,) = _judged(rule, own).evidence
    assert (alone.outcome, alone.runs, alone.pooled, alone.ours) == ("holds", 1, "", pooled.newest)


def test_a_place_that_its_check_makes_decisive_refutes_alone(planted: Any) -> None:
    places = [
        _rule("bound", above=1.1)["test"][0],
        _rule("bound", above=1.1)["test"][0],
        _rule("bound", above=9)["test"][0],
    ]
    assert (
        _judged({"rule": "bound", "why": "w", "test": places}, planted(1.9, 2.0, 2.1)).verdict == "conditions"
    )
    places[2]["decisive"] = True
    refuted = _judged({"rule": "bound", "why": "w", "test": places}, planted(1.9, 2.0, 2.1))
    assert refuted.verdict == "refuted"
    assert refuted.summary.startswith("Refuted by ")
    holding = places[:1] + [{**one, "decisive": False} for one in places[2:]] * 2
    few = _judged({"rule": "bound", "why": "w", "test": holding}, planted(1.9, 2.0, 2.1))
    assert (few.verdict, few.summary.partition(" ")[0]) == ("refuted", "Only")


def test_trials_that_all_came_out_have_an_interval_too() -> None:
    (judged,) = (one for one in judge_all("walsync") if one.claim.identifier == "walsync-litestream-single")
    assert {one.outcome for one in judged.evidence} == {"straddles"}
    assert all(re.match(r"(\d+) of \1 trials, 100 % \[[5-9]\d–100\]", one.ours) for one in judged.evidence)


def test_a_verdict_that_changed_is_the_one_of_today() -> None:
    today = {one.claim.identifier: one.verdict for document in documents() for one in judge_all(document)}
    for claimed, change in {one.claim: one for one in verdict_changes()}.items():
        assert change.was != WORDS[change.now], claimed
        assert change.now == today[claimed], claimed
    assert all(one.claim in changed_verdicts_table().html for one in verdict_changes())
    given_up = set(get_args(PrintedWord)) - set(WORDS.values())
    assert all(word in changed_words_table().html for word in given_up)
    assert set(get_args(VerdictKey)) == WORDS.keys() == set(get_args(Verdict))


# --- from figures -----------------------------------------------------------------------------


def _arithmetic(formula: str, printed: float, **changes: Any) -> str:
    published = dataclasses.replace(_TWO, printed=printed, qualifier=changes.pop("qualifier", ""))
    rule = {"rule": "arithmetic", "why": "w", "test": [{"compute": formula, **changes}]}
    return judge(published, rule, lambda chapter: "unused").verdict


def test_arithmetic_agrees_to_the_digits_that_were_printed() -> None:
    assert _arithmetic("73123 / 32232", 2.3) == "confirmed"
    assert _arithmetic("73123 / 32232", 2.2) == "refuted"
    assert _arithmetic("73123 / 32232", 2.2, qualifier="about") == "confirmed"
    assert _arithmetic("73123 / 32232", 2.0, qualifier="about") == "refuted"
    assert _arithmetic("-20.93", 1, equals=-20.9) == "confirmed"


def test_a_formula_is_shown_with_its_numbers() -> None:
    done = compute("(a / b - 1) * 100", {"a": 64603.0, "b": 107653.0})
    assert done.shown == "(64,603 ÷ 107,653 − 1) × 100 = −39.99"
    assert done.result == pytest.approx(-39.99, abs=0.005)


@pytest.mark.parametrize(
    "formula",
    ["__import__('os')", "a.real", "b", "a if a else a", "open('x')", "[a]", "'a'", "a //", "sqrt", "a / 0"],
)
def test_a_formula_can_do_nothing_but_arithmetic(formula: str) -> None:
    with pytest.raises(ParameterError, match="formula"):
        compute(formula, {"a": 1.0})


def test_skew_as_enumerated_over_few_accounts() -> None:
    weights = [rank**-1.5 for rank in range(1, 6)]
    picks = [weight / sum(weights) for weight in weights]
    in_use = sum(pick * (1 - (1 - pick) ** 3) for pick in picks)
    assert picks_in_use(3, 1.5, 5) == pytest.approx(100 * in_use)
    assert math.isclose(picks_in_use(0, 1.5, 5), 0, abs_tol=1e-12)


def test_counts_are_held_against_the_published_number() -> None:
    rule = {"rule": "count", "why": "w", "test": [{"of": "things", "counted": ["a", "b"]}]}
    assert _judged(rule, "unused").verdict == "confirmed"
    assert _judged(rule, "unused", dataclasses.replace(_TWO, printed=3.0, qualifier="")).verdict == "refuted"


def test_nothing_counted_is_a_count_too() -> None:
    rule = {"rule": "count", "why": "w", "test": [{"of": "things", "equals": 0, "counted": []}]}
    judged = _judged(rule, "unused")
    assert judged.verdict == "confirmed"
    assert judged.evidence[0].ours == "0"


@pytest.mark.parametrize(
    ("identifier", "verdict"),
    [
        ("convex-throughput-ratio-20vu", "confirmed"),
        ("convex-headline-47x", "undecided"),  # its rows stand beside a verdict that needs Convex
        ("convex-choose-stdb-throughput", "conditions"),  # in three of five
        ("convex-readme-peak-ratio", "refuted"),
        ("convex-linear-scaling", "refuted"),
        ("convex-ten-times-connections", "refuted"),
        ("convex-note-littles-law", "note"),
        ("convex-note-500vu-impossible", "note"),
        ("convex-throughput-convex-20vu", "undecided"),
    ],
)
def test_what_published_figures_say_of_their_own_document(identifier: str, verdict: str) -> None:
    judged = {one.claim.identifier: one for one in judge_all("convex", lambda chapter: "No run")}
    assert judged[identifier].verdict == verdict


@pytest.mark.parametrize("document", ["convex", "trailbase", "walsync"])
def test_our_notes_on_a_document_hold(document: str) -> None:
    for one in judge_all(document, lambda chapter: "No run"):
        if one.claim.kind == NOTE:
            assert one.verdict == "note", one.claim.identifier


# --- the page ---------------------------------------------------------------------------------


def test_a_single_published_number_has_a_chance_and_a_bound_has_none(planted: Any) -> None:
    found = planted(1.9, 2.0, 2.1)
    (number,) = _judged(_rule(), found).evidence
    assert number.chance_if_true is not None
    assert 0 <= number.chance_if_true <= 1
    assert _judged(_rule("bound", above=1.1), found).evidence[0].chance_if_true is None
    assert _judged(_rule(equals=[2, 5]), found).evidence[0].chance_if_true is None


def test_the_page_measures_nothing_and_types_no_number() -> None:
    assert "claims" in overviews()
    assert "claims" not in chapters()
    assert declared_parameters("claims") == frozenset()
    require_no_typed_numbers(CHECKOUT / "notebooks" / "claims.md")
    with pytest.raises(ParameterError, match="measures nothing; see it with: gapbook book"):
        execute_chapter("claims", {"source": "live"})


@pytest.mark.parametrize(
    ("identifier", "printed"),
    [
        ("keynote-headline-14x", "about ×14"),
        ("keynote-stdb-rust-tps-alpha05", "73,123/s"),
        ("keynote-predicted-fair-gap", "×2 to ×5"),
        ("keynote-note-same-box-drift", "−40 % to −20.9 %"),
        ("keynote-cause-orm", "–"),
    ],
)
def test_published_values_as_printed(identifier: str, printed: str) -> None:
    assert next(one for one in claims("keynote") if one.identifier == identifier).published == printed


def test_only_a_printed_number_is_a_value() -> None:
    with pytest.raises(ParameterError, match="without one printed number"):
        _ = claim("keynote-predicted-fair-gap").value
    with pytest.raises(ParameterError, match="claim 'keynote-unheard': not in"):
        claim("keynote-unheard")
    with pytest.raises(ParameterError, match="without one printed number"):
        _ = next(one for one in claims("keynote") if one.printed is None).value
