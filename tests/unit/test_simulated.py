"""What a simulation comes to is kept, as long as its code and what it is asked are the same."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gapbook.method.coverage import Coverage, Plant, measure_coverage
from gapbook.pages.simulated import KNOWN, imported_by, key_of, read_outcomes, simulated
from gapbook.paths import CHECKOUT
from tests.drawn import drawn

_COVERAGES = {
    key: msgspec.convert(outcome, Coverage)
    for key, outcome in read_outcomes(KNOWN).items()
    if "plant" in outcome
}


@dataclass(frozen=True)
class _Outcome:
    asked: int
    value: float


_made: list[int] = []


def _simulate(asked: int, *, value: float = 0.5) -> _Outcome:
    _made.append(asked)
    return _Outcome(asked, value)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GAPBOOK_CACHE", str(tmp_path))
    _made.clear()


def test_no_simulation_is_made_twice() -> None:
    assert [simulated(_simulate, 3), simulated(_simulate, 3)] == [_Outcome(3, 0.5)] * 2
    assert simulated(_simulate, 4) == _Outcome(4, 0.5)
    assert simulated(_simulate, 4, value=0.1) == _Outcome(4, 0.1)
    assert _made == [3, 4, 4]


def test_what_json_does_not_hold_is_made_each_time() -> None:
    for _ in range(2):
        assert simulated(_simulate, 3, value=math.inf).value == math.inf
    assert _made == [3, 3]


def test_a_cache_that_cannot_be_written_costs_time_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    occupied = tmp_path / "file"
    occupied.touch()
    monkeypatch.setenv("GAPBOOK_CACHE", str(occupied))
    assert [simulated(_simulate, 3), simulated(_simulate, 3)] == [_Outcome(3, 0.5)] * 2
    assert _made == [3, 3]


def test_an_outcome_is_that_of_all_code_that_computes_it() -> None:
    names = {str(file.relative_to(CHECKOUT)) for file in imported_by("gapbook.method.coverage")}
    assert {f"gapbook/method/{name}.py" for name in ("coverage", "estimate", "factors", "student")} <= names
    assert "gapbook/model/plan.py" in names
    assert not any(name.startswith("gapbook/charts") for name in names)


def test_outcomes_that_the_book_keeps_are_those_of_this_code() -> None:
    asked = {
        key_of(measure_coverage, one.plant, blocks=one.blocks, seeds=one.seeds) for one in _COVERAGES.values()
    }
    assert asked == _COVERAGES.keys(), "write them anew: python -m gapbook.book.simulations"


@pytest.mark.parametrize("key", drawn(sorted(_COVERAGES), 1))
def test_an_outcome_that_the_book_keeps_comes_out_again(key: str) -> None:
    kept = _COVERAGES[key]
    again = measure_coverage(kept.plant, blocks=kept.blocks, seeds=kept.seeds)
    assert _alike(msgspec.to_builtins(again), msgspec.to_builtins(kept)), again


def _alike(one: Any, other: Any) -> bool:
    """Counts and words to the letter; another processor adds floats in another order."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_alike(value, other[key]) for key, value in one.items())
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(_alike, one, other))
    return math.isclose(one, other, rel_tol=1e-9) if isinstance(one, float) else bool(one == other)


def test_outcomes_that_differ_in_a_count_or_a_width_are_not_alike() -> None:
    kept = msgspec.to_builtins(next(iter(_COVERAGES.values())))
    for name, changed in (("covered", 1), ("width_log", 1e-6)):
        other = msgspec.json.decode(msgspec.json.encode(kept))
        other["quantities"][0][name] += changed
        assert _alike(kept, kept)
        assert not _alike(other, kept)


def test_plants_are_asked_by_their_every_number() -> None:
    one, other = (
        key_of(measure_coverage, Plant(drift_per_trial=n), blocks=5, seeds=400) for n in (0.0, 0.02)
    )
    assert one != other
