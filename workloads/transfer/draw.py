"""The transfers of one connection, drawn as every client draws them (clients/CONTRACT.md)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gapbook.model.reported import Indices
from gapbook.model.work import REDRAW_BOTH, U32, AliasTable, blocks_of, scaled

__all__ = ["Transfers", "draw_transfers"]

_REDRAWS = 64
_AMOUNT_BLOCK = 0xFFFFFFFF


@dataclass(frozen=True)
class Transfers:
    """Source, destination and amount of each operation, arrays of one length."""

    source: U32
    destination: U32
    amount: U32

    def moved(self, accounts: int) -> NDArray[np.int64]:
        """The change of every balance by all of them."""
        # Sums stay far below 2^53, so that doubles are exact.
        amounts = self.amount.astype(np.float64)
        paid = np.bincount(self.source, weights=amounts, minlength=accounts)
        received = np.bincount(self.destination, weights=amounts, minlength=accounts)
        return (received - paid).astype(np.int64)


def draw_transfers(
    table: AliasTable, *, seed: int, connection: int, indices: Indices, amount_max: int, redraw: str
) -> Transfers:
    """The transfers of one connection at the given operation indices.

    ``redraw`` says what is drawn again when source and destination are the same account.
    """
    block = blocks_of(seed, connection, indices)
    everything = np.arange(len(indices))
    source = np.zeros(len(indices), np.uint32)
    destination = np.zeros(len(indices), np.uint32)
    equal = everything
    for draw in range(_REDRAWS):
        if len(equal) == 0:
            break
        r0, r1, r2, r3 = block(equal, draw)
        if draw == 0 or redraw == REDRAW_BOTH:
            source[equal] = table.pick(r0, r1)
        destination[equal] = table.pick(r2, r3)
        equal = equal[source[equal] == destination[equal]]
    destination[equal] = (source[equal] + np.uint32(1)) % np.uint32(table.accounts)
    amount = np.uint32(1) + scaled(block(everything, _AMOUNT_BLOCK)[0], amount_max)
    return Transfers(source, destination, amount)
