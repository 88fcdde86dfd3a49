"""What carries the movement between two machines: found again where it was planted."""

from __future__ import annotations

import math
import random
from itertools import product
from typing import Any

import pytest

from gapbook.errors import RecordError
from gapbook.method.movement import Moved, explained, moved, noise_frac, ratio_moves
from gapbook.pages.movement import Movement
from gapbook.record.published import published_runs

_SETTINGS = ("disk", "client", "alpha")


def _cells(disk: float, client: float, noise: float = 0.02) -> list[Moved]:
    """Four of each combination, whose rates the second machine changes by a factor for the disk and one for the client."""
    drawn = random.Random(20261128)
    return [
        Moved(
            {"disk": words[0], "client": words[1], "alpha": words[2]},
            (math.log(disk) if words[0] == "waits" else 0.0)
            + (math.log(client) if words[1] == "Rust" else 0.0)
            + drawn.gauss(0, noise),
            noise**2,
        )
        for words in product(("waits", "later"), ("Rust", "Node.js"), ("0.5", "1.5"))
        for _ in range(4)
    ]


def test_what_was_planted_is_found_the_strongest_first() -> None:
    found = explained(_cells(disk=0.5, client=1.3), _SETTINGS)
    assert [one.setting for one in found] == ["disk", "client"]
    disk, client = found
    # log(2)^2 against log(1.3)^2, of groups of one size.
    assert disk.alone_frac == pytest.approx(0.87, abs=0.03)
    assert client.together_frac > 0.99
    factors = {group.words: group.factor for group in disk.groups}
    assert factors["waits"] / factors["later"] == pytest.approx(0.5, rel=0.02)
    assert [group.cells for group in disk.groups] == [16, 16]


def test_nothing_is_found_where_only_noise_is() -> None:
    cells = _cells(disk=1.0, client=1.0)
    assert all(one.alone_frac < 0.2 for one in explained(cells, _SETTINGS))
    assert noise_frac(cells) > 0.6


def test_ratio_of_two_cells_moves_by_what_the_cells_differ() -> None:
    cells = [Moved({}, value, 0.0) for value in (-0.3, 0.3)]
    # Each has the variance 0.18, and their difference twice that.
    assert ratio_moves(cells) == pytest.approx(math.exp(0.6))


def test_a_cell_is_its_geometric_means_and_keeps_its_noise() -> None:
    cell = moved({"disk": "waits"}, [100.0, 400.0], [100.0, 100.0])
    assert cell is not None
    assert cell.log_factor == pytest.approx(math.log(0.5))
    assert cell.noise_variance == pytest.approx(math.log(4) ** 2 / 2 / 2)


@pytest.mark.parametrize("rates", [([100.0], [1.0, 2.0]), ([1.0, 2.0], [])])
def test_a_cell_of_one_block_tells_no_noise_and_is_none(rates: Any) -> None:
    assert moved({}, *rates) is None


def test_too_few_cells_are_refused() -> None:
    with pytest.raises(ValueError, match="2 cells explain nothing"):
        explained(_cells(0.5, 1)[:2], _SETTINGS)


def test_the_page_lays_two_processors_beside_each_other_cell_by_cell() -> None:
    found = Movement()
    facts = found.facts()
    assert facts["moved_then"] != facts["moved_now"]
    assert int(facts["moved_cells"]) == len(found.cells) > 50
    assert {one.setting for one in found.explained} <= set(found.cells[0].settings)
    assert "×" in found.table().html


def test_one_processor_says_nothing_of_two() -> None:
    ours = [run for run in published_runs() if run.manifest.machine.processor == "AMD EPYC"]
    with pytest.raises(RecordError, match="no two runs on two kinds of processor"):
        Movement(ours)
