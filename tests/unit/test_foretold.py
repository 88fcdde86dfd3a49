"""What left the interval that earlier runs foretold: planted where it did, where it did not, and where nobody can ask."""

from __future__ import annotations

from pathlib import Path

import pytest

from gapbook.method import over_runs
from gapbook.method.foretold import foretold, over_runs_of
from gapbook.method.over_runs import OverRuns
from gapbook.method.source import Kept, Rate, Ratio, Source
from gapbook.method.stated import KnownNumber, KnownNumbers, known_numbers
from gapbook.pages import foretold as foretold_page
from gapbook.pages.foretold import Asked, asked, foretold_facts, left_table
from gapbook.record.run import Run
from tests.unit import stored_runs as runs
from tests.unit.runs_on_machines import copies, findings_of
from tests.unit.stored_runs import DRIZZLE, SPACETIMEDB

_RATIO = Ratio(SPACETIMEDB.name, DRIZZLE.name, 0.0)
_PART = Kept(SPACETIMEDB.name, 1.5, 0.0)
_ALIKE = (1.0, 1.02, 0.98)
"""How much faster SpacetimeDB is in each of the earlier runs."""


@pytest.fixture(name="run", scope="module")
def _run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder: Path = tmp_path_factory.mktemp("foretold")
    return runs.store(folder, runs.whole())


def _publish(
    monkeypatch: pytest.MonkeyPatch, run: Run, factors: tuple[float, ...], *, machines: int
) -> list[Run]:
    """As if the book had these runs and no others."""
    every = copies(run, factors, machines=machines)
    found = findings_of(every)
    for module in (over_runs, foretold_page):
        monkeypatch.setattr(module, "published_findings", lambda: found)
    return every


def _several(found_runs: list[Run], source: Source = _RATIO) -> OverRuns:
    several = over_runs_of(source, findings_of(found_runs[-1:])[0][0])
    assert several is not None
    assert several.runs == len(found_runs)
    return several


@pytest.mark.parametrize(("newest", "left"), [(1.01, False), (1.5, True), (0.6, True)])
def test_the_newest_run_is_held_against_those_before_it_alone(
    run: Run, monkeypatch: pytest.MonkeyPatch, newest: float, left: bool
) -> None:
    every = _publish(monkeypatch, run, (*_ALIKE, newest), machines=4)
    told = foretold(_several(every), every[-1])
    assert told is not None
    assert told.left is left
    assert [one.run.run_id for one in told.others.each] == [one.run_id for one in every[:-1]]
    # What the newest found moves nothing that was foretold.
    before = _several(_publish(monkeypatch, run, _ALIKE, machines=4))
    assert told.interval == before.next_estimate
    assert before.between.expected == told.others.between.expected != ""


def test_nothing_is_foretold_by_runs_on_two_machines(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    every = _publish(monkeypatch, run, (*_ALIKE, 1.0, 9.0), machines=2)
    assert foretold(_several(every), every[-1]) is None


def test_nothing_is_foretold_for_a_run_that_is_none_of_them(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = _publish(monkeypatch, run, (*_ALIKE, 1.0), machines=4)
    assert foretold(_several(every), run) is None


def test_a_part_of_a_rate_is_foretold_too_and_a_rate_is_not(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = _publish(monkeypatch, run, (*_ALIKE, 9.0), machines=4)
    told = foretold(_several(every, _PART), every[-1])
    assert told is not None
    # Both of its rates are as much faster there.
    assert not told.left
    (found, _) = findings_of(every[-1:])[0]
    assert over_runs_of(Rate(SPACETIMEDB.name, 0.0), found) is None


def _asked(
    monkeypatch: pytest.MonkeyPatch, run: Run, factors: tuple[float, ...], sources: dict[str, Source | None]
) -> list[Asked]:
    every = _publish(monkeypatch, run, factors, machines=len(factors))
    # The page of a number can show an older run than the newest that holds its cells.
    numbers = {
        address: KnownNumber("page", runs.CHAPTER, "", "", "", 5, every[1].run_id, "2026-01-01", source)
        for address, source in sources.items()
    }
    monkeypatch.setattr(foretold_page, "known_numbers", lambda: KnownNumbers(numbers, {}))
    return list(asked.__wrapped__())


@pytest.mark.parametrize(("newest", "left"), [(1.01, False), (1.5, True)])
def test_a_number_that_left_is_in_the_table_and_counted(
    run: Run, monkeypatch: pytest.MonkeyPatch, newest: float, left: bool
) -> None:
    sources: dict[str, Source | None] = {
        "page-ratio": _RATIO,
        "page-part": _PART,
        "page-rate": Rate(DRIZZLE.name, 0.0),
        "page-words": None,
    }
    every = _asked(monkeypatch, run, (*_ALIKE, newest), sources)
    assert [one.address for one in every] == ["page-ratio", "page-part"]
    assert foretold_facts(every) == {
        "foretold_asked": "2",
        "foretold_left": str(int(left)),
        "foretold_by_chance": "5 %",
    }
    table = left_table(every).html
    assert ("None of them did." in table) is not left
    if left:
        newest_run = every[0].told.found
        assert '<a href="../n/page-ratio.html">page-ratio</a>' in table
        assert "page-part" not in table
        for words in (
            every[0].told.others.between.expected,
            newest_run.interval.as_factor(),
            f"synthetic, run {newest_run.run.run_id}",
            "Zen 2 (family not recorded), 2 cores",
        ):
            assert words in table


def test_a_part_stands_in_percent(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    (one,) = _asked(monkeypatch, run, (*_ALIKE, 1.0), {"page-part": _PART})
    _, expected, found, *_ = map(str, one.row())
    assert expected.endswith(" %")
    assert found.startswith("40.0 %")


def test_a_number_of_a_run_that_is_not_published_is_not_asked(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    _publish(monkeypatch, run, (*_ALIKE, 1.0), machines=4)
    number = KnownNumber("page", runs.CHAPTER, "", "", "", 5, "f" * 12, "2026-01-01", _RATIO)
    monkeypatch.setattr(foretold_page, "known_numbers", lambda: KnownNumbers({"page-ratio": number}, {}))
    assert asked.__wrapped__() == ()


def test_of_the_published_book_those_are_asked_that_three_machines_held_before() -> None:
    every = asked()
    assert every
    numbers = known_numbers().numbers
    for one in every:
        assert numbers[one.address].source == one.source
        assert one.told.others.machines >= 3
        began = [each.began_unix_s for each in one.told.others.each]
        assert max(began) < one.told.found.began_unix_s
