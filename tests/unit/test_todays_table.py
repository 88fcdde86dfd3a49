"""The vendor's table beside ours: every printed row is there, and who is missing says why."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import msgspec

from gapbook.claims.claim import claim
from gapbook.claims.closed_loop import Row
from gapbook.method.findings import Findings
from gapbook.pages.published.todays_table import NotEverywhere, todays_table
from gapbook.pages.published.unmeasured import published_beside_table, why_unmeasured
from gapbook.record.run import latest_published

_FOUND = Findings(latest_published("original"), "original")


def _row(table: str, label: str, exponent: str) -> str:
    (found,) = [
        row for row in table.split("<tr>") if f"<td>{label}</td>" in row and f">{exponent}</td>" in row
    ]
    return found


def test_every_row_is_printed_and_ours_stands_beside_it_where_it_was_run() -> None:
    over, under = _FOUND.scenario.find("spacetimedb-rust-deep"), _FOUND.scenario.find("postgres-drizzle")
    assert over is not None
    assert under is not None
    absent = SimpleNamespace(name="nobody")
    table = todays_table(
        _FOUND,
        {
            "spacetimedb": ("SpacetimeDB", over),
            "postgres": ("Postgres", under),
            "bun": ("Bun", absent),
            "convex": ("Convex", "it needs a container"),
        },
        first="spacetimedb",
    ).html
    contended = _row(table, "Postgres", "1.5")
    ratio = _FOUND.ratio(over.name, under.name, 1.5)
    assert ratio is not None
    assert claim("today-tps-postgres-alpha15").published in contended
    assert "×316" in contended
    assert ratio.as_factor() in contended
    assert "not in this run" in _row(table, "Postgres", "0")
    assert "not in this run" in _row(table, "Bun", "1.5")
    assert "cannot be run: it needs a container" in _row(table, "Convex", "1.5")
    assert claim("today-tps-convex-alpha0").published in _row(table, "Convex", "0")
    contended_alone = todays_table(
        _FOUND, {"spacetimedb": ("SpacetimeDB", over)}, first="spacetimedb", at=[1.5]
    ).html
    assert contended_alone.count("<tr>") == 2
    assert "<caption>α = 1.5. Our ratios are" in contended_alone
    assert claim("today-tps-spacetimedb-alpha15").published in contended_alone


def test_who_cannot_run_everywhere_has_its_rate_or_the_reason_why_it_has_none() -> None:
    over, under = _FOUND.scenario.find("spacetimedb-rust-deep"), _FOUND.scenario.find("postgres-drizzle")
    assert over is not None
    assert under is not None
    table = todays_table(
        _FOUND,
        {
            "spacetimedb": ("SpacetimeDB", over),
            "postgres": ("Postgres", NotEverywhere(under, "no image")),
            "convex": ("Convex", NotEverywhere(SimpleNamespace(name="nobody"), "no image")),
        },
        first="spacetimedb",
    ).html
    ratio = _FOUND.ratio(over.name, under.name, 1.5)
    assert ratio is not None
    assert ratio.as_factor() in _row(table, "Postgres", "1.5")
    assert "no image" not in _row(table, "Postgres", "1.5")
    assert "not measured here: no image" in _row(table, "Convex", "1.5")


def test_a_cell_tells_why_and_not_what_to_do_about_it() -> None:
    absent = {
        "convex": "docker: no engine answers at /run/engine (No such file or directory); install one and start it"
    }
    run = replace(_FOUND.run, manifest=msgspec.structs.replace(_FOUND.run.manifest, absent=absent))
    found = Findings(run, run.manifest.chapter)
    reason = why_unmeasured(found, SimpleNamespace(name="convex"), "no image")
    assert reason == "not measured here: no container engine ran beside this run"


def test_published_rows_stand_beside_what_was_measured_or_the_reason_why_nothing_was() -> None:
    under = _FOUND.scenario.find("postgres-drizzle")
    assert under is not None
    table = published_beside_table(
        _FOUND,
        [Row(20, 123.0, 1.0)],
        {"measured": under, "absent": SimpleNamespace(name="nobody")},
        system="Convex",
        otherwise="no image",
    ).html
    assert "123/s" in table
    assert "not with so many users" in table
    assert "not measured here: no image" in table


def test_a_system_that_nobody_measured_says_so_once() -> None:
    nobody = {"a": SimpleNamespace(name="nobody"), "b": SimpleNamespace(name="no one")}
    rows = [Row(20, 123.0, 1.0), Row(50, 124.0, 1.0)]
    said = published_beside_table(_FOUND, rows, nobody, system="Convex", otherwise="no image").html
    assert said.count("Convex is not measured here: no image.") == 1
    assert "<table" not in said
