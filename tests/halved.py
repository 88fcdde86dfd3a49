"""A run of which the first cells alone were measured."""

from __future__ import annotations

import msgspec

from gapbook.method.summary import Summary

__all__ = ["first_cells"]


def first_cells(one: Summary, count: int) -> Summary:
    """The summary that it would have."""
    return msgspec.structs.replace(
        one,
        cells=one.cells[:count],
        ratios=[ratio for ratio in one.ratios if max(ratio.over, ratio.under) < count],
        numbers=[number for number in one.numbers if max(number.cells) < count],
    )
