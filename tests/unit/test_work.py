"""The work is the published generator, the same in every language, and draws what it says."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from gapbook.errors import ParameterError
from gapbook.model.declaration import workload_names
from gapbook.model.work import AliasTable, hot_share, philox4x32
from gapbook.paths import CHECKOUT
from gapbook.trial.workloads import find_workload

GOLDEN = sorted((CHECKOUT / "workloads").glob("*/golden/*.json"))


def u32(*values: int) -> tuple[np.ndarray, ...]:
    return tuple(np.array([value], np.uint32) for value in values)


@pytest.mark.parametrize(
    ("counter", "key", "expected"),
    [
        ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            (0xA4093822, 0x299F31D0),
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ],
)
def test_philox_gives_the_published_known_answers(
    counter: tuple[int, ...], key: tuple[int, int], expected: tuple[int, ...]
) -> None:
    drawn = philox4x32(u32(*counter), key)  # type: ignore[arg-type]
    assert tuple(int(word[0]) for word in drawn) == expected


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: f"{path.parts[-3]}/{path.stem}")
def test_golden_vectors_are_drawn(path: Path, tmp_path: Path) -> None:
    vector = json.loads(path.read_text(encoding="utf-8"))
    workload = find_workload(vector["workload"], vector["parameters"])
    assert workload.name == path.parts[-3]
    files = workload.files(tmp_path)
    assert files.keys() == vector["files"].keys()
    for name, stored in vector["files"].items():
        assert files[name].path.read_bytes() == (path.parent / stored["path"]).read_bytes()
        assert files[name].sha256 == stored["sha256"]
    first, count = vector["first_index"], len(vector["operations"])
    indices = np.arange(first, first + count, dtype=np.uint64)
    rows: list[list[Any]] = [[] for _ in range(count)]
    for kind, drawn in workload.draw(vector["seed"], vector["connection"], indices).items():
        for place, *fields in drawn.rows():
            rows[place] = [kind, *fields]
    assert rows == vector["operations"]


def test_every_workload_has_vectors_that_differ() -> None:
    assert {path.parts[-3] for path in GOLDEN} == set(workload_names())
    assert len({path.read_bytes() for path in GOLDEN}) == len(GOLDEN) >= 10


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.5, 4.0])
def test_alias_table_gives_zipf_probabilities(alpha: float) -> None:
    weights = np.arange(1, 1001, dtype=np.float64) ** -alpha
    given = AliasTable.zipf(1000, alpha).probabilities()
    assert np.abs(given - weights / weights.sum()).max() < 1e-9


def test_drawn_frequencies_follow_the_table_and_no_account_pays_itself() -> None:
    drawn = transfers(alpha=1.0, amount_max=1000)
    assert (drawn["from"] != drawn["to"]).all()
    assert drawn["amount"].min() == 1
    assert drawn["amount"].max() == 1000
    # Redrawing both keeps source and destination alike, so that no account is drained.
    source = np.bincount(drawn["from"].to_numpy(), minlength=100)
    destination = np.bincount(drawn["to"].to_numpy(), minlength=100)
    assert abs(int(source[0]) - int(destination[0])) < 5 * np.sqrt(source[0])
    # Both are p_i (1 - p_i) / (1 - sum p^2), not p_i.
    p = AliasTable.zipf(100, 1.0).probabilities()
    expected = p * (1 - p) / (1 - (p**2).sum())
    assert abs(source[0] / 200_000 - expected[0]) < 0.005


@pytest.mark.parametrize("redraw", ["both", "destination"])
def test_the_hottest_account_is_touched_as_often_as_is_computed(redraw: str) -> None:
    drawn = transfers(alpha=1.5, amount_max=1, redraw=redraw)
    touched = 100 * float(((drawn["from"] == 0) | (drawn["to"] == 0)).to_numpy().mean())
    assert touched == pytest.approx(100 * hot_share(AliasTable.zipf(100, 1.5), redraw), abs=0.5)
    assert (drawn["amount"] == 1).all()
    assert (drawn["from"] != drawn["to"]).all()


def transfers(**parameters: Any) -> pl.DataFrame:
    workload = find_workload("transfer", {"accounts": 100, **parameters})
    return workload.draw(7, 3, np.arange(200_000, dtype=np.uint64))["transfer"]


def test_a_redraw_that_is_none_is_refused() -> None:
    with pytest.raises(
        ParameterError, match="redraw: 'source' is not allowed by workload transfer; allowed: both"
    ):
        find_workload("transfer", {"redraw": "source"})
