"""What a reader chooses of a contestant: in words, by a name that lasts, and told apart within a run."""

from __future__ import annotations

import shlex

import pytest

from gapbook.book.chapters import require_executable
from gapbook.book.stated import require_stated
from gapbook.errors import RecordError
from gapbook.pages.choices import DIMENSIONS
from gapbook.pages.explorer import Explorer, HeldCell
from gapbook.parameters import parse_assignment


@pytest.fixture(scope="module")
def explorer() -> Explorer:
    return Explorer()


def _cell(explorer: Explorer, chapter: str, name: str) -> HeldCell:
    return next(
        one
        for one in explorer.cells
        if (one.found.scenario.chapter, one.contestant.name, one.exponent) == (chapter, name, 0)
    )


def test_choices_say_what_was_set(explorer: Explorer) -> None:
    cell = _cell(explorer, "todays-headline", "postgres-drizzle-server-gives-up")
    told = dict(zip(DIMENSIONS, cell.side, strict=True))
    assert [one.words for one in cell.side] == [
        f"Postgres {cell.found.run.manifest.systems['postgres'].version}",
        "TypeScript client",
        "HTTP server in Node.js, waits before it tries again",
        "Drizzle (ORM)",
        "one request at a time",
        "waits for the disk",
        "serializable, gives up after 9 retries",
    ]
    assert (told["between"].name, told["written"].name, told["disk"].name) == (
        "server",
        "drizzle",
        "fsync-per-commit",
    )
    assert (cell.load.name, cell.exponent) == ("64-1-destination", 0)


def test_no_two_contestants_of_a_run_have_the_same_choices(explorer: Explorer) -> None:
    for found in explorer.found:
        cells = [cell for cell in explorer.cells if cell.found is found]
        for at in {cell.at for cell in cells}:
            sides = [cell.side for cell in cells if cell.at == at]
            assert len(set(sides)) == len(sides), (found.scenario.chapter, at)


def test_a_name_stands_for_one_choice_and_fits_an_address(explorer: Explorer) -> None:
    for place, dimension in enumerate(DIMENSIONS):
        choices = {cell.side[place] for cell in explorer.cells}
        assert len({one.name for one in choices}) == len(choices), dimension
        assert not any({*one.name} & {*"_&=# "} for one in choices)


def test_what_is_chosen_is_a_real_server_of_a_run_that_is_not_replaced(explorer: Explorer) -> None:
    assert not any(cell.contestant.simulated for cell in explorer.cells)
    chapters = [found.scenario.chapter for found in explorer.found]
    assert len(set(chapters)) == len(chapters) > 1
    began = [found.run.manifest.started_unix_s for found in explorer.found]
    assert began == sorted(began, reverse=True)
    with pytest.raises(RecordError, match="has no cell of nobody"):
        explorer.page("fair", "nobody", "nobody", 0.5)


def test_every_command_is_one_that_its_chapter_takes(explorer: Explorer) -> None:
    for run in explorer.content(explorer.cells[0], explorer.cells[1])["runs"]:
        names = ",".join(name for name, *_ in run["contestants"])
        for treatment, *_ in run["at"]:
            told = f"{run['command']} -p contestants={names} -p {run['treatment']}={treatment}"
            _, _, chapter, *assignments = shlex.split(told)
            parameters = {"source": "live", **dict(parse_assignment(text) for text in assignments[1::2])}
            require_executable(chapter, parameters)
            require_stated(chapter, parameters)


def test_an_example_says_only_what_its_run_shows(explorer: Explorer) -> None:
    fast, slow = "spacetimedb-2-waits-deep", "postgres-waits-deep"
    assert " times [" in explorer.examples(("A", "both-optimized", fast, slow, 0.5))
    with pytest.raises(RecordError, match="is not shown to do more"):
        explorer.examples(("A", "both-optimized", slow, fast, 0.5))
    with pytest.raises(RecordError, match="a newer run"):
        explorer.examples(("A", "fair", "spacetimedb-2-typescript-waits", "procedure-typescript-waits", 1.5))
