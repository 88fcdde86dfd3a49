"""Two runs side by side: the same run, another machine's, half of one, another version, and files that nobody's program wrote."""

from __future__ import annotations

import dataclasses
import json
import math
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gapbook.cli import main
from gapbook.errors import ParameterError, RecordError
from gapbook.method.compared import Comparison, compared, divided
from gapbook.method.interval import Interval
from gapbook.method.named import named_run, named_summary, published_chapters
from gapbook.method.spread import compared_as_usual, published_summaries, usual_spread
from gapbook.method.stated import known_numbers
from gapbook.method.student import quantile_of_t
from gapbook.method.summary import MOST_SUMMARY_BYTES, Estimate, Summary, read_summary, summary_of, written
from gapbook.pages.comparison import MOST_WORDS, comparison_json, comparison_lines, text_to_paste
from gapbook.record.run import latest_published
from tests.halved import first_cells
from tests.hostile_values import MARKUP, Harm, hostile_contents, putting

_CHAPTER = "fair"
_OF_ONE_LOAD = "trailbase-family"
"""A chapter whose newer run has the load of its older ones."""
_ON_TWO_PROCESSORS = {"2a2f10fa4f98", "5321f3d5c164"}
"""Two runs of one chapter on processors of two kinds."""
_HOSTILE = 200


def _ours(chapter: str = _CHAPTER) -> Summary:
    """The published run that the chapter shows."""
    return summary_of(latest_published(chapter))


def _changed(one: Summary, **changes: Any) -> Summary:
    """As if it were another run, with its own id."""
    return msgspec.structs.replace(one, run_id="0" * 12, manifest_sha256="0" * 64, **changes)


@pytest.mark.parametrize("chapter", published_chapters())
def test_the_same_run_gives_one_everywhere(chapter: str) -> None:
    found = compared_as_usual(_ours(chapter), _ours(chapter))
    assert found.rates
    assert {row.ratio.as_factor() for row in (*found.ratios, *found.rates)} == {"×1.00 [1.00–1.00]"}
    assert not (*found.yours_alone, *found.ours_alone, *found.differences)
    assert "the same run" in text_to_paste(found)


def test_a_run_as_good_as_the_same_lies_within_its_noise() -> None:
    found = compared(_changed(_ours()), _ours())
    assert {row.ratio.estimate for row in (*found.ratios, *found.rates)} == {1.0}
    assert {"equal"} <= {row.reading for row in found.ratios} <= {"equal", "no interval"}
    assert len(found.stated) == len(_ours().numbers) > 10
    assert {row.reading for row in found.stated} == {"equal"}


def test_each_pair_of_published_runs_is_one_comparison_seen_from_two_sides() -> None:
    for chapter, runs in groupby(published_summaries(), key=lambda one: one.chapter):
        *older, newest = runs
        for old in older:
            there, back = compared(old, newest), compared(newest, old)
            assert len(there.ratios) == len(back.ratios)
            assert sorted(abs(math.log(row.ratio.estimate)) for row in there.ratios) == pytest.approx(
                sorted(abs(math.log(row.ratio.estimate)) for row in back.ratios)
            )
            assert len(there.rates) + len(there.yours_alone) == len(old.cells)
            assert len(there.rates) + len(there.ours_alone) == len(newest.cells)
            if there.rates:
                assert len(text_to_paste(there).split()) <= MOST_WORDS, chapter


def test_machines_of_two_kinds_lie_farther_apart_than_of_one() -> None:
    same, two = (usual_spread(same_processor=kind) for kind in (True, False))
    assert 0 < same.ratios < two.ratios < 1
    assert same.ratios < same.rates
    assert two.ratios < two.rates


