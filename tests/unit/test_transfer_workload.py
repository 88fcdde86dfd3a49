"""The audit of transfers: an honest server agrees, and every other one is seen."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from gapbook.model.report import Connection
from gapbook.model.reported import Counted, Reported, issued_work, reported_of
from gapbook.model.workload import AuditResult, State, Workload
from gapbook.record.losses import KILL_LOAD
from gapbook.trial.workloads import find_workload
from tests.reports import connection_of

_SEED = 11
_ACCOUNTS = 50
_INITIAL = 10_000
WORKLOAD = find_workload("transfer", {"accounts": _ACCOUNTS, "alpha": 1.0, "initial_balance": _INITIAL})


def row(connection: int, issued: int, **changed: Any) -> Connection:
    return connection_of(connection, issued, **changed)


ROWS = [row(0, 100, failed=[[17, "insufficient"], [99, "error"]]), row(5, 200)]


def transfers(
    connection: int, indices: Iterable[int], workload: Workload = WORKLOAD
) -> list[tuple[int, int, int]]:
    drawn = workload.draw(_SEED, connection, np.array(list(indices), dtype=np.uint64))["transfer"]
    return drawn.select("from", "to", "amount").rows()


def served(rows: list[Connection], *, also: Iterable[tuple[int, int]] = ()) -> NDArray[np.int64]:
    """Balances of a server that applies each acknowledged transfer, one after the other, and ``also`` some."""
    made = [
        (one.connection, index)
        for one in rows
        for index in range(one.issued)
        if index not in {*(index for index, _ in one.failed), *one.in_doubt}
    ]
    balances = np.full(_ACCOUNTS, _INITIAL, dtype=np.int64)
    for connection, index in [*made, *also]:
        ((source, destination, amount),) = transfers(connection, [index])
        balances[source] -= amount
        balances[destination] += amount
    return balances


def state_of(balances: NDArray[np.int64]) -> State:
    return {"accounts": pl.DataFrame({"id": np.arange(len(balances), dtype=np.int64), "balance": balances})}


def audited(balances: NDArray[np.int64], rows: list[Connection] | None = None) -> AuditResult:
    rows = ROWS if rows is None else rows
    in_doubt = sum(len(one.in_doubt) for one in rows)
    return WORKLOAD.audit(_SEED, reported_of(rows, in_doubt), state_of(balances))


def test_an_honest_server_agrees() -> None:
    found = audited(served(ROWS))
    assert found.agrees
    assert found.explain() == "50 balances agree"
    assert (found.lost, found.duplicated, found.unexpected, found.differing) == (0, 0, 0, 0)


def test_the_order_in_which_rows_are_read_does_not_matter() -> None:
    state = {"accounts": state_of(served(ROWS))["accounts"].reverse()}
    assert WORKLOAD.audit(_SEED, reported_of(ROWS, 0), state).agrees


def test_a_lost_transfer_is_refused() -> None:
    found = audited(served([row(0, 100, failed=[[17, "x"], [42, "x"], [99, "x"]]), row(5, 200)]))
    assert found.explain() == "2 of 50 balances differ"
    assert not found.agrees


def test_a_transfer_made_twice_is_refused() -> None:
    assert audited(served(ROWS, also=[(5, 3)])).differing == 2


def test_a_transfer_that_was_refused_and_yet_made_is_refused() -> None:
    assert audited(served(ROWS, also=[(0, 17)])).differing == 2


def test_a_transfer_of_which_one_half_was_made_is_refused() -> None:
    balances = served(ROWS)
    ((source, _, amount),) = transfers(5, [7])
    balances[source] += amount
    found = audited(balances)
    assert found.explain() == f"1 of 50 balances differ; the sum of all balances moved by {amount:,}"


def test_a_swap_that_keeps_the_sum_is_refused() -> None:
    balances = served(ROWS)
    balances[[3, 4]] += (1, -1)
    assert audited(balances).explain() == "2 of 50 balances differ"


def test_doubt_is_refused_whether_it_was_made_or_not() -> None:
    rows = [row(0, 100, in_doubt=[50]), row(5, 200)]
    assert audited(served(rows), rows).explain() == "1 requests in doubt"
    assert not audited(served(rows, also=[(0, 50)]), rows).agrees


def test_a_missing_an_added_and_a_repeated_account_are_refused() -> None:
    balances = served(ROWS)
    assert audited(balances[:-1]).differing == 1
    assert audited(np.append(balances, 0)).differing == 1
    accounts = state_of(balances)["accounts"]
    twice = {"accounts": pl.concat([accounts, accounts[3:4]])}
    assert WORKLOAD.audit(_SEED, reported_of(ROWS, 0), twice).differing == 1
    assert audited(balances[:0]).differing == _ACCOUNTS


def test_another_seed_or_redraw_expects_other_balances() -> None:
    balances = served(ROWS)
    report = reported_of(ROWS, 0)
    assert not WORKLOAD.audit(_SEED + 1, report, state_of(balances)).agrees
    other = find_workload("transfer", {**WORKLOAD.parameters, "redraw": "destination"})
    assert not other.audit(_SEED, report, state_of(balances)).agrees


# --- a client that draws the same transfers again ---------------------------------------------
@pytest.mark.parametrize("batch", [1, 7, 99, 100])
def test_replayed_transfers_are_audited_as_what_they_are(batch: int) -> None:
    rows = [row(0, 100), row(5, 200)]
    balances = served(
        [], also=[(one.connection, index % batch) for one in rows for index in range(one.issued)]
    )
    assert WORKLOAD.audit(_SEED, reported_of(rows, 0, batch), state_of(balances)).agrees
    assert not WORKLOAD.audit(_SEED, reported_of(rows, 0), state_of(balances)).agrees


def test_a_batch_longer_than_the_load_changes_nothing() -> None:
    assert WORKLOAD.audit(_SEED, reported_of(ROWS, 0, 200), state_of(served(ROWS))).agrees


# --- a client that only counts ----------------------------------------------------------------
def test_counts_decide_only_where_nothing_failed() -> None:
    balances = state_of(served([row(0, 100)]))
    whole = Reported(counted=(Counted(0, 100, {"transfer": 100}),))
    assert WORKLOAD.audit(_SEED, whole, balances).agrees
    some = Reported(counted=(Counted(0, 101, {"transfer": 100}),))
    found = WORKLOAD.audit(_SEED, some, balances)
    assert not found.agrees
    assert found.lost is None
    assert "101 transfers only counted, and not known one by one" in found.explain()


# --- after a kill -----------------------------------------------------------------------------
_EVEN = find_workload("transfer", {"accounts": 100_000}).told_apart()


def _kept(workload: Workload, connections: int, kept: list[int], *, hole: int | None = None) -> State:
    held = [[index for index in range(kept[number]) if index != hole] for number in range(connections)]
    return _holding(workload, *held)


def _holding(workload: Workload, *held: Iterable[int]) -> State:
    """The state of a server that holds these transfers of each connection."""
    accounts = int(workload.parameters["accounts"])
    balances = np.full(accounts, int(workload.parameters["initial_balance"]), dtype=np.int64)
    for connection, indices in enumerate(held):
        for source, destination, amount in transfers(connection, indices, workload):
            balances[source] -= amount
            balances[destination] += amount
    return state_of(balances)


def test_kills_are_read_with_accounts_used_alike() -> None:
    assert f"alpha {_EVEN.parameters['alpha']:g}" == KILL_LOAD
    skewed = find_workload("transfer", {"accounts": 9, "alpha": 1.5, "redraw": "destination"})
    assert skewed.told_apart().parameters == {**skewed.parameters, "alpha": 0.0}


@pytest.mark.parametrize("lost", [[0, 0, 17, 0], [0, 0, 0, 0], [300, 300, 300, 300], [3, 299, 0, 42]])
def test_planted_losses_are_found_to_the_unit(lost: list[int]) -> None:
    state = _kept(_EVEN, 4, [300 - gone for gone in lost])
    work = [issued_work(row(number, 300), in_flight=1) for number in range(4)]
    survived = _EVEN.survived(_SEED, work, state)
    assert survived is not None
    assert (survived.lost, survived.in_doubt_committed) == (sum(lost), 0)
    assert _EVEN.committed(_SEED, 4, 1200 - sum(lost), state) == 1200 - sum(lost)


def test_losses_are_found_where_every_account_is_touched_by_many() -> None:
    crowded = find_workload("transfer", {"accounts": 1000})
    lost = [2000, 1, 1500, 3, 700, 0, 42, 1999]
    work = [issued_work(row(number, 2000), in_flight=1) for number in range(8)]
    survived = crowded.survived(_SEED, work, _kept(crowded, 8, [2000 - gone for gone in lost]))
    assert survived is not None
    assert survived.lost == sum(lost)


def test_balances_that_no_prefixes_explain_have_no_answer() -> None:
    work = [issued_work(row(number, 300), in_flight=1) for number in range(4)]
    accounts = _kept(_EVEN, 4, [290] * 4)["accounts"]
    off_by_one = accounts.with_columns(
        balance=pl.col("balance") + (pl.col("id") == 3).cast(pl.Int64) - (pl.col("id") == 4).cast(pl.Int64)
    )
    assert _EVEN.survived(_SEED, work, {"accounts": off_by_one}) is None


def test_two_answers_are_none() -> None:
    """One unit at a time between two accounts: a transfer and the one back leave the balances as they were."""
    pair = find_workload("transfer", {"accounts": 2, "amount_max": 1})
    work = [issued_work(row(0, 40), in_flight=1)]
    found = [pair.survived(_SEED, work, _kept(pair, 1, [length])) for length in range(41)]
    assert None in found
    assert all(one is None or one.lost == 40 - length for length, one in enumerate(found))


def test_what_was_in_doubt_and_is_there_is_told() -> None:
    work = [issued_work(row(0, 300, in_doubt=[298, 299]), in_flight=2)]
    survived = _EVEN.survived(_SEED, work, _kept(_EVEN, 1, [299]))
    assert survived is not None
    assert (survived.lost, survived.in_doubt_committed) == (0, 1)


def test_what_was_in_doubt_is_told_where_requests_run_side_by_side() -> None:
    """Each of those that were out may be there whatever the others did: no prefix explains the state."""
    rows = [row(number, 300, failed=[[288, "error"]], in_doubt=[*range(290, 300)]) for number in range(8)]
    work = [issued_work(one, in_flight=20) for one in rows]
    told = {*range(290)} - {288}
    held = [told | {288, 291 + number % 3, 299} for number in range(8)]
    survived = _EVEN.survived(_SEED, work, _holding(_EVEN, *held))
    assert survived is not None
    assert (survived.lost, survived.in_doubt_committed) == (0, 24)
    one_gone = _holding(_EVEN, held[0] - {150}, *held[1:])
    assert _EVEN.survived(_SEED, work, one_gone) is None


def test_a_transfer_in_doubt_and_the_one_back_have_no_answer() -> None:
    pairs = find_workload("transfer", {"accounts": 100, "alpha": 0.0, "amount_max": 1})
    drawn = dict(
        enumerate((source, destination) for source, destination, _ in transfers(0, range(600), pairs))
    )
    there, back = next(
        (one, other)
        for one in range(300, 600)
        for other in range(one + 1, 600)
        if drawn[one] == drawn[other][::-1]
    )
    gone, held = [
        index
        for index in range(300, 600)
        if not {*drawn[index]} & {*drawn[there]} and index not in (there, back)
    ][:2]
    in_doubt = sorted([there, back, gone, held])
    told = [index for index in range(600) if index not in in_doubt]
    work = [issued_work(row(0, 600, in_doubt=in_doubt), in_flight=300)]
    assert pairs.survived(_SEED, work, _holding(pairs, [*told, held])) is None
    told_apart = [
        issued_work(row(0, 600, in_doubt=[gone, held], failed=[[there, "error"], [back, "error"]]), 1)
    ]
    others = [index for index in told if index not in (there, back)]
    survived = pairs.survived(_SEED, told_apart, _holding(pairs, [*others, held]))
    assert survived is not None
    assert (survived.lost, survived.in_doubt_committed) == (0, 1)


def test_a_transfer_missing_in_the_middle_has_no_answer() -> None:
    work = [issued_work(row(0, 300), in_flight=1)]
    assert _EVEN.survived(_SEED, work, _kept(_EVEN, 1, [300], hole=150)) is None


def test_accounts_that_are_not_all_there_have_no_answer() -> None:
    work = [issued_work(row(0, 300), in_flight=1)]
    state = {"accounts": _kept(_EVEN, 1, [300])["accounts"][1:]}
    assert _EVEN.survived(_SEED, work, state) is None


def test_most_of_a_long_load_can_be_gone() -> None:
    crowded = find_workload("transfer", {"accounts": 5000}).told_apart()
    left = [0] * 20 + [3] * 10
    work = [issued_work(row(number, 1500), in_flight=1) for number in range(len(left))]
    survived = crowded.survived(_SEED, work, _kept(crowded, len(left), left))
    assert survived is not None
    assert survived.lost == 1500 * len(left) - sum(left)


def test_a_state_that_no_transfers_can_have_made_is_told_from_one_that_is_not_explained() -> None:
    whole = _kept(_EVEN, 1, [300], hole=150)["accounts"]
    assert _EVEN.impossible({"accounts": whole}) is None
    half_applied = whole.with_columns(balance=pl.col("balance") - (pl.col("id") == 3).cast(pl.Int64))
    assert _EVEN.impossible({"accounts": half_applied}) == "the sum of all balances moved by -1"
    for accounts in (whole[1:], pl.concat([whole[1:], whole[5:6]])):
        assert "not each of 100,000 once" in str(_EVEN.impossible({"accounts": accounts}))
