"""The work of a trial as a pure function of (seed, connection, index).

Counter-based random numbers (Philox4x32-10: Salmon, Moraes, Dror, Shaw, SC 2011) and a Zipf draw
through an alias table (Vose, IEEE TSE 17(9), 1991) that is computed here once and handed to every
client as a file. Any part of the work can be replayed without running the rest: that is how a
trial is audited. The exact rules are in ``clients/CONTRACT.md``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "EVEN_EXPONENT",
    "EXPONENT",
    "REDRAWS",
    "REDRAW_BOTH",
    "REDRAW_DESTINATION",
    "U32",
    "AliasTable",
    "Block",
    "blocks_of",
    "hot_share",
    "letters",
    "philox4x32",
    "scaled",
    "share_touching",
]

U32: TypeAlias = NDArray[np.uint32]
Block: TypeAlias = Callable[[NDArray[np.intp], int], tuple[U32, U32, U32, U32]]
"""The four random words of each of the operations at these places, at a draw's number."""
REDRAW_BOTH, REDRAW_DESTINATION = "both", "destination"
EXPONENT = "alpha"
"""What the exponent of the draw is called where it is varied."""
EVEN_EXPONENT = 0.0
"""The exponent under which all accounts are drawn alike: skewed draws leave too many prefixes that fit, so that
only then can what survived a kill be told from the balances."""
REDRAWS = (REDRAW_BOTH, REDRAW_DESTINATION)
"""What is drawn again when source and destination of a transfer are the same account."""

_MULTIPLIER_0, _MULTIPLIER_1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_WEYL_0, _WEYL_1 = 0x9E3779B9, 0xBB67AE85
_ROUNDS = 10
_MAGIC = b"GAPALIAS"
_VERSION = 1
_LOW_32 = np.uint64(0xFFFFFFFF)
_SHIFT_32 = np.uint64(32)
_LETTERS = 26


def philox4x32(counter: tuple[U32, U32, U32, U32], key: tuple[int, int]) -> tuple[U32, U32, U32, U32]:
    """Ten rounds of Philox4x32 over arrays of counters under one key.

    Raises nothing: all arithmetic is modulo 2^32.
    """
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(_ROUNDS):
        product_0 = c0.astype(np.uint64) * _MULTIPLIER_0
        product_1 = c2.astype(np.uint64) * _MULTIPLIER_1
        high_0, low_0 = (product_0 >> _SHIFT_32).astype(np.uint32), (product_0 & _LOW_32).astype(np.uint32)
        high_1, low_1 = (product_1 >> _SHIFT_32).astype(np.uint32), (product_1 & _LOW_32).astype(np.uint32)
        c0, c1, c2, c3 = high_1 ^ c1 ^ np.uint32(k0), low_1, high_0 ^ c3 ^ np.uint32(k1), low_0
        k0, k1 = (k0 + _WEYL_0) & 0xFFFFFFFF, (k1 + _WEYL_1) & 0xFFFFFFFF
    return c0, c1, c2, c3


def blocks_of(seed: int, connection: int, indices: NDArray[np.uint64]) -> Block:
    """The random words of the operations of one connection, a pure function of seed, connection and index."""
    key = (seed & 0xFFFFFFFF, seed >> 32)
    index_low = (indices & _LOW_32).astype(np.uint32)
    index_high = (indices >> _SHIFT_32).astype(np.uint32)

    def block(places: NDArray[np.intp], draw: int) -> tuple[U32, U32, U32, U32]:
        shape = len(places)
        constant = (np.full(shape, connection, np.uint32), np.full(shape, draw, np.uint32))
        return philox4x32((index_low[places], index_high[places], *constant), key)

    return block


def letters(first: U32, step: U32, length: int) -> list[str]:
    """Texts of that length, each given by two random words: character k is letter
    ((first + k * (step | 1)) mod 2^32) mod 26."""
    k = np.arange(length, dtype=np.uint32)
    places = (first[:, None] + k[None, :] * (step | np.uint32(1))[:, None]) % np.uint32(_LETTERS)
    text = (places.astype(np.uint8) + np.uint8(ord("a"))).tobytes().decode("ascii")
    return [text[start : start + length] for start in range(0, len(text), length)]


