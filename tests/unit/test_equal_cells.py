"""One value for one cell: chapters that were measured together hold the same trials, and print the same digits."""

from __future__ import annotations

from itertools import combinations

import pytest

from gapbook.book.plans import planned_chapters
from gapbook.method.findings import Findings
from gapbook.method.interval import format_factor
from gapbook.record.published import measurement_of
from gapbook.record.run import Run, latest_published
from tests.unit.stored_runs import cells_by_key

_TOGETHER = (
    ("original", "fair", "both-optimized"),
    ("contention", "where-the-gap-comes-from", "colocation"),
)


@pytest.mark.parametrize("chapters", _TOGETHER)
def test_chapters_of_one_workload_were_measured_together(chapters: tuple[str, ...]) -> None:
    runs = [latest_published(chapter) for chapter in chapters]
    assert len({measurement_of(run) for run in runs}) == 1
    keys = [cells_by_key(run).keys() for run in runs]
    assert all(one & other for one, other in combinations(keys, 2))


def test_equal_cells_of_one_measurement_have_equal_trials_and_equal_digits() -> None:
    runs = [latest_published(chapter) for chapter in planned_chapters()]
    compared = 0
    for one, other in combinations(runs, 2):
        if measurement_of(one) != measurement_of(other):
            continue
        ours, theirs = cells_by_key(one), cells_by_key(other)
        for key in ours.keys() & theirs.keys():
            told = [_told(run, cells[key]) for run, cells in ((one, ours), (other, theirs))]
            assert told[0] == told[1], (one.manifest.chapter, other.manifest.chapter, ours[key])
            compared += 1
    assert compared


def _told(run: Run, cell: tuple[str, float]) -> tuple[list[tuple[int, float]], str]:
    """The numbers and rates of a cell's trials, and its rate as a page prints it."""
    contestant, treatment = cell
    trials = run.trials.filter(contestant=contestant, treatment=treatment).sort("trial")
    rate = Findings(run, run.manifest.chapter).goodput(contestant, treatment)
    return list(trials.select("trial", "goodput_per_s").iter_rows()), format_factor(
        rate.estimate
    ) if rate else ""
