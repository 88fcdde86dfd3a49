"""The register of claims: whole and counted, found by what people type, said in words and units, and as data."""

from __future__ import annotations

import csv
import html
import io
import json
import re
import tomllib
from collections import Counter
from collections.abc import Sequence
from typing import Any

import jsonschema
import msgspec
import pytest

from gapbook import cli
from gapbook.book import register as kept
from gapbook.book import systems
from gapbook.book.declarations import REGISTER, schema_of
from gapbook.claims.claim import NOTE, claim
from gapbook.claims.entries import OUR_ARITHMETIC, Entry, as_csv, as_json, entries
from gapbook.claims.look_up import looked_up
from gapbook.claims.search import found, score, tokens
from gapbook.declared.reading import converted
from gapbook.declared.verdicts import VerdictRule
from gapbook.errors import DeclarationError, ParameterError
from gapbook.pages import page_files
from gapbook.pages.page_files import links_to_files
from gapbook.pages.register.page import Register
from gapbook.paths import CHECKOUT
from tests.claims_typed import TYPED

_RULES = {
    rule["claim"]: rule
    for path in (CHECKOUT / "book").glob("verdicts*.toml")
    for rule in tomllib.loads(path.read_text(encoding="utf-8"))["verdict"]
}

_FEWEST_WORDS = 5
"""Of what was measured, whose value it is, and what it is of."""


@pytest.fixture(scope="module")
def register() -> Register:
    return Register()


@pytest.fixture(scope="module")
def claims(register: Register) -> dict[str, Entry]:
    return {one.id: one for one in register.entries}


# --- whole ------------------------------------------------------------------------------------
def test_the_page_shows_every_claim_and_counts_them_all(register: Register) -> None:
    shown = register.page().html
    assert re.findall(r'<tr id="claim-([^"]+)"', shown) == [one.id for one in register.entries]
    assert {one.id for one in register.entries} == _RULES.keys()
    assert re.search(r'<form class="gb-filter"[^>]* hidden>', shown)
    numbers = map(int, re.findall(r"\d+", re.sub("<[^>]+>", "", register.total().html)))
    judged, *verdicts, undecided, measured, arithmetic, source, notes = numbers
    assert judged == sum(verdicts) == measured + arithmetic + source
    assert judged + undecided == sum(one.kind != NOTE for one in register.entries)
    assert judged + undecided + notes == len(register.entries)
    published = Counter(one.verdict for one in register.entries if one.kind != NOTE)
    assert verdicts == [published[one] for one in ("confirmed", "conditions", "not-here", "refuted")]
    selects = shown.split("<select ")[1:]
    assert len(selects) == 4
    for select in (one for one in selects if "system" not in one.partition(">")[0]):
        assert sum(map(int, re.findall(r"\((\d+)\)</option>", select))) == len(register.entries)


def test_what_we_measured_is_kept_apart_from_what_we_read(register: Register) -> None:
    rules = {
        one: {entry.rule for entry in register.entries if entry.evidence == one}
        for one in ("measured", "arithmetic", "source")
    }
    assert rules["measured"] <= {"band", "bound", "version"}
    assert rules["arithmetic"] <= {"arithmetic", "count"}
    assert rules["source"] == {"source"}
    for one in register.entries:
        assert (one.evidence == "note") == (one.kind == NOTE)
        if one.evidence == "open":
            assert one.verdict == "undecided"
        if one.evidence == "measured" and one.rule == "version":
            assert one.verdict in {"not-here", "conditions"}


def test_facts_in_the_prose_are_plain(register: Register, monkeypatch: pytest.MonkeyPatch) -> None:
    glued: dict[str, Any] = {}
    monkeypatch.setattr("myst_nb.glue", lambda key, value, display: glued.update({key: value}))
    register.glue()
    assert glued["claims"] == str(len(register.entries))
    assert glued["band"] == "±10 %"
    words = (CHECKOUT / "notebooks" / "claims.md").read_text(encoding="utf-8")
    assert set(re.findall(r"\{glue:text\}`(\w+)`", words)) == glued.keys()


