"""Counters in the text of SpacetimeDB's metrics."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

__all__ = ["operations", "rows_written", "transactions"]

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


def operations(facts: Mapping[str, Any], metrics: str, database: str) -> int | None:
    """The operations that the rows written by a reducer make; None while the server still counts."""
    rows = rows_written(metrics, database, facts["reducer"], facts["table"])
    whole, left = divmod(rows["inserted"], int(facts["rows_per_operation"]))
    settled = left == 0 and (not facts["replaced"] or rows["inserted"] == rows["deleted"])
    return whole if settled else None
