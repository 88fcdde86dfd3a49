"""Addresses of numbers: each leads to one number for ever, can be cited in forty words, and be made again by hand."""

from __future__ import annotations

import json
import math
import random
import re
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest

from gapbook.book import numbers, told_numbers
from gapbook.book.explain import explained_as_data
from gapbook.book.numbers import citable, updated
from gapbook.book.told_numbers import Addressed, numbers_told, without_numbers
from gapbook.cli import main
from gapbook.errors import GapbookError
from gapbook.method.findings import Findings
from gapbook.method.interval import Interval
from gapbook.method.source import Kept, Rate, Ratio, RatioOfRatios, Worth, cells_in, made
from gapbook.method.stated import KnownNumbers, Withdrawn, known_numbers
from gapbook.pages.bibtex import latex
from gapbook.pages.number import NUMBERS_KIND, Number
from gapbook.pages.short_citation import FORMS, MOST_WORDS, number_citation, own_run_citation
from gapbook.record.run import find_run
from gapbook.record.schema import TRIALS
from tests.unit import stored_runs as runs
from tests.unit.stored_runs import DRIZZLE, SPACETIMEDB

KNOWN = known_numbers().numbers
_DRAWN = 20
_POINTS_BACK = re.compile(r"(?:There|Then|That|This|These|It|Next to|Set up like|And|But)\b")
_TOLD = Number(
    name="lead",
    sentence="",
    chapter="fair",
    run="0" * 12,
    published=True,
    date="2026-11-27",
    quantity="a ÷ b, transfers per second at α = 0.5",
    printed="2.00",
    value="×2.00 [1.90–2.10]",
    n=5,
    conditions="",
    load="",
    machine="",
    reach="",
    versions=[],
    source=Ratio("a", "b", 0.5),
)


def notebook(tmp_path: Path, *numbers: Number, prose: str) -> dict[str, Path]:
    glued = {
        "output_type": "display_data",
        "data": {"application/papermill.record/text/plain": "'2.00'"},
        "metadata": {"scrapbook": {"name": "lead", "mime_prefix": "application/papermill.record/"}},
    }
    told = {
        "output_type": "display_data",
        "data": {NUMBERS_KIND: msgspec.to_builtins(list(numbers))},
        "metadata": {},
    }
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": "# Who leads?\n"},
        {"cell_type": "markdown", "metadata": {}, "source": prose},
        {"cell_type": "code", "metadata": {}, "source": "", "outputs": [glued, told]},
    ]
    path = tmp_path / "fair.ipynb"
    path.write_text(json.dumps({"cells": cells, "metadata": {}}), encoding="utf-8")
    return {"fair": path}


def test_a_glued_number_has_the_sentence_of_its_prose(tmp_path: Path) -> None:
    executed = notebook(
        tmp_path,
        _TOLD,
        msgspec.structs.replace(_TOLD, name="unprinted"),
        msgspec.structs.replace(_TOLD, name="own", published=False, sentence="Mine."),
        prose="Before. \n- **So:** {doc}`A <a>` leads by {glue:text}`lead` times {cite}`x`. After.\n",
    )
    (told,) = numbers_told(executed)
    assert (told.identifier, told.title) == ("fair-lead", "Who leads?")
    assert told.sentence == "So: A leads by 2.00 times."


def test_one_name_for_two_numbers_is_refused(tmp_path: Path) -> None:
    other = msgspec.structs.replace(_TOLD, value="×3.00")
    with pytest.raises(GapbookError, match="fair has two numbers of the name lead"):
        numbers_told(notebook(tmp_path, _TOLD, other, prose="It is {glue:text}`lead`."))


def test_no_page_shows_what_is_for_the_build() -> None:
    cell = {"cell_type": "code", "outputs": [{"data": {NUMBERS_KIND: []}}, {"data": {"text/html": "x"}}]}
    assert without_numbers([cell])[0]["outputs"] == [{"data": {"text/html": "x"}}]


def addressed(identifier: str, number: Number = _TOLD) -> Addressed:
    return Addressed(identifier, "fair", "Who leads?", "A leads by 2.00 times.", number)


