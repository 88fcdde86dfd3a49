"""Texts of the letters a to z, each given by two random numbers."""

from __future__ import annotations

import numpy as np

from gap_python.philox import U64

__all__ = ["Letters"]

_LETTERS = 26
_FIRST_LETTER = ord("a")
_LOW = np.uint64(0xFFFFFFFF)


class Letters:
    """Texts of one length."""

    def __init__(self, length: int) -> None:
        self._places = np.arange(length, dtype=np.uint64)

    def spelled(self, first: U64, step: U64) -> list[str]:
        """Steps modulo 2^32, an odd number of them apart."""
        odd = step | np.uint64(1)
        # At most 2^12 letters, so that 64 bits hold every product.
        places = (first[:, None] + self._places * odd[:, None]) & _LOW
        letters = (places % np.uint64(_LETTERS) + np.uint64(_FIRST_LETTER)).astype(np.uint8)
        return [row.tobytes().decode("ascii") for row in letters]
