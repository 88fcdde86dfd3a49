"""Philox4x32-10, for many operations at a time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

U64 = NDArray[np.uint64]

_ROUNDS = 10
_MULTIPLIERS = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_WEYL = 0x9E3779B9, 0xBB67AE85
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)


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


class Blocks:
    """The blocks that the operations of a seed are drawn from."""

    def __init__(self, seed: int) -> None:
        self._key = seed & 0xFFFFFFFF, seed >> 32

    def draw(self, indices: U64, connection: int, number: int) -> tuple[U64, U64, U64, U64]:
        """Block ``number`` of each operation of a connection."""
        constant = np.full_like(indices, connection), np.full_like(indices, number)
        return philox((indices & _LOW, indices >> _HALF, *constant), self._key)


def scale(draws: U64, limit: int) -> U64:
    """Whole numbers below ``limit`` from draws below 2^32."""
    return (draws * np.uint64(limit)) >> _HALF