def test_a_sentence_that_many_claims_share_is_said_once(register: Register) -> None:
    sentence = "CockroachDB does not run here: it needs several machines."
    (page,) = (one.body.html for one in register.documents().pages if sentence in one.body.html)
    assert page.count(sentence) == 1
    assert page.index(sentence) < page.index('class="gb-cards"')


def test_every_claim_stands_once_on_the_page_of_its_document_where_its_row_and_its_links_lead(
    register: Register,
) -> None:
    pages = {one.name: one.body.html for one in register.documents().pages}
    rows = register.page().html
    for one in register.entries:
        name, _, anchor = one.page.partition(".html#")
        assert [page for page, body in pages.items() if f'id="{anchor}"' in body] == [name]
        assert f'href="{one.page}"' in rows
        assert claim(one.id).judged_at == one.page
    linked = {
        address
        for body in pages.values()
        for address in re.findall(r'href="(claims-[^"]*#claim-[^"]*)"', body)
    }
    assert linked
    assert linked <= {one.page for one in register.entries}


def test_a_page_of_a_document_counts_its_verdicts_and_says_why(register: Register) -> None:
    for one in register.documents().pages:
        own = [entry for entry in register.entries if entry.page.startswith(f"{one.name}.html")]
        head = one.body.html.partition("</p>")[0]
        entries, *counts = map(
            int, re.findall(r"(?<![\w-])(\d+) (?:entries|confirmed|that|refuted|of)", head)
        )
        assert entries == len(own) == sum(counts)
    pull_request = next(one for one in register.documents().pages if one.name == "claims-pr-4432")
    entry = next(one for one in register.entries if one.id == "keynote-note-hot-row-bound")
    assert html.escape(entry.why.partition(".")[0]) in pull_request.body.html


# --- ours -------------------------------------------------------------------------------------
def test_what_was_measured_is_said_in_words_without_names_of_contestants(claims: dict[str, Entry]) -> None:
    for one in claims.values():
        measured = [place for place in (*one.places, *one.told) if place.run and place.outcome != "missing"]
        if measured:
            assert len(one.ours.split()) >= _FEWEST_WORDS, one.id
            assert not one.ours.startswith(OUR_ARITHMETIC)
            assert _contestants(one.id).isdisjoint(re.findall(r"[\w.-]+", one.ours)), one.id


def _contestants(identifier: str) -> set[str]:
    """The names in the tests of a claim that are no words: ``postgres-rust-deep``."""
    tests = [*_RULES[identifier].get("test", []), *_RULES[identifier].get("told", [])]
    named = [test.get(key, []) for test in tests for key in ("over", "under")]
    each = [name for names in named for name in ([names] if isinstance(names, str) else names)]
    return {name.partition("@")[0] for name in each if "-" in name}


