"""Bank transfers between two accounts of a Zipf distribution."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import repeat
from typing import ClassVar, Literal, cast

import msgspec
import numpy as np

from gap_python.decode import decode
from gap_python.philox import U64, Blocks, scale
from gap_python.workload import Kind, Operation, WorkloadConfig, WorkloadFile

_MAGIC = b"GAPALIAS"
_VERSION = 1
_HEADER_BYTES = 16
_COLUMN_BYTES = 8
_REDRAWS = 64
_AMOUNT_BLOCK = 0xFFFFFFFF

INSUFFICIENT = "insufficient"
"""The refusal of a transfer whose source has too little."""


Transfer = tuple[int, int, int]
"""Source, destination, amount."""


def transfer_of(operation: Operation) -> Transfer:
    """The fields of an operation of this workload, whose kind is always a transfer."""
    return cast(Transfer, operation.fields)


class _Parameters(msgspec.Struct):
    accounts: int
    amount_max: int
    redraw: Literal["both", "destination"] = "both"
    """What is drawn again while both accounts are the same."""


class Workload:
    """See :class:`gap_python.workload.Workload`."""

    kinds: ClassVar[Mapping[str, Kind]] = {"transfer": {"from": "u32", "to": "u32", "amount": "u32"}}
    refusals = (INSUFFICIENT,)

    def __init__(self, config: WorkloadConfig) -> None:
        parameters = decode(config.parameters, _Parameters, "workload.parameters")
        self._blocks = Blocks(config.seed)
        self._accounts = parameters.accounts
        self._amount_max = parameters.amount_max
        self._redraws_source = parameters.redraw == "both"
        self._threshold, self._alias = _read_table(config.file("alias_table"), parameters.accounts)

    def draw(self, connection: int, first_index: int, count: int) -> list[Operation]:
        indices = np.arange(first_index, first_index + count, dtype=np.uint64)
        source, destination = np.zeros_like(indices), np.zeros_like(indices)
        equal = np.arange(count)
        # When the accounts are equal, both or the destination alone are drawn again.
        for redraw in range(_REDRAWS):
            r0, r1, r2, r3 = self._blocks.draw(indices[equal], connection, redraw)
            if redraw == 0 or self._redraws_source:
                source[equal] = self._pick(r0, r1)
            destination[equal] = self._pick(r2, r3)
            equal = equal[source[equal] == destination[equal]]
            if len(equal) == 0:
                break
        destination[equal] = (source[equal] + np.uint64(1)) % np.uint64(self._accounts)
        amount_draw = self._blocks.draw(indices, connection, _AMOUNT_BLOCK)[0]
        amount = np.uint64(1) + scale(amount_draw, self._amount_max)
        fields = zip(source.tolist(), destination.tolist(), amount.tolist(), strict=True)
        return list(map(Operation, repeat("transfer"), fields))

    def _pick(self, column_draw: U64, threshold_draw: U64) -> U64:
        column = scale(column_draw, self._accounts)
        return np.where(threshold_draw < self._threshold[column], column, self._alias[column])


def _read_table(file: WorkloadFile, accounts: int) -> tuple[U64, U64]:
    """Thresholds and aliases of Vose's method; raises ClientError."""
    data = file.read()
    header = np.frombuffer(data[len(_MAGIC) : _HEADER_BYTES], dtype="<u4").tolist()
    size = _HEADER_BYTES + accounts * _COLUMN_BYTES
    if not data.startswith(_MAGIC) or header != [_VERSION, accounts] or len(data) != size:
        raise file.broken(f"it is no table of {accounts} accounts")
    columns = np.frombuffer(data, dtype="<u4", offset=_HEADER_BYTES).reshape(-1, 2).astype(np.uint64)
    threshold, alias = columns[:, 0].copy(), columns[:, 1].copy()
    if alias.max() >= accounts:
        raise file.broken("it leads to accounts that do not exist")
    return threshold, alias
