"""The work is the published generator, the same in every language, and draws what it says."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gapbook.errors import ParameterError
from gapbook.model.work import AliasTable, draw_transfers, hot_share, philox4x32
from gapbook.paths import CHECKOUT
from gapbook.trial.audit import expected_balances
from gapbook.trial.scenario import Workload

GOLDEN = CHECKOUT / "clients" / "golden"


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


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("alpha-*.json")), ids=lambda path: path.stem)
def test_golden_vectors_are_drawn(path: Path) -> None:
    vector = json.loads(path.read_text())
    table = AliasTable.zipf(vector["accounts"], vector["alpha"])
    assert table.to_bytes() == (GOLDEN / vector["alias_table"]).read_bytes()
    first = vector["first_index"]
    drawn = draw_transfers(
        table,
        seed=vector["seed"],
        connection=vector["connection"],
        indices=np.arange(first, first + len(vector["operations"]), dtype=np.uint64),
        amount_max=vector["amount_max"],
        redraw=vector.get("redraw", "both"),
    )
    columns = (drawn.source.tolist(), drawn.destination.tolist(), drawn.amount.tolist())
    assert [list(row) for row in zip(*columns, strict=True)] == vector["operations"]


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.5, 4.0])
def test_alias_table_gives_zipf_probabilities(alpha: float) -> None:
    weights = np.arange(1, 1001, dtype=np.float64) ** -alpha
    given = AliasTable.zipf(1000, alpha).probabilities()
    assert np.abs(given - weights / weights.sum()).max() < 1e-9


def test_drawn_frequencies_follow_the_table_and_no_account_pays_itself() -> None:
    table = AliasTable.zipf(100, 1.0)
    drawn = draw_transfers(
        table, seed=7, connection=3, indices=np.arange(200_000, dtype=np.uint64), amount_max=1000
    )
    assert (drawn.source != drawn.destination).all()
    assert drawn.amount.min() == 1
    assert drawn.amount.max() == 1000
    # Redrawing both keeps source and destination alike, so that no account is drained.
    source = np.bincount(drawn.source, minlength=100)
    destination = np.bincount(drawn.destination, minlength=100)
    assert abs(int(source[0]) - int(destination[0])) < 5 * np.sqrt(source[0])
    # Both are p_i (1 - p_i) / (1 - sum p^2), not p_i.
    p = table.probabilities()
    expected = p * (1 - p) / (1 - (p**2).sum())
    assert abs(source[0] / 200_000 - expected[0]) < 0.005


@pytest.mark.parametrize("redraw", ["both", "destination"])
def test_the_hottest_account_is_touched_as_often_as_is_computed(redraw: str) -> None:
    table = AliasTable.zipf(100, 1.5)
    drawn = draw_transfers(
        table, seed=7, connection=3, indices=np.arange(200_000, dtype=np.uint64), amount_max=1, redraw=redraw
    )
    touched = 100 * float(((drawn.source == 0) | (drawn.destination == 0)).mean())
    assert touched == pytest.approx(100 * hot_share(table, redraw), abs=0.5)
    assert (drawn.amount == 1).all()
    assert (drawn.source != drawn.destination).all()


def test_the_audit_replays_the_redraw_that_the_load_had() -> None:
    table = AliasTable.zipf(10, 1.5)
    common: dict[str, Any] = {"seed": 7, "amount_max": 9, "initial_balance": 1000}
    rows = [{"connection": 0, "issued": 500, "failed": [], "in_doubt": []}]
    both = expected_balances(table, connections=rows, **common)
    destination = expected_balances(table, connections=rows, redraw="destination", **common)
    assert (both != destination).any()
    assert both.sum() == destination.sum()


def test_a_redraw_that_is_none_is_refused() -> None:
    with pytest.raises(ParameterError, match="redraw: 'source' is unknown; allowed: both, destination"):
        Workload(100, redraw="source")