@pytest.mark.parametrize(
    ("identifier", "starts"),
    [
        ("trailbase-insert-vs-payload", "TrailBase inserted 16.8 times as many records a second as Payload"),
        ("trailbase-fib-ratio", "goja in PocketBase took 35.1 times as long"),
        (
            "keynote-headline-14x",
            "SpacetimeDB 1.2.0 committed 7.67 times as many transfers a second as SQLite",
        ),
        ("convex-throughput-ratio-20vu", "our arithmetic: 9,042 ÷ 244 = ×37.06"),
        (
            "convex-headline-47x",
            "SpacetimeDB, called as published, did 2.71 times as many operations a second",
        ),
        ("convex-forty-times-requests", "our arithmetic: 5 values from ×28.35 to ×51.3"),
        ("today-tps-postgres-alpha15", "Postgres behind Node.js committed 1,070 transfers a second"),
        ("walsync-memory-savings-5db", "our arithmetic: 152 − 14 = 138 MB"),
        ("keynote-orm-round-trips", "5 counted in the source"),
    ],
)
def test_ours_answers_the_published_number(claims: dict[str, Entry], identifier: str, starts: str) -> None:
    assert claims[identifier].ours.startswith(starts)


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"ours": None}, "ours says in words what its tests measure; add it"),
        ({"test": [{"compute": "1"}]}, "nothing is measured, so leave it out"),
        ({"ours": "{2} times as fast"}, r"ours names \{2\}; allowed: \{0\}"),
        ({"ours": "very fast"}, "ours names no test"),
        (
            {"told": [{"chapter": "fair", "quantity": "goodput", "over": "new"}]},
            "told has nothing to add; leave it out",
        ),
    ],
)
def test_a_rule_whose_words_do_not_fit_its_tests_is_refused(changed: dict[str, Any], says: str) -> None:
    rule = {
        "claim": "a",
        "rule": "bound",
        "why": "b",
        "ours": "{0} times",
        "test": [{"chapter": "fair"}],
        **changed,
    }
    given = {key: value for key, value in rule.items() if value is not None}
    with pytest.raises(DeclarationError, match=says):
        converted(given, VerdictRule, "verdicts.toml", "")


# --- sources ----------------------------------------------------------------------------------
def test_every_claim_leads_to_its_source_at_its_revision_or_says_why_not(claims: dict[str, Entry]) -> None:
    for one in claims.values():
        assert one.address.startswith("https://"), one.id
        assert bool(re.search(r"/blob/[0-9a-f]{40}/", one.address)) != bool(one.unrevised), one.id


# --- what people type -------------------------------------------------------------------------
_FOUND = {**TYPED, "40x": "trailbase-fib-ratio"}


@pytest.mark.parametrize(("typed", "first"), _FOUND.items(), ids=_FOUND)
def test_what_people_type_finds_the_headline_first(claims: dict[str, Entry], typed: str, first: str) -> None:
    assert looked_up(typed, {}, list(claims.values()))[0].id == first


@pytest.mark.parametrize(
    "typed",
    [
        "70x",
        "70 x",
        "70×",
        "70 ×",
        "×70",
        "x70",
        "70X",
        "70 times",
        "payload 70x",
        "70x PAYLOAD",
        "Is it 70x faster than Payload",
    ],
)
def test_how_it_is_typed_does_not_matter(claims: dict[str, Entry], typed: str) -> None:
    assert [one.id for one in looked_up(typed, {}, list(claims.values()))] == ["trailbase-insert-vs-payload"]


@pytest.mark.parametrize(
    ("typed", "text", "is_found"),
    [
        ("73123", "73,123/s", True),
        ("73,123", "73123 a second", True),
        ("60 000", "60,000/s", True),
        ("316", "1,316", False),
        ("316", "3160", False),
        ("31", "316", False),
        ("2.8", "2.8.3", False),
        ("8.3x", "×8.3", True),
        ("12mb", "about 12 MB", True),
        ("12 GB", "12 MB", False),
        ("node.js", "behind Node.js", True),
        ("orm", "performance", False),
        ("alpha", "α = 0.5", True),
        ("", "anything", True),
        ("the", "the end", True),
        ("the", "an end", False),
    ],
)
def test_numbers_are_meant_whole_and_words_from_their_beginning(
    typed: str, text: str, is_found: bool
) -> None:
    assert bool(score(typed, (text, "", "", ""))) == is_found


def test_a_word_in_the_published_number_counts_more_than_one_elsewhere() -> None:
    fields = {"beside": ("", "", "", "14x"), "says": ("", "14x", "", ""), "number": ("×14", "", "", "")}
    assert list(found("14 x", fields)) == ["number", "says", "beside"]
    assert tokens("almost ×70") == ("almost", "70x")


