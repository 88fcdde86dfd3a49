"""Counters in the text of SpacetimeDB's metrics."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence

from gapbook.declared.module import CountedReducer
from gapbook.errors import StackError

__all__ = ["counted_operations", "rows_written", "transactions"]

_BETWEEN_READINGS_S = 0.05
_SETTLE_TIMEOUT_S = 5.0

_ROW_COUNTER = re.compile(r"spacetime_num_rows_(inserted|deleted)_total\{(.*)\} (\d+)")
_TRANSACTION_COUNTER = re.compile(r"spacetime_num_txns_total\{(.*)\} (\d+)")
_LABEL = re.compile(r'(\w+)="([^"]*)"')


def rows_written(metrics: str, database: str, reducer: str, table: str) -> dict[str, int]:
    """Rows of a table ``inserted`` and ``deleted`` by a reducer so far, those of committed transactions."""
    wanted = {"db": database, "reducer_or_query": reducer, "table_name": table, "txn_type": "Reducer"}
    rows = {"inserted": 0, "deleted": 0}
    for kind, labels, value in _ROW_COUNTER.findall(metrics):
        if _has(labels, wanted):
            rows[kind] += int(value)
    return rows


def transactions(metrics: str, database: str, reducer: str) -> int:
    """``spacetime_num_txns_total{committed="true"}`` of a reducer."""
    wanted = {"db": database, "reducer": reducer, "txn_type": "Reducer", "committed": "true"}
    return sum(int(value) for labels, value in _TRANSACTION_COUNTER.findall(metrics) if _has(labels, wanted))


def _has(labels: str, wanted: Mapping[str, str]) -> bool:
    return wanted.items() <= dict(_LABEL.findall(labels)).items()


def counted_operations(reducers: Sequence[CountedReducer], read: Callable[[], str], database: str) -> int:
    """The operations that the rows written by the ``reducers`` make, counted to the end.

    Rows are counted at commit only, a little after the acknowledgement: 2.x does it every 5 ms
    (``TX_METRICS_RECORDING_INTERVAL``, crates/engine/src/lib.rs at v2.8.3). So two readings well apart must
    agree, and what is replaced must have been inserted as often as it was deleted. Raises ``StackError``
    where that does not come about within 5 s.
    """
    deadline = time.monotonic() + _SETTLE_TIMEOUT_S
    earlier: int | None = None
    while True:
        metrics = read()
        counts = [_operations(counted, metrics, database) for counted in reducers]
        whole = [count for count in counts if count is not None]
        if len(whole) == len(counts) and sum(whole) == earlier:
            return earlier
        if time.monotonic() >= deadline:
            raise StackError("spacetimedb: the rows that it counts are not those of whole operations")
        earlier = sum(whole) if len(whole) == len(counts) else None
        time.sleep(_BETWEEN_READINGS_S)


def _operations(counted: CountedReducer, metrics: str, database: str) -> int | None:
    """The operations that the rows written by a reducer make; None while the server still counts."""
    rows = rows_written(metrics, database, counted.reducer, counted.table)
    whole, left = divmod(rows["inserted"], counted.rows_per_operation)
    settled = left == 0 and (not counted.replaced or rows["inserted"] == rows["deleted"])
    return whole if settled else None
