"""How plausible a run is: by what runs on several machines foretold, elsewhere by how far two runs usually lie apart."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
import polars as pl
import pytest

from gapbook.book import submission
from gapbook.book.submission import checked_run
from gapbook.method import over_runs
from gapbook.method.compared import Comparison
from gapbook.method.plausibility import Plausibility, plausibility
from gapbook.method.source import Ratio
from gapbook.method.spread import compared_as_usual
from gapbook.method.stated import KnownNumber, KnownNumbers
from gapbook.method.summary import Summary, summary_of
from gapbook.record.run import Run
from tests.unit import stored_runs as runs
from tests.unit.runs_on_machines import copies, findings_of
from tests.unit.stored_runs import DRIZZLE, SPACETIMEDB, SPACETIMEDB_RUST

_ALIKE = (1.0, 1.02, 0.98)
"""How much faster than in the run at hand SpacetimeDB is in each published one."""
_FASTER = (1.5, 1.53, 1.47)


@pytest.fixture(name="run", scope="module")
def _run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder: Path = tmp_path_factory.mktemp("plausibility")
    return runs.store(folder, runs.whole())


def _publish(monkeypatch: pytest.MonkeyPatch, published: list[Run]) -> None:
    """As if the book had these runs, and a run as fast as that at hand on the page of its chapter."""
    found = findings_of(published)
    monkeypatch.setattr(over_runs, "published_findings", lambda: found)
    monkeypatch.setattr(submission, "published_counterpart", _as_another)


def _as_another(one: Summary) -> Summary:
    return msgspec.structs.replace(one, run_id="0" * 12, manifest_sha256="0" * 64)


def _compared(run: Run) -> Comparison:
    yours = summary_of(run)
    return compared_as_usual(yours, _as_another(yours))


def _line(run: Run) -> str:
    (line,) = (str(one) for one in checked_run(str(run.folder))[1] if one.what == "beside the published run")
    return line


@pytest.mark.parametrize(("factors", "all_inside"), [(_ALIKE, True), (_FASTER, False)])
def test_what_three_machines_hold_is_held_against_their_prediction_interval(
    run: Run, monkeypatch: pytest.MonkeyPatch, factors: tuple[float, ...], all_inside: bool
) -> None:
    _publish(monkeypatch, copies(run, factors, machines=3))
    rows = _compared(run).ratios
    assert rows
    moved = sum(
        f"{SPACETIMEDB.name} ÷ " in row.quantity or f"÷ {SPACETIMEDB.name}," in row.quantity for row in rows
    )
    assert 0 < moved < len(rows)
    inside = len(rows) if all_inside else len(rows) - moved
    assert plausibility(run, _compared(run)) == Plausibility(len(rows), inside, 0, 0)
    assert _line(run) == (
        f"told   beside the published run: {inside} of {len(rows)} lie in the 95 % prediction interval of runs on "
        "3 machines or more; a run is not refused for the others"
    )


@pytest.mark.parametrize("factors", [_ALIKE, _FASTER])
def test_what_two_machines_hold_is_held_against_the_usual_distance_of_two_runs(
    run: Run, monkeypatch: pytest.MonkeyPatch, factors: tuple[float, ...]
) -> None:
    _publish(monkeypatch, copies(run, factors, machines=2))
    rows = _compared(run).ratios
    assert plausibility(run, _compared(run)) == Plausibility(0, 0, len(rows), len(rows))
    assert _line(run) == (
        f"told   beside the published run: {len(rows)} of {len(rows)} lie where another machine and hour put 95 of 100; "
        "a run is not refused for the others"
    )


def test_cells_that_too_few_hold_are_the_rest(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    lacking = [
        replace(one, trials=one.trials.filter(pl.col("contestant") != SPACETIMEDB_RUST.name))
        for one in copies(run, _FASTER, machines=3)
    ]
    _publish(monkeypatch, lacking)
    found = plausibility(run, _compared(run))
    rest = sum(SPACETIMEDB_RUST.name in row.quantity for row in _compared(run).ratios)
    assert (found.compared, found.usual) == (rest, rest)
    assert rest > 0
    assert 0 < found.inside < found.foretold == len(_compared(run).ratios) - rest
    assert f"; of the rest, {rest} of {rest} lie where another machine and hour put 95 of 100;" in _line(run)


def test_a_number_of_the_chapter_is_asked_by_what_its_page_says(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = Ratio(SPACETIMEDB.name, DRIZZLE.name, 0.0)
    number = KnownNumber(runs.CHAPTER, runs.CHAPTER, "", "", "", 5, run.run_id, "2026-01-01", source)
    for module in ("stated", "plausibility"):
        monkeypatch.setattr(
            f"gapbook.method.{module}.known_numbers", lambda: KnownNumbers({"synthetic-gap": number}, {})
        )
    for factors, inside in ((_ALIKE, 1), (_FASTER, 0)):
        _publish(monkeypatch, copies(run, factors, machines=3))
        assert [row.quantity for row in _compared(run).rows] == ["synthetic-gap"]
        assert plausibility(run, _compared(run)) == Plausibility(1, inside, 0, 0)