# --- as data, and on the command line ---------------------------------------------------------
def test_the_files_hold_every_claim_as_their_schema_says(
    register: Register, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_files, "build_directory", lambda: tmp_path)
    folder = tmp_path / "register"
    assert set(links_to_files(register.downloads().html)) == {
        f"register/{one.name}" for one in folder.iterdir()
    }
    schema = (folder / "register.schema.json").read_text(encoding="utf-8")
    assert schema == schema_of(REGISTER)
    data = json.loads((folder / "claims.json").read_text(encoding="utf-8"))
    validator = jsonschema.Draft202012Validator(json.loads(schema))
    validator.validate(data)
    assert not validator.is_valid({"claims": [{**data["claims"][0], "verdict": "unheard"}]})
    rows = list(csv.DictReader(io.StringIO((folder / "claims.csv").read_text(encoding="utf-8"))))
    assert (
        [row["id"] for row in rows]
        == [one["id"] for one in data["claims"]]
        == [one.id for one in register.entries]
    )
    assert [row["ours"] for row in rows] == [one.get("ours", "") for one in data["claims"]]
    assert as_json(register.entries) == as_json(entries())
    assert as_csv(register.entries[:1]).count("\n") == 2


@pytest.mark.parametrize(
    ("chosen", "says"),
    [
        (
            {"system": "postgress"},
            "no claim has the system 'postgress'; did you mean postgres?; there are bun, ",
        ),
        ({"evidence": "proof"}, "there are arithmetic, measured, note, open, source"),
        (
            {"system": "Payload", "source": "walsync page"},
            "none of 434 has system Payload and source walsync page",
        ),
    ],
)
def test_a_filter_that_nobody_has_is_told(
    claims: dict[str, Entry], chosen: dict[str, str], says: str
) -> None:
    with pytest.raises(ParameterError) as refused:
        looked_up("", chosen, list(claims.values()))
    assert says in str(refused.value)


def test_the_command_finds_what_the_page_finds(
    register: Register, tmp_path: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    judged: list[int] = []

    def judge_again() -> Sequence[Entry]:
        judged.append(1)
        return register.entries

    monkeypatch.setattr(kept, "entries", judge_again)
    monkeypatch.setattr(kept, "build_directory", lambda: tmp_path)
    assert cli.main(["claims", "70", "x", "--source", "TrailBase page"]) == 0
    told = capsys.readouterr().out
    assert told.startswith("Not here, published almost ×70\n")
    assert told.endswith("1 of 434 claims\n")
    assert cli.main(["claims", "12", "MB", "--json"]) == 0
    ids = [one["id"] for one in json.loads(capsys.readouterr().out)["claims"]]
    assert ids[0] == "walsync-memory-walsync-20db"
    assert cli.main(["claims", "unheard-of"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "none of 434 has the words 'unheard-of'" in said
    assert judged == [1]
    (tmp_path / "register" / "kept.json").write_text(
        '{"key": "of another checkout", "register": ', encoding="utf-8"
    )
    monkeypatch.setattr(kept, "hash_of_what_pages_depend_on", lambda: "another")
    assert kept.register() == tuple(register.entries) == kept.register()
    assert judged == [1, 1]


def test_systems_are_those_of_the_folders(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["systems", "--json"]) == 0
    told = {one["name"]: one for one in json.loads(capsys.readouterr().out)}
    assert told.keys() == {path.parent.name for path in CHECKOUT.glob("stacks/*/stack.toml")}
    postgres = told["postgres"]
    assert {"procedure", "drizzle"} <= set(postgres["access"]["transfer"])
    assert {"direct", "rpc"} <= postgres["tiers"].keys()
    assert "gap-postgres" in postgres["clients"]
    assert "gap-spacetimedb" not in postgres["clients"]
    assert "2.8.3" in told["spacetimedb"]["versions"]
    assert cli.main(["systems"]) == 0
    text = capsys.readouterr().out
    assert all(f"{name}: " in text for name in told)
    assert msgspec.json.decode(systems.as_json(systems.systems())) == list(told.values())