def test_what_the_noise_within_few_blocks_adds_is_taken_off_by_their_own_quantile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    distance, error, blocks = 0.1, 0.03, 3
    half = quantile_of_t(blocks - 1) * error
    ours, yours = (
        Estimate(center, center * math.exp(-half), center * math.exp(half), blocks)
        for center in (2.0, 2.0 * math.exp(distance))
    )
    published = _ours(_OF_ONE_LOAD)
    of_one, of_other = (
        _changed(published, ratios=[msgspec.structs.replace(published.ratios[0], ratio=ratio)])
        for ratio in (ours, yours)
    )
    of_other = msgspec.structs.replace(of_other, run_id="1" * 12, manifest_sha256="1" * 64)
    monkeypatch.setattr("gapbook.method.spread.published_summaries", lambda: [of_one, of_other])
    found = usual_spread.__wrapped__(same_processor=True)
    assert found.ratios == pytest.approx(math.sqrt(distance**2 - 2 * error**2))


def test_what_differs_by_more_than_machines_do_is_told_first_and_pasted() -> None:
    ours = _ours()
    one = ours.ratios[0]
    farther = msgspec.structs.replace(one, ratio=_times(one.ratio, 50))
    # Where the chapter states nothing, the ratios are counted.
    ours = msgspec.structs.replace(ours, numbers=[])
    found = compared_as_usual(_changed(ours, ratios=[farther, *ours.ratios[1:]]), ours)
    assert [row.reading for row in found.ratios].count("beyond") == 1
    assert found.ratios[0].reading == "beyond"
    assert found.ratios[0].quantity in text_to_paste(found)
    assert found.ratios[0].ratio.estimate == pytest.approx(50) or found.ratios[
        0
    ].ratio.estimate == pytest.approx(1 / 50)


def _times(one: Estimate, factor: float) -> Estimate:
    assert one.low is not None
    assert one.high is not None
    return Estimate(one.estimate * factor, one.low * factor, one.high * factor, one.n)


def test_what_a_chapter_states_is_compared_with_what_it_prints() -> None:
    """Ratios, what a factor is worth, and the whole gap: by their addresses, and only where the cells are the same."""
    printed = {address: one.value for address, one in known_numbers().numbers.items()}
    found = compared(_changed(_ours()), _ours())
    told = {row.quantity: row.ours.as_factor() for row in found.stated}
    assert told == {address: printed[address] for address in told}
    assert told.keys() >= {"fair-whole-gap", "fair-engine-worth", "fair-both-wait"}
    other = [*_ours().contestants]
    other[0] = msgspec.structs.replace(other[0], facts={**other[0].facts, "tier": "another"})
    less = compared(_changed(_ours(), contestants=other), _ours())
    assert 0 < len(less.stated) < len(found.stated)


def test_half_of_the_cells_are_compared_and_the_others_named() -> None:
    ours = _ours()
    half = len(ours.cells) // 2
    yours = _changed(first_cells(ours, half))
    found = compared(yours, ours)
    assert len(found.rates) == half
    assert len(found.ours_alone) == len(ours.cells) - half
    assert len(found.ratios) == len(yours.ratios) < len(ours.ratios)
    assert 0 < len(found.stated) == len(yours.numbers) < len(ours.numbers)


def test_cells_that_differ_in_the_version_alone_are_compared_and_say_so() -> None:
    ours = _ours()
    newer = [
        msgspec.structs.replace(one, facts={**one.facts, "version": "9.9"})
        if one.facts.get("system") == "spacetimedb" and one.facts.get("version") != "1.2.0"
        else one
        for one in ours.contestants
    ]
    found = compared(_changed(ours, contestants=newer), ours)
    told = {version for row in found.rates for version in row.versions}
    assert len(found.rates) == len(ours.cells)
    assert told == {f"spacetimedb 9.9, ours {one}" for one in ("2.8.3",)}
    assert 0 < sum(bool(row.versions) for row in found.rates) < len(found.rates)


def test_a_processor_is_of_one_kind_whether_its_family_was_recorded_or_not() -> None:
    run = latest_published(_CHAPTER)
    machine = run.manifest.machine
    told = msgspec.structs.replace(machine, processor=f"{machine.processor} (family 25, model 1)")
    newer = dataclasses.replace(run, manifest=msgspec.structs.replace(run.manifest, machine=told))
    assert summary_of(newer).processor == _ours().processor