def test_an_address_is_never_lost_nor_given_to_another_number() -> None:
    known = updated([addressed("fair-lead"), addressed("fair-other")], KnownNumbers({}, {}))
    assert list(known.numbers) == ["fair-lead", "fair-other"]
    with pytest.raises(GapbookError, match="fair-other: no page prints it any more"):
        updated([addressed("fair-lead")], known)
    gone = {"fair-other": Withdrawn("it was wrong", "fair-lead")}
    left = updated([addressed("fair-lead")], msgspec.structs.replace(known, withdrawn=gone))
    assert list(left.numbers) == ["fair-lead"]
    with pytest.raises(GapbookError, match="fair-other: was withdrawn"):
        updated([addressed("fair-lead"), addressed("fair-other")], left)
    with pytest.raises(GapbookError, match="replaced_by fair-lead: no such number"):
        updated([], KnownNumbers({}, gone))
    newer = msgspec.structs.replace(_TOLD, value="×4.00", run="1" * 12)
    assert updated([addressed("fair-lead", newer)], left).numbers["fair-lead"].value == "×4.00"
    elsewhere = msgspec.structs.replace(_TOLD, source=Ratio("a", "b", 1.5))
    with pytest.raises(GapbookError, match="fair-lead: leads to another number than before"):
        updated([addressed("fair-lead", elsewhere)], left)


def test_a_build_that_says_something_else_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = updated([addressed("fair-lead")], KnownNumbers({}, {}))
    monkeypatch.setattr(numbers, "known_numbers", lambda: kept)
    numbers.require_lasting([addressed("fair-lead")])
    with pytest.raises(GapbookError, match=r"not of these pages \(fair-more\).*python -m"):
        numbers.require_lasting([addressed("fair-lead"), addressed("fair-more")])


def test_every_citation_has_an_address_and_at_most_forty_words() -> None:
    assert len(KNOWN) > 60
    for identifier, number in KNOWN.items():
        cited = number_citation(citable(identifier, number))
        assert tuple(cited) == FORMS
        *words, address = cited["Text"].split()
        assert len(words) <= MOST_WORDS, identifier
        told = " ".join(words)
        assert f"run {number.run}, {number.date}." in told, identifier
        assert number.value in told or (number.between and number.between in told), identifier
        assert address.endswith(f"n/{identifier}.html")
        assert all(f"n/{identifier}.html" in text for text in cited.values())
        csl = json.loads(cited["CSL-JSON"])
        assert csl["id"] == f"gapbook-{identifier}"
        assert len(f"{csl['title']} {csl['note']}".split()) <= MOST_WORDS, identifier
        fields = re.findall(r"^  (?:title|note) = \{+(.*?)\}+,?$", cited["BibTeX"], re.MULTILINE)
        assert len(" ".join(fields).split()) <= MOST_WORDS, identifier
        assert cited["BibTeX"].isascii()


@pytest.mark.parametrize("words", [2, 28, 36, 90])
def test_a_long_sentence_is_shortened_before_its_interval_and_run_go(words: int) -> None:
    one = citable("price-of-speed-safe", KNOWN["price-of-speed-safe"])
    cited = number_citation(one._replace(sentence=" ".join(["Word"] * words)))
    assert ("Word…" in cited["Text"]) is (words > 31)
    for text in cited.values():
        assert one.run in text
        assert one.date in text
        assert one.value in text or latex(one.value) in text
    assert len(cited["Text"].split()) <= MOST_WORDS + 1


def test_a_clause_that_has_not_the_number_is_left_out_first() -> None:
    one = citable("price-of-speed-safe", KNOWN["price-of-speed-safe"])
    number, first, second = one.value.split()[0], " ".join(["Word"] * 20), " ".join(["word"] * 9)
    text = number_citation(one._replace(sentence=f"{first}; {second}; {number} are done."))["Text"]
    assert text.startswith(f"{first}… {number} are done. {one.value}.")


def test_a_shortened_citation_keeps_its_verdict() -> None:
    one = citable("price-of-speed-safe", KNOWN["price-of-speed-safe"])
    claimed, ours = (f"{begun} {' '.join(['word'] * 19)}." for begun in ("Claimed:", "Ours:"))
    text = number_citation(one._replace(sentence=f"{claimed} Refuted. {ours}"))["Text"]
    assert re.fullmatch(r"Claimed:( word)+… Refuted. Ours:( word)+… .*", text)


@pytest.mark.parametrize(
    ("n", "of_blocks", "told"), [(4, 5, "4 of 5 blocks."), (5, 0, " 5 blocks."), (1, 0, " 1 block.")]
)
def test_a_citation_says_how_many_blocks_of_the_run_hold_its_number(
    n: int, of_blocks: int, told: str
) -> None:
    one = citable("price-of-speed-safe", KNOWN["price-of-speed-safe"])
    cited = number_citation(one._replace(sentence="A leads.", between="", n=n, of_blocks=of_blocks))
    assert told in cited["Text"]


