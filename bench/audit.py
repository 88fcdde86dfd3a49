"""What an audit costs: a million operations, all acknowledged and all in the state, by workload."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from statistics import median
from typing import Any

import numpy as np
import polars as pl

from gapbook.errors import GapbookError
from gapbook.model.declaration import workload_names
from gapbook.model.report import Connection
from gapbook.model.reported import reported_of
from gapbook.model.workload import Operations, State, Workload
from gapbook.trial.workloads import find_workload

__all__ = ["OPERATIONS", "lines"]

OPERATIONS = 1_000_000
_CONNECTIONS = 50
_SEED = 1
_RUNS = 5
_BAR_S = 2.0
_PARAMETERS: Mapping[str, Mapping[str, Any]] = {"chat": {"forbidden_every": 0}}
"""Those under which every operation can be acknowledged, where they are not the defaults."""


def lines() -> Iterator[str]:
    """One line a workload: the median time of an audit that agrees."""
    for name in workload_names():
        title = f"audit, {name}, {OPERATIONS:,} operations"
        if name not in _LEFT_BEHIND:
            yield f"{title}: not run: bench/audit.py does not say what they leave behind"
            continue
        yield f"{title}: {median(_costs(name)):.2f} s (bar <= {_BAR_S:g})"


def _costs(name: str) -> list[float]:
    """Seconds of each audit; raises GapbookError when one does not agree."""
    workload = find_workload(name, _PARAMETERS.get(name, {}))
    issued = OPERATIONS // _CONNECTIONS
    state = _LEFT_BEHIND[name](
        workload,
        [
            workload.draw(_SEED, connection, np.arange(issued, dtype=np.uint64))
            for connection in range(_CONNECTIONS)
        ],
    )
    return [_cost(workload, issued, state) for _ in range(_RUNS)]


def _cost(workload: Workload, issued: int, state: State) -> float:
    connections = [Connection(number, issued) for number in range(_CONNECTIONS)]
    started = time.perf_counter()
    found = workload.audit(_SEED, reported_of(connections, in_doubt=0), state)
    took_s = time.perf_counter() - started
    if not found.agrees:
        raise GapbookError(f"audit of {workload.name}: {found.explain()}")
    return took_s


def _balances(workload: Workload, drawn: list[Operations]) -> State:
    accounts = workload.initial_state()["accounts"]
    transfers = pl.concat([one["transfer"] for one in drawn])
    amounts = transfers["amount"].to_numpy()
    paid, received = (
        np.bincount(transfers[side].to_numpy(), amounts, accounts.height).astype(np.int64)
        for side in ("from", "to")
    )
    return {"accounts": accounts.with_columns(balance=accounts["balance"].to_numpy() - paid + received)}


def _counters_and_messages(workload: Workload, drawn: list[Operations]) -> State:
    counters = workload.initial_state()["counters"]
    counted = np.bincount(
        pl.concat([one["increment"] for one in drawn])["counter"].to_numpy(), minlength=counters.height
    )
    return {
        "counters": counters.with_columns(value=pl.Series(counted).cast(pl.Int64)),
        "messages": pl.concat([one["message"].drop("place") for one in drawn]).sample(
            fraction=1, shuffle=True, seed=1
        ),
    }


def _chat(workload: Workload, drawn: list[Operations]) -> State:
    initial = workload.initial_state()
    messages = pl.concat([initial["messages"], *(one["post"].drop("place") for one in drawn)])
    return {**initial, "messages": messages.sample(fraction=1, shuffle=True, seed=1)}


_LEFT_BEHIND: Mapping[str, Callable[[Workload, list[Operations]], State]] = {
    "transfer": _balances,
    "counter-and-messages": _counters_and_messages,
    "chat": _chat,
    "fibonacci": lambda workload, _drawn: workload.initial_state(),
}
"""The state after operations, worked out without the audit's own code."""