def test_a_name_of_two_lines_stays_in_its_row() -> None:
    ours = _ours()
    named = [
        msgspec.structs.replace(one, name=f"{one.name}\nyours: 1.00", label="x" * 3_000)
        for one in ours.contestants
    ]
    plain, forged = (
        comparison_lines(compared(_changed(ours), other))
        for other in (ours, msgspec.structs.replace(ours, contestants=named))
    )
    assert len(forged) == len(plain)
    assert all("\n" not in line for line in forged)


def test_the_text_to_paste_ends_in_the_address_of_the_chapter_where_the_book_has_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = compared(_ours(), _ours())
    plain = text_to_paste(found)
    monkeypatch.setattr("gapbook.pages.comparison.book_as_cited", lambda: ([], "https://book.example/"))
    assert text_to_paste(found) == f"{plain} https://book.example/notebooks/{_CHAPTER}.html"
    elsewhere = msgspec.structs.replace(_ours(), chapter="../../x")
    assert "book.example" not in text_to_paste(compared(_ours(), elsewhere))


def test_the_interval_of_two_runs_is_that_of_welch() -> None:
    # t(0.975, 4) and t(0.975, 8): two samples of five, each with a standard error of 0.1 on the log scale.
    half = 2.776445 * 0.1
    one = Interval(1.0, math.exp(-half), math.exp(half), 5)
    found = divided(one, one)
    assert found.n == 5
    assert math.log(found.high) == pytest.approx(2.306004 * math.sqrt(2) * 0.1, rel=1e-6)


def test_runs_without_a_common_cell_are_refused_with_what_keeps_them_apart(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["compare", "price-of-a-container", "fair"]) == 2
    told = capsys.readouterr()
    assert not told.out
    assert told.err.startswith("gapbook: run ")
    assert "shares no cell with" in told.err
    assert "amount_max 1000 instead of 1" in told.err
    assert told.err.count("\n") == 1


def test_what_is_exported_is_read_back_and_says_the_same_of_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    older = next(one for one in published_summaries() if one.chapter == _OF_ONE_LOAD)
    assert main(["compare", older.run_id, "--export"]) == 0
    file = tmp_path / "compare.json"
    file.write_text(capsys.readouterr().out, encoding="utf-8")
    assert read_summary(file) == older
    said = []
    for name in (
        str(file),
        older.run_id,
        str(latest_published(_OF_ONE_LOAD).folder.parent / older.run_id / "manifest.json"),
    ):
        assert main(["compare", name, "--json"]) == 0
        said.append(json.loads(capsys.readouterr().out))
    assert said[0] == said[1] == said[2]
    assert said[0]["ours"]["run_id"] == latest_published(_OF_ONE_LOAD).run_id


def test_a_folder_may_have_any_name_but_no_changed_byte(tmp_path: Path) -> None:
    published = latest_published(_CHAPTER).folder
    copied = tmp_path / "from somebody"
    copied.mkdir()
    for file in published.iterdir():
        (copied / file.name).write_bytes(file.read_bytes())
    assert named_summary(str(copied)) == _ours()
    (copied / "trials.parquet").write_bytes(b"\0" + (copied / "trials.parquet").read_bytes()[1:])
    with pytest.raises(
        RecordError, match=r"trials.parquet was changed; .*; take a fresh copy of the run, or name another$"
    ):
        named_summary(str(copied))


def test_what_names_no_run_is_told_what_its_command_takes(tmp_path: Path) -> None:
    exported = "a file that gapbook compare RUN --export wrote"
    with pytest.raises(ParameterError, match=rf"^run 'nobody': no such .* or file; .*{exported}"):
        named_summary("nobody")
    file = tmp_path / "export.json"
    file.write_bytes(written(_ours()).encode())
    assert named_summary(str(file)).run_id == _ours().run_id
    for name, why in (("nobody", "no such chapter, run or folder"), (str(file), "is a file")):
        with pytest.raises(ParameterError, match=f": {why}; allowed: the id of a stored run") as caught:
            named_run(name)
        assert "--export" not in str(caught.value)