def test_what_other_machines_made_of_a_number_goes_before_its_blocks_and_its_interval() -> None:
    between = "×1.00 to ×9.00 over 3 runs on 2 machines"
    one = citable("price-of-speed-safe", KNOWN["price-of-speed-safe"])._replace(between=between)
    short, longer = (
        number_citation(one._replace(sentence=" ".join(["Word"] * words)))["Text"] for words in (8, 25)
    )
    assert f" {one.value}; {between}. " in short
    assert "blocks" not in short
    assert between in longer
    assert one.value not in longer


@pytest.mark.parametrize("words", [6, 20, 40, 90])
@pytest.mark.parametrize("machine", ["AMD EPYC, 2 cores", " ".join(["Xeon"] * 40)])
def test_a_number_of_a_readers_own_run_is_cited_as_such_and_leads_nowhere(words: int, machine: str) -> None:
    one = citable("fair-lead", KNOWN["fair-both-wait"])._replace(
        run="0123456789ab", sentence=" ".join(["A"] * words)
    )
    cited = own_run_citation(one, machine)
    assert tuple(cited) == FORMS
    csl, bibtex = json.loads(cited["CSL-JSON"]), cited["BibTeX"]
    fields = dict(re.findall(r"^  (title|note) = \{(.*)\}", bibtex, re.MULTILINE))
    for text in (
        cited["Text"],
        cited["Markdown"].removeprefix("> "),
        f"{csl['title']} {csl['note']}",
        f"{fields['title']} {fields['note']}",
    ):
        assert len(text.split()) <= MOST_WORDS
        assert "reader's own run 0123456789ab" in text
        assert machine[:8] in text
        assert one.value in text or latex(one.value) in text
    assert not any("n/fair" in text or "://" in text or "url" in text.lower() for text in cited.values())


def test_no_sentence_of_a_number_leans_on_the_one_before_it() -> None:
    assert not [one for one in KNOWN if _POINTS_BACK.match(KNOWN[one].sentence)]


@pytest.mark.parametrize(
    "source",
    [
        Ratio("spacetimedb", "drizzle", 1.5),
        Rate("drizzle", 0),
        Kept("drizzle", 1.5, 0),
        RatioOfRatios("spacetimedb", "drizzle", 1.5, 0),
    ],
    ids=lambda source: type(source).__name__,
)
def test_what_a_number_is_made_of_is_what_the_chapter_computes(source: Any, tmp_path: Path) -> None:
    rows = [runs.valid(planned) for planned in runs.planned_trials(4)]
    found = Findings(runs.store(tmp_path / runs.CHAPTER, rows), runs.CHAPTER)
    expected: dict[type, Interval | None] = {
        Ratio: found.ratio(SPACETIMEDB.name, DRIZZLE.name, 1.5),
        Rate: found.estimate(DRIZZLE.name, 0),
        Kept: found.across_treatments(DRIZZLE.name, 1.5, 0),
        RatioOfRatios: found.ratio_of_ratios(SPACETIMEDB.name, DRIZZLE.name, 1.5, 0),
    }
    way = made(source, found)
    assert way is not None
    assert way.interval == expected[type(source)]
    assert len(way.rows) == 4
    assert len(way.columns) == 3 + len(cells_in(source))
    assert way.rows[0][-1] == pytest.approx(_by_hand(source, way.rows[0][2:-1]))


def _by_hand(source: Any, cells: Any) -> float:
    match source:
        case Rate():
            return float(cells[0])
        case RatioOfRatios():
            return float(cells[0] * cells[3] / cells[1] / cells[2])
    return float(cells[0] / cells[1])


