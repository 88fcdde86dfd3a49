"""What was acknowledged, what the engine counts and what the state holds must agree to the unit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from gapbook.model.report import Report
from gapbook.model.workload import AuditResult, State
from gapbook.trial.audit import Audit, reconcile
from gapbook.trial.workloads import find_workload
from tests.reports import connection_of, report_of

_SEED = 11
TRANSFERS = find_workload("transfer", {"accounts": 50, "alpha": 1.0, "initial_balance": 10_000})
COUNTER = find_workload("counter-and-messages", {"increment_share": 1})
AGREED = AuditResult("50 balances", rows=50, differing=0, in_doubt=0, lost=0, duplicated=0, unexpected=0)


def test_an_honest_server_agrees() -> None:
    found = Audit(298, 298, 298, AGREED)
    assert found.agrees
    assert found.off == 0
    assert found.explain() == "298 acknowledged = committed; 50 balances agree"


@pytest.mark.parametrize("committed", [297, 299])
def test_another_count_of_the_engine_is_refused(committed: int) -> None:
    found = Audit(298, 298, committed, AGREED)
    assert not found.agrees
    assert found.off == 1
    assert found.explain() == f"298 acknowledged but {committed} committed"


def test_acknowledgements_that_no_connection_lists_are_refused() -> None:
    found = Audit(2980, 298, None, AGREED)
    assert not found.agrees
    assert found.explain() == "2,980 acknowledged but 298 listed by connection"


def test_a_state_that_differs_is_refused_whatever_is_counted() -> None:
    differs = replace(AGREED, differing=2, problems=("2 of 50 balances differ",))
    found = Audit(298, 298, 298, differs)
    assert not found.agrees
    assert found.off == 2
    assert found.explain() == "2 of 50 balances differ"


def test_doubt_that_the_state_cannot_settle_is_refused() -> None:
    doubtful = replace(AGREED, in_doubt=1, problems=("1 requests in doubt",))
    for committed in (None, 298, 299):
        found = Audit(298, 298, committed, doubtful)
        assert not found.agrees
        assert (found.off, found.explain()) == (1, "1 requests in doubt")


def test_doubt_that_the_state_settles_may_be_committed_or_not() -> None:
    settled = replace(AGREED, in_doubt=2)
    assert all(Audit(298, 298, committed, settled).agrees for committed in (298, 299, 300, None))
    assert not Audit(298, 298, 301, settled).agrees
    assert not Audit(298, 298, 297, settled).agrees


# --- engines that keep no count ---------------------------------------------------------------
def _report(issued: int = 5) -> Report:
    return report_of(connection_of(0, issued), acknowledged=issued)


def _counted_to(value: int) -> State:
    return {**COUNTER.initial_state(), "counters": pl.DataFrame({"id": [0], "value": [value]})}


def test_without_a_count_of_the_engine_the_state_decides() -> None:
    common: dict[str, Any] = {"workload": COUNTER, "seed": _SEED, "committed": None}
    found = reconcile(_report(), state=_counted_to(5), counts_commits=False, **common)
    assert found.agrees
    assert found.explain() == (
        "5 acknowledged, not compared with commits because the engine keeps no commit count; "
        "1 counters and 0 messages agree"
    )
    rolled_back = reconcile(_report(), state=_counted_to(5), **common)
    assert "because transactions of the trial were rolled back" in rolled_back.explain()
    lost = reconcile(_report(), state=_counted_to(4), **common)
    assert not lost.agrees
    assert lost.explain() == "1 acknowledged operations lost"


def test_the_work_of_the_report_is_what_is_audited() -> None:
    untouched = TRANSFERS.initial_state()
    assert reconcile(_report(0), workload=TRANSFERS, seed=_SEED, state=untouched, committed=0).agrees
    found = reconcile(_report(), workload=TRANSFERS, seed=_SEED, state=untouched, committed=5)
    assert not found.agrees
    assert found.found.differing > 0


def test_a_client_that_draws_the_same_operations_again_is_audited_as_that() -> None:
    common: dict[str, Any] = {"workload": TRANSFERS, "seed": _SEED, "committed": 5}
    once = reconcile(_report(), state=TRANSFERS.initial_state(), replayed_batch=1, **common)
    ever = reconcile(_report(), state=TRANSFERS.initial_state(), **common)
    assert 0 < once.found.differing == 2 < ever.found.differing