# --- files that nobody's program wrote --------------------------------------------------------
_WRONG: list[tuple[str, bytes | Harm]] = [
    ("nothing", b""),
    ("no JSON", b"<script>alert(1)</script>"),
    ("no text", b"\xff\xfe\x00"),
    ("a list", b"[]"),
    ("a number", b"7"),
    ("nothing in it", b"{}"),
    ("a manifest", b'{"format": 3, "run_id": "000000000000", "chapter": "fair"}'),
    ("cut", b'{"summary": 1, "run_id": "000000'),
    ("deep", b'{"summary": 1, "a": ' + b"[" * 5_000),
    ("large", b'{"summary": 1, "a": "' + b"x" * MOST_SUMMARY_BYTES + b'"}'),
    ("no number", b'{"summary": NaN}'),
    ("newer", putting(("summary",), 2)),
    ("version as text", putting(("summary",), "1")),
    ("version as truth", putting(("summary",), True)),
    ("id of another", putting(("run_id",), "f" * 12)),
    ("a cell of nobody", putting(("cells", 0, "contestant"), 99)),
    ("a ratio of nothing", putting(("ratios", 0, "over"), 9_999)),
    ("a ratio of one cell", putting(("ratios", 0), {"over": 1, "under": 1, "ratio": {"estimate": 1, "low": None, "high": None, "n": 1}})),
    ("a number of no cell", putting(("numbers", 0, "cells"), [])),
    ("a number of nothing", putting(("numbers", 0, "cells"), [9_999])),
    ("an end alone", putting(("cells", 0, "goodput", "low"), None)),
    ("outside of its ends", putting(("cells", 0, "goodput", "estimate"), 1e17)),
    ("next to nothing", putting(("cells", 0, "goodput"), {"estimate": 1e-300, "low": None, "high": None, "n": 1})),
    ("a chapter elsewhere", putting(("chapter",), "../../etc")),
    ("a chapter of markup", putting(("chapter",), MARKUP)),
]  # fmt: skip


def _made(name: str, wrong: bytes | Harm) -> tuple[str, bytes]:
    if isinstance(wrong, bytes):
        return name, wrong
    content = json.loads(written(_ours()))
    wrong(Path(), content)
    return name, json.dumps(content).encode()


def test_a_hostile_file_ends_in_one_line_or_in_plain_text(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In one test, beside a run that is read from a file too: nothing is computed for each of them."""
    refused = 0
    file, ours = tmp_path / "compare.json", tmp_path / "ours.json"
    ours.write_text(written(_ours()), encoding="utf-8")
    for name, harm in hostile_contents(json.loads(written(_ours())), _HOSTILE, ("summary",)):
        file.write_bytes(_made(name, harm)[1])
        code = main(["compare", str(file), str(ours)])
        told = capsys.readouterr()
        assert code in {0, 2}, name
        assert (told.out == "") == (code == 2), name
        assert (told.err == "") == (code == 0), name
        for line in (told.out + told.err).splitlines():
            assert line.isprintable(), name
        if code == 2:
            refused += 1
            assert told.err.count("\n") == 1, name
            assert told.err.startswith(("gapbook: file ", "gapbook: run ")), name
            assert len(told.err) < 600, name
    assert refused > _HOSTILE / 2


@pytest.mark.parametrize(("name", "wrong"), _WRONG, ids=[name for name, _ in _WRONG])
def test_what_is_wrong_is_refused(
    name: str, wrong: bytes | Harm, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "compare.json"
    file.write_bytes(_made(name, wrong)[1])
    assert main(["compare", str(file)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    "name", ["", ".", "nothing-here", "\0", "x" * 5_000, "../../etc", "0" * 12, "-", "origin"]
)
def test_a_name_of_nothing_is_refused_with_what_is_allowed(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", "--", name]) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert len(told) < 1_000


def test_everything_of_a_comparison_is_in_its_json_and_in_its_lines() -> None:
    old, new = (one for one in published_summaries() if one.run_id in _ON_TWO_PROCESSORS)
    found: Comparison = compared_as_usual(old, new)
    told, lines = json.loads(comparison_json(found)), "\n".join(comparison_lines(found))
    assert len(told["ratios"]) == len(found.ratios)
    assert {one["what"] for one in told["differences"]} >= {"processor", "warm-up"}
    assert told["text"] == text_to_paste(found)
    for row in found.ratios:
        assert f"{row.quantity} " in lines
        assert row.ratio.as_factor() in lines
