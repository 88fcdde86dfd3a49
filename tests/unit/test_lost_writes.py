"""The search for what survived: exact where the balances decide it, silent where they do not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from gapbook.model.work import AliasTable
from gapbook.trial.audit import expected_balances
from gapbook.trial.lost_writes import IssuedWork, issued_work, surviving_prefixes

_SEED = 20261121
_AMOUNT_MAX = 1000
_INITIAL = 10_000_000
_CONNECTIONS = 8


def _row(connection: int, issued: int, **changed: Any) -> dict[str, Any]:
    return {"connection": connection, "issued": issued, "failed": [], "in_doubt": [], **changed}


def _balances(table: AliasTable, issued: list[int]) -> NDArray[np.int64]:
    return expected_balances(
        table,
        seed=_SEED,
        amount_max=_AMOUNT_MAX,
        initial_balance=_INITIAL,
        connections=[_row(number, length) for number, length in enumerate(issued)],
    )


def _search(work: list[IssuedWork], balances: NDArray[np.int64], table: AliasTable) -> list[int] | None:
    return surviving_prefixes(
        work, balances, table, seed=_SEED, amount_max=_AMOUNT_MAX, initial_balance=_INITIAL
    )


@pytest.mark.parametrize(
    ("accounts", "issued", "lost"),
    [
        (100_000, 500, [0, 0, 0, 17, 0, 0, 0, 0]),
        (100_000, 500, [0] * _CONNECTIONS),
        (100_000, 500, [500] * _CONNECTIONS),
        # Every account is touched by many lost transfers.
        (1000, 2000, [2000, 1, 1500, 3, 700, 0, 42, 1999]),
    ],
)
def test_planted_losses_are_found_to_the_unit(accounts: int, issued: int, lost: list[int]) -> None:
    table = AliasTable.zipf_cached(accounts, 0.0)
    kept = [issued - gone for gone in lost]
    work = [issued_work(_row(number, issued), in_flight=1) for number in range(_CONNECTIONS)]
    found = _search(work, _balances(table, kept), table)
    assert found == kept
    assert [one.lost(prefix) for one, prefix in zip(work, found, strict=True)] == lost


def test_balances_that_no_prefixes_explain_have_no_answer() -> None:
    table = AliasTable.zipf_cached(100_000, 0.0)
    work = [issued_work(_row(number, 500), in_flight=1) for number in range(_CONNECTIONS)]
    balances = _balances(table, [490] * _CONNECTIONS)
    assert _search(work, balances, table) == [490] * _CONNECTIONS
    balances[[3, 4]] += (1, -1)
    assert _search(work, balances, table) is None


def test_a_transfer_missing_in_the_middle_has_no_answer() -> None:
    table = AliasTable.zipf_cached(100_000, 0.0)
    work = [issued_work(_row(0, 500), in_flight=1)]
    with_a_hole = expected_balances(
        table,
        seed=_SEED,
        amount_max=_AMOUNT_MAX,
        initial_balance=_INITIAL,
        connections=[_row(0, 500, in_doubt=[250])],
    )
    assert _search(work, with_a_hole, table) is None


def test_two_answers_are_none() -> None:
    """One unit at a time between two accounts: a transfer and the one back leave the balances as they were."""
    table = AliasTable.zipf_cached(2, 0.0)
    once: dict[str, Any] = {"seed": _SEED, "amount_max": 1, "initial_balance": _INITIAL}
    work = [issued_work(_row(0, 40), in_flight=1)]
    found = [
        surviving_prefixes(
            work, expected_balances(table, connections=[_row(0, length)], **once), table, **once
        )
        for length in range(41)
    ]
    assert None in found
    assert all(prefix is None or prefix == [length] for length, prefix in enumerate(found))


def test_what_was_refused_is_left_out_and_what_was_in_doubt_comes_last() -> None:
    row = _row(3, 8, failed=[[2, "insufficient"], [4, "error"]], in_doubt=[6, 7])
    work = issued_work(row, in_flight=2)
    assert work.indices.tolist() == [0, 1, 3, 5, 6, 7]
    assert work.acknowledged.tolist() == [True] * 4 + [False] * 2
    assert (work.lost(3), work.committed_in_doubt(3)) == (1, 0)
    assert (work.lost(5), work.committed_in_doubt(5)) == (0, 1)


def test_first_errors_after_the_last_acknowledgement_are_in_doubt() -> None:
    """A tier answers for a server that died: what was out then may have been committed, later ones not."""
    refused = [[1, "error"], [3, "error"], [4, "error"], [5, "insufficient"], [6, "error"]]
    row = _row(0, 7, failed=refused)
    assert issued_work(row, in_flight=1).indices.tolist() == [0, 2, 3]
    work = issued_work(row, in_flight=2)
    assert work.indices.tolist() == [0, 2, 3, 4]
    assert work.acknowledged.tolist() == [True, True, False, False]