@pytest.mark.parametrize(
    "identifier",
    random.Random(34).sample(sorted(one for one in KNOWN if KNOWN[one].source is not None), _DRAWN),
)
def test_a_number_is_made_again_from_its_trials_alone(identifier: str) -> None:
    """From the table of trials as it lies in the folder, with nothing of the book's method."""
    known, (told,) = KNOWN[identifier], explained_as_data(identifier)["parts"]
    source = known.source
    assert source is not None
    if source.metric == "goodput":
        table = pl.read_parquet(find_run(known.chapter, known.run).folder / TRIALS)
        counted = table.filter(pl.col("valid") & (pl.col("goodput_per_s") > 0))
        for place, (contestant, treatment) in enumerate(cells_in(source), start=2):
            cell = counted.filter((pl.col("contestant") == contestant) & (pl.col("treatment") == treatment))
            for row in told["rows"]:
                logs = cell.filter(pl.col("block") == row[0] - 1)["goodput_per_s"].log().to_list()
                assert math.exp(sum(logs) / len(logs)) == pytest.approx(row[place], rel=1e-9)
    values = [row[-1] for row in told["rows"]]
    if not isinstance(source, Worth):  # where trials are missing, blocks of a lattice have pseudo-values
        assert math.exp(sum(map(math.log, values)) / len(values)) == pytest.approx(told["estimate"], rel=1e-9)
    printed = re.findall(r"\d[\d,]*\.?\d*", known.value)
    for number, exact in zip(printed, (told["estimate"], told["low"], told["high"]), strict=False):
        scaled = exact * 100 if "%" in known.value else exact
        assert float(number.replace(",", "")) == float(f"{scaled:.3g}")


@pytest.mark.parametrize(
    "identifier",
    random.Random(35).sample(
        sorted(one for one in KNOWN if KNOWN[one].page == "claims" and KNOWN[one].value[:1] in "×0123456789"),
        _DRAWN,
    ),
)
def test_a_verdict_is_made_again_from_the_trials_that_it_names(identifier: str) -> None:
    """Its single value, or each of its several: from the table of trials as it lies in the folder."""
    parts = explained_as_data(identifier)["parts"]
    assert KNOWN[identifier].quantity == "; ".join(part["quantity"] for part in parts)
    for part in parts:
        table = pl.read_parquet(find_run(part["chapter"], part["run"]).folder / TRIALS).filter(
            pl.col("valid")
        )
        for place, cell in enumerate(part["cells"] if part["columns"][0] == "block" else (), start=2):
            held = table.filter(
                (pl.col("contestant") == cell["contestant"]) & (pl.col("treatment") == cell["treatment"])
            )
            blocks = {block + 1 for block in held["block"].to_list()}
            assert {row[0] for row in part["rows"]} <= blocks
            if part["metric"] == "goodput":
                for row in part["rows"]:
                    logs = held.filter(pl.col("block") == row[0] - 1)["goodput_per_s"].log().to_list()
                    assert math.exp(sum(logs) / len(logs)) == pytest.approx(row[place], rel=1e-9)
        values = [row[-1] for row in part["rows"]]
        if "geometric mean of the blocks" in part["formula"]:
            assert math.exp(sum(map(math.log, values)) / len(values)) == pytest.approx(
                part["estimate"], rel=1e-9
            )
        elif "their mean" in part["formula"]:
            assert sum(values) / len(values) == pytest.approx(part["estimate"], rel=1e-9)
    if len(parts) == 1:
        # What the page prints is what this run holds, or all runs together.
        assert KNOWN[identifier].value.startswith(parts[0]["together"] or parts[0]["value"])


def test_a_test_of_a_verdict_divides_its_cells_as_its_formula_says() -> None:
    (part,) = explained_as_data("claims-keynote-storedproc-speedup")["parts"]
    assert part["formula"].startswith("a block's value is cell 1 ÷ cell 2;")
    for *_, over, under, value in part["rows"]:
        assert value == pytest.approx(over / under)


@pytest.mark.parametrize("command", ["cite", "explain"])
def test_an_unknown_number_is_one_line_with_the_nearest(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, "fair-bussy"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "fair-" in said.partition("the nearest: ")[2]


def test_a_withdrawn_number_says_what_replaced_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    gone = KnownNumbers({}, {"fair-lead": Withdrawn("it was wrong", "fair-busy")})
    monkeypatch.setattr(numbers, "known_numbers", lambda: gone)
    assert main(["cite", "fair-lead"]) == 2
    assert "withdrawn, it was wrong; in its place: fair-busy" in capsys.readouterr().err


def test_what_is_made_of_more_than_a_few_cells_says_where_it_comes_from(
    capsys: pytest.CaptureFixture[str],
) -> None:
    identifier = next(one for one in KNOWN if KNOWN[one].source is None and KNOWN[one].page != "claims")
    assert main(["explain", identifier]) == 2
    assert KNOWN[identifier].run in capsys.readouterr().err


def test_plain_prose_has_no_marks() -> None:
    assert told_numbers.plain("1. See [this](a.html) and `that` in {term}`α`.") == "See this and that in α."