def scaled(draw: U32, size: int) -> U32:
    """floor(draw * size / 2^32): a whole number from 0 to ``size`` - 1."""
    return ((draw.astype(np.uint64) * np.uint64(size)) >> _SHIFT_32).astype(np.uint32)


@dataclass(frozen=True)
class AliasTable:
    """A discrete distribution over ``accounts`` columns that one comparison samples.

    ``threshold[column]`` of 2^32 stays in the column, the rest goes to ``alias[column]``.
    """

    threshold: U32
    alias: U32

    @property
    def accounts(self) -> int:
        return len(self.threshold)

    @classmethod
    def zipf(cls, accounts: int, alpha: float) -> AliasTable:
        """Zipf over ranks: account ``i`` has weight ``(i + 1) ** -alpha``; alpha 0 is uniform."""
        weights = np.arange(1, accounts + 1, dtype=np.float64) ** -alpha
        scaled = weights * (accounts / weights.sum())
        threshold = np.full(accounts, 0xFFFFFFFF, dtype=np.uint32)
        alias = np.arange(accounts, dtype=np.uint32)
        remaining = scaled.tolist()
        small = [i for i, p in enumerate(remaining) if p < 1.0]
        large = [i for i, p in enumerate(remaining) if p >= 1.0]
        while small and large:
            low, high = small.pop(), large[-1]
            threshold[low] = min(int(remaining[low] * 2**32), 0xFFFFFFFF)
            alias[low] = high
            remaining[high] -= 1.0 - remaining[low]
            if remaining[high] < 1.0:
                small.append(large.pop())
        return cls(threshold, alias)

    @classmethod
    @lru_cache(maxsize=16)
    def zipf_cached(cls, accounts: int, alpha: float) -> AliasTable:
        """As :meth:`zipf`; the same table object for the same distribution."""
        return cls.zipf(accounts, alpha)

    def probabilities(self) -> NDArray[np.float64]:
        """The probability of each account that the table really gives (for tests and ceilings)."""
        stay = np.where(
            self.alias == np.arange(self.accounts), 1.0, self.threshold.astype(np.float64) / 2**32
        )
        probability = stay.copy()
        np.add.at(probability, self.alias, 1.0 - stay)
        return probability / self.accounts

    def to_bytes(self) -> bytes:
        columns = np.empty((self.accounts, 2), dtype="<u4")
        columns[:, 0], columns[:, 1] = self.threshold, self.alias
        header = _MAGIC + np.array([_VERSION, self.accounts], dtype="<u4").tobytes()
        return header + columns.tobytes()

    def write(self, directory: Path) -> tuple[Path, str]:
        """Write the table under its own hash; return the path and the sha256."""
        data = self.to_bytes()
        sha256 = hashlib.sha256(data).hexdigest()
        path = directory / f"alias-{sha256[:16]}.bin"
        if not path.exists():
            partial = path.with_suffix(".partial")
            partial.write_bytes(data)
            partial.replace(path)
        return path, sha256

    def pick(self, column_draw: U32, threshold_draw: U32) -> U32:
        column = scaled(column_draw, self.accounts)
        return np.where(threshold_draw < self.threshold[column], column, self.alias[column])


def share_touching(probability: NDArray[np.float64], hottest: int, redraw: str) -> float:
    """The probability that a transfer touches one of the ``hottest`` first accounts, where each account is
    picked with its ``probability`` and ``redraw`` says what is drawn again while both are the same."""
    others = probability[hottest:]
    if redraw == REDRAW_BOTH:
        neither = float(others.sum() ** 2 - np.square(others).sum()) / (
            1 - float(np.square(probability).sum())
        )
    else:
        neither = float((others * (1 - probability[:hottest].sum() / (1 - others))).sum())
    return 1 - neither


def hot_share(table: AliasTable, redraw: str) -> float:
    """The probability that a transfer touches account 0; ``redraw`` says what is drawn again while both
    accounts are the same (:data:`REDRAWS`)."""
    return share_touching(table.probabilities(), 1, redraw)
