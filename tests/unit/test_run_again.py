"""What it takes to make a chapter again stands there for every chapter, and is what its code, plan and runs say."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from gapbook import cli, notebook_text
from gapbook.book import chapters as chapters_module
from gapbook.book.again import Again, Gone, Takes, again, gone
from gapbook.book.again_page import again_facts, arrivals_tables, chapters_tables, gone_table
from gapbook.book.arrivals import Kind, arrival_of
from gapbook.book.chapters import chapters
from gapbook.book.expected import seconds_asked_for
from gapbook.book.kept_pages import READS_CHAPTERS, key_of
from gapbook.book.plans import planned_chapters, published_plans
from gapbook.book.stated import stated
from gapbook.book.systems import systems
from gapbook.deploy.stack import discover_stacks
from gapbook.notebook_text import NOTEBOOKS
from gapbook.record.run import latest_published, published_folders

_ROWS_IN_SIGHT = 12


@pytest.fixture(name="rows", scope="module")
def _rows() -> list[Again]:
    return again()


def test_every_chapter_has_a_row_with_what_its_code_and_its_plan_ask_for(rows: list[Again]) -> None:
    assert [row.chapter for row in rows] == chapters()
    given = {plan.chapter: plan.given for plan in published_plans()}
    for row in rows:
        own = stated(row.chapter, {"source": "live"})
        assert own is not None
        assert row.own == Takes(len(own.plan()), own.sessions, seconds_asked_for(own))
        assert (row.published is not None) == (row.chapter in planned_chapters())
        planned = stated(row.chapter, {**given.get(row.chapter, {}), "source": "session"})
        assert planned is not None
        if row.published is not None:
            assert (row.published.trials, row.published.sessions) == (len(planned.plan()), planned.sessions)
        assert row.stored_runs == len(published_folders(row.chapter))
        assert row.stored_bytes > 0
        assert {one.system for one in row.systems} == {one.system for one in planned.scenario.contestants} | {
            one.system for one in latest_published(row.chapter).scenario.contestants
        }


def test_chapters_that_are_measured_together_name_each_other_and_have_one_time(rows: list[Again]) -> None:
    by_name = {row.chapter: row for row in rows}
    shared = [row for row in rows if row.together]
    assert shared
    for row in shared:
        for other in row.together:
            assert row.chapter in by_name[other].together
            assert row.published is not None
            assert by_name[other].published is not None
            assert row.published.seconds == by_name[other].published.seconds  # type: ignore[union-attr]


def test_a_chapter_that_is_added_appears_and_what_nobody_measured_has_no_time(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "notebooks"
    folder.mkdir()
    for name in ("fair.md", "fair.plan.toml"):
        shutil.copy2(NOTEBOOKS / name, folder / name)
    text = (folder / "fair.md").read_text(encoding="utf-8").replace('Chapter("fair"', 'Chapter("added"')
    (folder / "added.md").write_text(text, encoding="utf-8")
    shutil.copy2(folder / "fair.plan.toml", folder / "added.plan.toml")
    for module in (notebook_text, chapters_module):
        monkeypatch.setattr(module, "NOTEBOOKS", folder)
    monkeypatch.setenv("GAPBOOK_BUILD", str(tmp_path / "build"))
    added, fair = again()
    assert (added.chapter, added.stored_runs, added.together) == ("added", 0, ("fair",))
    assert added.own is not None
    assert fair.own is not None
    assert added.own.trials == fair.own.trials
    assert (added.own.seconds, fair.own.seconds is None) == (None, False)
    shown = chapters_tables([added, fair])
    assert re.search(r"Not in the contents</caption>.*added\.html.*time unknown", shown)
    assert "added,0,0," in (tmp_path / "build" / "again" / "again.csv").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("system", "version", "kind", "how"),
    [
        ("spacetimedb", None, "compiled", "about 12 min"),
        ("spacetimedb", "1.2.0", "compiled", "about 12 min"),
        ("spacetimedb", "2.10.1", "fetched", "an archive of its makers"),
        ("spacetimedb", "2.0.1", "nowhere", "servers=spacetimedb@VERSION="),
        ("trailbase", None, "compiled", "about 9 minutes"),
        ("pocketbase", "0.40.6", "fetched", "three wheels are fetched"),
        ("payload", None, "fetched", "npm packages"),
        ("postgres", None, "fetched", "with every set-up"),
        ("convex", None, "image", "ghcr.io/get-convex/convex-backend:"),
        ("supabase", None, "image", "postgrest/postgrest:"),
        ("sqlite", None, "with its caller", ""),
    ],
)
def test_how_a_version_comes_is_what_its_folder_declares(
    system: str, version: str | None, kind: Kind, how: str
) -> None:
    found = arrival_of(system, version)
    assert found.kind == kind
    assert how in found.how


def test_every_declared_version_that_a_set_up_installs_arrives(rows: list[Again]) -> None:
    shown = arrivals_tables(rows)
    for one in systems():
        stack = discover_stacks()[one.name]
        for version in {stack.own_version(), *stack.stand_ins()}:
            found = arrival_of(one.name, version)
            assert found.kind != "nowhere"
            assert (found.label in shown) == (found.kind != "with its caller")
            assert found.version in shown


def test_versions_that_no_command_brings_and_systems_never_measured_are_named_with_their_chapters(
    rows: list[Again],
) -> None:
    found = gone()
    for row in rows:
        for arrival in row.systems:
            held = [
                one
                for one in found
                if one.label == arrival.label
                and arrival.version in one.versions
                and row.chapter in one.chapters
            ]
            assert bool(held) == (arrival.kind == "nowhere"), (row.chapter, arrival)
    lacking = {
        chapter
        for one in found
        if one.why.startswith("the published run lacks it")
        for chapter in one.chapters
    }
    assert lacking == {name for name in planned_chapters() if latest_published(name).manifest.absent}
    # The record says how such a server was built, which is how a reader makes it too.
    assert all(re.search("built|compiled|lacks", one.why) for one in found)


def test_tables_have_at_most_twelve_rows_in_sight(
    rows: list[Again], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GAPBOOK_BUILD", str(tmp_path))
    many = [replace(rows[0], chapter=f"added-{number}") for number in range(_ROWS_IN_SIGHT + 2)]
    lost = [Gone("System", (f"{number}",), ("fair",), "gone") for number in range(_ROWS_IN_SIGHT + 1)]
    for shown, folded in (
        (chapters_tables(rows), ""),
        (arrivals_tables(rows), ""),
        (gone_table(gone()), ""),
        (chapters_tables(many), "2 more"),
        (gone_table(lost), "1 more"),
    ):
        in_sight, _, more = shown.partition("<details")
        counts = [body.count("<tr>") for body in re.findall("<tbody>(.*?)</tbody>", in_sight)]
        assert counts
        assert 0 < max(counts) <= _ROWS_IN_SIGHT
        assert (f"<summary>{folded}</summary>" in more) == bool(folded)


def test_the_time_of_all_plans_counts_a_shared_measurement_once(rows: list[Again]) -> None:
    together = replace(
        rows[0], chapter="a", together=("b",), published=Takes(10, 1, 3600.0), stored_runs=2, log_bytes=10**9
    )
    alone = replace(
        rows[0], chapter="c", together=(), published=Takes(5, 1, 1800.0), stored_runs=1, log_bytes=None
    )
    facts = again_facts([together, replace(together, chapter="b", together=("a",)), alone], 3000.0)
    assert (facts["again_campaign"], facts["again_headlines"]) == ("1 h 30 min", "50 min")
    assert (facts["again_runs"], facts["again_chapters"], facts["again_log"]) == ("5", "3", "1.0 GB")


def test_the_command_prints_the_rows(rows: list[Again], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["runs", "fair", "--again", "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)
    fair = next(row for row in rows if row.chapter == "fair")
    assert fair.own is not None
    assert fair.own.seconds is not None
    assert (told["chapter"], told["own"]["trials"]) == ("fair", fair.own.trials)
    assert cli.main(["runs", "--again"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1 + len(rows)


def test_a_page_that_asks_what_chapters_measure_is_made_again_when_one_of_them_changes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for module in (notebook_text, chapters_module):
        monkeypatch.setattr(module, "NOTEBOOKS", tmp_path)

    def write(name: str, code: str, tags: str) -> None:
        (tmp_path / f"{name}.md").write_text(
            f"# A page\n\n```{{code-cell}}\n:tags: [{tags}]\n{code}\n```\n", encoding="utf-8"
        )

    write("asks", "rows = 1", f"remove-cell, {READS_CHAPTERS}")
    write("other", "rows = 1", "remove-cell")
    keys = []
    for code, plan in (("blocks = 1", None), ("blocks = 2", None), ("blocks = 2", "blocks = 3")):
        write("chapter", code, "parameters")
        if plan is not None:
            (tmp_path / "chapter.plan.toml").write_text(plan, encoding="utf-8")
        keys.append((key_of("asks", "shared"), key_of("other", "shared")))
    assert len({asks for asks, _ in keys}) == len(keys)
    assert len({other for _, other in keys}) == 1
