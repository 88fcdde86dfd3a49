"""The audit replays the work, and one unit out of place is seen."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from gapbook.model.work import AliasTable, draw_transfers
from gapbook.trial.audit import expected_balances, reconcile

TABLE = AliasTable.zipf(50, 1.0)
COMMON: dict[str, Any] = {"table": TABLE, "seed": 11, "amount_max": 1000, "initial_balance": 10_000}


def served(connections: list[dict[str, Any]]) -> NDArray[np.int64]:
    """Balances of a server that applies each acknowledged transfer, one after the other."""
    balances = np.full(50, 10_000, dtype=np.int64)
    for row in connections:
        left_out = {index for index, _ in row["failed"]} | set(row["in_doubt"])
        kept = np.array([i for i in range(row["issued"]) if i not in left_out], dtype=np.uint64)
        drawn = draw_transfers(TABLE, seed=11, connection=row["connection"], indices=kept, amount_max=1000)
        for source, destination, amount in zip(drawn.source, drawn.destination, drawn.amount, strict=True):
            balances[source] -= int(amount)
            balances[destination] += int(amount)
    return balances


@pytest.fixture
def report() -> dict[str, Any]:
    return {
        "acknowledged": 298,
        "in_doubt": 0,
        "connections": [
            {"connection": 0, "issued": 100, "failed": [[17, "insufficient"], [99, "error"]], "in_doubt": []},
            {"connection": 5, "issued": 200, "failed": [], "in_doubt": []},
        ],
    }


def test_an_honest_server_agrees(report: dict[str, Any]) -> None:
    audit = reconcile(report, committed=298, balances=served(report["connections"]), **COMMON)
    assert audit.agrees
    assert audit.mismatched_accounts == 0


def test_failed_indices_are_left_out(report: dict[str, Any]) -> None:
    without = served(report["connections"])
    report["connections"][0]["failed"] = []
    assert (expected_balances(connections=report["connections"], **COMMON) != without).any()


def test_one_unit_too_much_on_one_account_is_refused(report: dict[str, Any]) -> None:
    balances = served(report["connections"])
    balances[3] += 1
    audit = reconcile(report, committed=298, balances=balances, **COMMON)
    assert not audit.agrees
    assert audit.mismatched_accounts == 1
    assert "sum of all balances moved by 1" in audit.explain()


def test_a_swap_that_keeps_the_sum_is_refused(report: dict[str, Any]) -> None:
    balances = served(report["connections"])
    balances[3] += 1
    balances[4] -= 1
    assert reconcile(report, committed=298, balances=balances, **COMMON).mismatched_accounts == 2


@pytest.mark.parametrize(("committed", "in_doubt"), [(297, 0), (299, 0), (298, 1)])
def test_counts_that_differ_or_doubt_are_refused(
    report: dict[str, Any], committed: int, in_doubt: int
) -> None:
    report["in_doubt"] = in_doubt
    audit = reconcile(report, committed=committed, balances=served(report["connections"]), **COMMON)
    assert not audit.agrees


def test_a_missing_account_is_refused(report: dict[str, Any]) -> None:
    audit = reconcile(report, committed=298, balances=served(report["connections"])[:-1], **COMMON)
    assert not audit.agrees


# --- engines that keep no count ---------------------------------------------------------------
def test_without_a_count_of_the_engine_the_balances_decide(report: dict[str, Any]) -> None:
    balances = served(report["connections"])
    audit = reconcile(report, committed=None, counts_commits=False, balances=balances, **COMMON)
    assert audit.agrees
    assert audit.explain() == (
        "298 acknowledged, not compared with commits because the engine keeps no commit count; 50 balances agree"
    )
    rolled_back = reconcile(report, committed=None, balances=balances, **COMMON)
    assert rolled_back.agrees
    assert "because transactions of the trial were rolled back" in rolled_back.explain()
    balances[3] += 1
    balances[4] -= 1
    audit = reconcile(report, committed=None, balances=balances, **COMMON)
    assert not audit.agrees
    assert audit.explain() == "2 of 50 balances differ"


def test_without_a_count_doubt_is_still_refused(report: dict[str, Any]) -> None:
    report["in_doubt"] = 1
    audit = reconcile(report, committed=None, balances=served(report["connections"]), **COMMON)
    assert not audit.agrees
    assert audit.explain() == "1 requests in doubt"


def test_without_a_count_no_number_of_acknowledgements_can_be_invented(report: dict[str, Any]) -> None:
    report["acknowledged"] = 2980
    audit = reconcile(report, committed=None, balances=served(report["connections"]), **COMMON)
    assert not audit.agrees
    assert audit.explain() == "2,980 acknowledged but 298 listed by connection"


# --- a client that draws the same transfers again ---------------------------------------------
def replayed(connections: list[dict[str, Any]], batch: int) -> NDArray[np.int64]:
    """Balances of a server whose client begins again after each ``batch`` transfers of a connection."""
    balances = np.full(50, 10_000, dtype=np.int64)
    for row in connections:
        left_out = {index for index, _ in row["failed"]} | set(row["in_doubt"])
        for index in set(range(row["issued"])) - left_out:
            drawn = draw_transfers(
                TABLE,
                seed=11,
                connection=row["connection"],
                indices=np.array([index % batch], dtype=np.uint64),
                amount_max=1000,
            )
            balances[drawn.source[0]] -= int(drawn.amount[0])
            balances[drawn.destination[0]] += int(drawn.amount[0])
    return balances


@pytest.mark.parametrize("batch", [1, 7, 99, 100])
def test_replayed_transfers_are_audited_as_what_they_are(report: dict[str, Any], batch: int) -> None:
    balances = replayed(report["connections"], batch)
    assert reconcile(report, committed=298, balances=balances, replayed_batch=batch, **COMMON).agrees
    honest = reconcile(report, committed=298, balances=balances, **COMMON)
    assert not honest.agrees
    assert honest.mismatched_accounts > 0


def test_a_batch_longer_than_the_load_changes_nothing(report: dict[str, Any]) -> None:
    balances = served(report["connections"])
    assert reconcile(report, committed=298, balances=balances, replayed_batch=200, **COMMON).agrees
