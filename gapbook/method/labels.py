"""What is known of a label on a contestant: a caution stands until it is ruled out, and no single trial rules it out.

Its share (:mod:`gapbook.record.labels`) is taken in every block. The label is *carried* when the whole interval over
blocks lies above the limit, *ruled out* when it lies below, and *not ruled out* otherwise: whoever measured has to show
that a caution is needless, and not the reader that it is needed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from gapbook.method.student import quantile_of_t
from gapbook.record.labels import CLIENT_BOUND, LIMIT_FRAC, label_shares

__all__ = ["LabelReading", "LabelState", "label_reading"]

LabelState = Literal["carried", "not ruled out", "ruled out"]


@dataclass(frozen=True)
class LabelReading:
    """The share of a contestant for one label: mean over ``n`` blocks with its 95 % t interval, and the limit.

    One block has no interval, and then its own share decides: above the limit it is not ruled out. Without a trial
    there is nothing to be careful about.
    """

    mean: float
    low: float
    high: float
    limit: float
    n: int

    @property
    def suspected(self) -> bool:
        """Whether the mean lies above the limit, be it shown or not."""
        return self.n > 0 and self.mean > self.limit

    @property
    def state(self) -> LabelState:
        if self.n < 2:
            return "not ruled out" if self.suspected else "ruled out"
        if self.low > self.limit:
            return "carried"
        return "ruled out" if self.high < self.limit else "not ruled out"


def label_reading(
    rows: Iterable[Mapping[str, Any]],
    label: str,
    warmup_s: float,
    window_s: float,
    *,
    client_threaded: bool = False,
) -> LabelReading:
    """What the valid trials of a contestant say of a label; trials of one block are one value.

    ``client_threaded`` as :func:`gapbook.record.labels.label_shares` has it.
    """
    by_block: dict[int, list[float]] = {}
    for row in _telling(list(rows), label):
        shares_of_row = label_shares(row, warmup_s, window_s, client_threaded=client_threaded)
        by_block.setdefault(int(row["block"]), []).append(shares_of_row[label])
    shares = [float(np.mean(one)) for one in by_block.values()]
    mean, half, limit = (float(np.mean(shares)) if shares else math.nan), math.nan, LIMIT_FRAC[label]
    if len(shares) > 1:
        # A stored run may hold any number: a spread beyond all bounds is an interval that excludes nothing.
        with np.errstate(over="ignore"):
            spread = float(np.std(shares, ddof=1))
        half = quantile_of_t(len(shares) - 1) * spread / math.sqrt(len(shares))
    return LabelReading(mean, mean - half, mean + half, limit, len(shares))


def _telling(rows: Sequence[Mapping[str, Any]], label: str) -> Sequence[Mapping[str, Any]]:
    """The trials from which a label is read. Where a ceiling could not be measured, what is known of a client is less
    than its share, and a mean with the shares of other blocks would rule out what they show."""
    with_ceiling = [row for row in rows if row.get("ceiling_per_s")]
    return with_ceiling if label == CLIENT_BOUND and with_ceiling else rows
