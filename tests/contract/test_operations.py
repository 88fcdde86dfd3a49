"""Every system, module and access level answers the same operations alike and is left in the same state."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from gapbook.deploy.stack import Stack
from gapbook.model.declaration import declaration_of, workload_names
from gapbook.model.report import Connection
from gapbook.model.reported import Reported, reported_of
from gapbook.model.workload import RowDifferences, State, Workload
from gapbook.trial.workloads import find_workload
from tests.contract.callers import CALLERS, Caller, spoken_by_hand
from tests.contract.cases import CASES, CROWDED, PARAMETERS
from tests.contract.ways import Way, discovered_ways

_WAYS = [way for way in discovered_ways() if way.is_sound and spoken_by_hand(way)]
_CONNECTIONS = 16
_TURNS = 10
_SEED = 20261122


def test_every_workload_has_cases() -> None:
    assert set(CASES) == set(PARAMETERS) == set(CROWDED) == set(workload_names())
    for name, cases in CASES.items():
        declared = declaration_of(name)
        ends = {call.ends for case in cases for call in case.calls}
        assert {"done", *declared.refusals} <= ends
        assert {call.kind for case in cases for call in case.calls} == set(declared.kinds)


def test_every_workload_of_a_module_can_be_asked_for() -> None:
    """An engine that only clients hold is asked by them alone (test_load.py)."""
    asked = {(way.system, way.workload) for way in _WAYS}
    assert asked == {(way.system, way.workload) for way in discovered_ways() if way.protocol != "sqlite"}


@contextlib.contextmanager
def opened(way: Way, stack: Stack, workload: Workload) -> Iterator[Callable[[], Any]]:
    """Seeds the stack; yields what opens one more connection to it, through the tier of the way."""
    stack.seed(workload)
    address = stack.endpoint()
    tier = way.module.start_tier(
        stack.deployment, tier=way.tier, access=way.access, endpoint=address, pool_size=_CONNECTIONS
    )
    endpoint = way.module.client_endpoint(way.access, way.tier, address) if tier is None else tier.endpoint
    try:
        yield lambda: CALLERS[way.protocol](endpoint, workload.declaration)
    finally:
        if tier is not None:
            stack.deployment.stop(tier.process)


def differences(stack: Stack, expected: State, workload: Workload) -> dict[str, RowDifferences]:
    """The tables that do not hold what is expected."""
    tables = workload.declaration.state
    found = {
        name: RowDifferences.between(expected[name], rows, tables[name].key)
        for name, rows in stack.state().items()
    }
    return {name: differences for name, differences in found.items() if differences.total}


@pytest.mark.parametrize("way", _WAYS, ids=str)
def test_operations_end_and_leave_the_state_as_they_must(stack_for: Callable[[Way], Stack], way: Way) -> None:
    stack, workload = stack_for(way), find_workload(way.workload, PARAMETERS[way.workload])
    keys = {name: table.key for name, table in workload.declaration.state.items()}
    state = workload.initial_state()
    with opened(way, stack, workload) as connect:
        for case in CASES[way.workload]:
            with connect() as call:
                for number, asked in enumerate(case.calls):
                    answer = call(asked.kind, asked.fields)
                    assert asked.has_ended(answer), (case.name, number, asked, answer)
            state = case.left(state, keys)
            assert not differences(stack, state, workload), case.name


@pytest.mark.parametrize("way", _WAYS, ids=str)
def test_what_many_connections_do_to_the_same_rows_adds_up(
    stack_for: Callable[[Way], Stack], way: Way
) -> None:
    """None deadlocks, none is lost: the audit of how each operation ended agrees. And the next seeding forgets all."""
    stack, workload = stack_for(way), find_workload(way.workload, CROWDED[way.workload])
    with opened(way, stack, workload) as connect:
        reported = _run_at_once(workload, connect)
    found = workload.audit(_SEED, reported, stack.state())
    assert found.agrees, found.explain()
    assert reported.acknowledged > 0
    stack.seed(workload)
    assert not differences(stack, workload.initial_state(), workload)


def _run_at_once(workload: Workload, connect: Callable[[], Any]) -> Reported:
    """Many connections, each with its own operations one after the other: how each ended, as a client reports it."""

    def run(connection: int) -> Connection:
        operations = workload.draw(_SEED, connection, np.arange(_TURNS, dtype=np.uint64))
        asked = {
            row["place"]: (kind, {name: row[name] for name in row if name != "place"})
            for kind, drawn in operations.items()
            for row in drawn.to_dicts()
        }
        with connect() as caller:
            call: Caller = caller
            ends = [(place, call(*asked[place])) for place in sorted(asked)]
        failed = [(place, end) for place, end in ends if end != "done"]
        assert {end for _, end in failed} <= set(workload.declaration.refusals)
        return Connection(connection, _TURNS, failed)

    with ThreadPoolExecutor(_CONNECTIONS) as threads:
        return reported_of(list(threads.map(run, range(_CONNECTIONS))), 0)
