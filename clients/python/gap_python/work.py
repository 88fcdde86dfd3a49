"""Which transfer is operation ``index`` of a connection, drawn for many indices at a time.

Kept apart from the auditor's own draw in ``gapbook``: importing that would load the whole harness
into the client, and one fault would hide in both.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gap_python.config import Workload
from gap_python.failure import EXIT_CONFIGURATION, EXIT_INTEGRITY, ClientError, message_of

U64 = NDArray[np.uint64]
Transfer = tuple[int, int, int]
"""Source, destination, amount."""

_MAGIC = b"GAPALIAS"
_VERSION = 1
_HEADER_BYTES = 16
_COLUMN_BYTES = 8
_REDRAWS = 64
_AMOUNT_BLOCK = 0xFFFFFFFF
_ROUNDS = 10
_MULTIPLIERS = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_WEYL = 0x9E3779B9, 0xBB67AE85
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_DRAWN_AT_A_TIME = 1024


def philox(counter: tuple[U64, U64, U64, U64], key: tuple[int, int]) -> tuple[U64, U64, U64, U64]:
    """Philox4x32-10; every number is below 2^32 and held in 64 bits, so that products are whole."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(_ROUNDS):
        product_0, product_1 = c0 * _MULTIPLIERS[0], c2 * _MULTIPLIERS[1]
        c0, c1, c2, c3 = (
            (product_1 >> _HALF) ^ c1 ^ np.uint64(k0),
            product_1 & _LOW,
            (product_0 >> _HALF) ^ c3 ^ np.uint64(k1),
            product_0 & _LOW,
        )
        k0, k1 = (k0 + _WEYL[0]) & 0xFFFFFFFF, (k1 + _WEYL[1]) & 0xFFFFFFFF
    return c0, c1, c2, c3


class Work:
    """The work of a trial; reads the alias table, which must be what the configuration's hash promises."""

    def __init__(self, workload: Workload) -> None:
        self._accounts = np.uint64(workload.accounts)
        self._amount_max = np.uint64(workload.amount_max)
        self._redraws_source = workload.redraw == "both"
        self._key = workload.seed & 0xFFFFFFFF, workload.seed >> 32
        self._threshold, self._alias = _read_table(workload)

    def draw(self, connection: int, first_index: int, count: int) -> list[Transfer]:
        """The transfers of ``count`` consecutive operations."""
        indices = np.arange(first_index, first_index + count, dtype=np.uint64)
        source, destination = np.zeros_like(indices), np.zeros_like(indices)
        equal = np.arange(count)
        # When the accounts are equal, both or the destination alone are drawn again.
        for redraw in range(_REDRAWS):
            r0, r1, r2, r3 = self._block(indices[equal], connection, redraw)
            if redraw == 0 or self._redraws_source:
                source[equal] = self._pick(r0, r1)
            destination[equal] = self._pick(r2, r3)
            equal = equal[source[equal] == destination[equal]]
            if len(equal) == 0:
                break
        destination[equal] = (source[equal] + np.uint64(1)) % self._accounts
        amount_draw = self._block(indices, connection, _AMOUNT_BLOCK)[0]
        amount = np.uint64(1) + ((amount_draw * self._amount_max) >> _HALF)
        return list(zip(source.tolist(), destination.tolist(), amount.tolist(), strict=True))

    def stream(self, connection: int) -> Iterator[Transfer]:
        """The transfers of a connection from its first operation on."""
        first_index = 0
        while True:
            yield from self.draw(connection, first_index, _DRAWN_AT_A_TIME)
            first_index += _DRAWN_AT_A_TIME

    def _block(self, indices: U64, connection: int, draw: int) -> tuple[U64, U64, U64, U64]:
        constant = np.full_like(indices, connection), np.full_like(indices, draw)
        return philox((indices & _LOW, indices >> _HALF, *constant), self._key)

    def _pick(self, column_draw: U64, threshold_draw: U64) -> U64:
        column = (column_draw * self._accounts) >> _HALF
        return np.where(threshold_draw < self._threshold[column], column, self._alias[column])


def _read_table(workload: Workload) -> tuple[U64, U64]:
    path = workload.alias_table
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise ClientError(EXIT_CONFIGURATION, f"workload.alias_table: {message_of(error)}") from error
    if hashlib.sha256(data).hexdigest() != workload.alias_table_sha256:
        raise ClientError(
            EXIT_INTEGRITY, f"workload.alias_table: {path} does not have the sha256 that is given"
        )
    header = np.frombuffer(data[len(_MAGIC) : _HEADER_BYTES], dtype="<u4").tolist()
    size = _HEADER_BYTES + workload.accounts * _COLUMN_BYTES
    if not data.startswith(_MAGIC) or header != [_VERSION, workload.accounts] or len(data) != size:
        raise ClientError(
            EXIT_INTEGRITY, f"workload.alias_table: {path} is no table of {workload.accounts} accounts"
        )
    columns = np.frombuffer(data, dtype="<u4", offset=_HEADER_BYTES).reshape(-1, 2).astype(np.uint64)
    threshold, alias = columns[:, 0].copy(), columns[:, 1].copy()
    if alias.max() >= workload.accounts:
        raise ClientError(EXIT_INTEGRITY, f"workload.alias_table: {path} leads to accounts that do not exist")
    return threshold, alias
