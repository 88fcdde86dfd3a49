"""Was a contestant warm when its windows opened: how it came to its rate, and whether that rate went on rising.

What is compiled while it runs is slow at first (Barrett et al., doi 10.1145/3133876), and a window that
opens too early holds part of the rise. One trial is too noisy to tell; all trials of a contestant are not.
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from gapbook.method.estimate import geometric_interval
from gapbook.method.interval import Interval
from gapbook.record.series import BIN_S, bins_inside

__all__ = ["RISE_FRAC", "Reading", "Warmth", "warmth_of"]

Reading = Literal["warm", "still rising", "falling", "not resolved", "not known"]
RISE_FRAC = 0.05


@dataclass(frozen=True)
class Warmth:
    """How a contestant came to its rate.

    ``approach``: the rate in each whole second of the warm-up, divided by that inside the window; medians
    over trials, empty where no trial tells. ``rise``: the rate in the second half of the window divided by
    that in the first, over blocks; None where no window holds two whole bins.
    """

    approach: tuple[float, ...]
    rise: Interval | None

    @property
    def reading(self) -> Reading:
        """*Warm* is said when the whole interval lies below a rise of 5 %; *still rising* and *falling* when it holds no
        standstill and the change is more than 5 %. A wide interval has shown neither: *not resolved*.

        A reading is a caution, so it is not made rarer because other contestants have one too.
        """
        if self.rise is None or not self.rise.bounded:
            return "not known"
        if self.rise.low > 1 and self.rise.estimate > 1 + RISE_FRAC:
            return "still rising"
        if self.rise.high < 1 and self.rise.estimate < 1 / (1 + RISE_FRAC):
            return "falling"
        return "warm" if self.rise.high < 1 + RISE_FRAC else "not resolved"

    @property
    def suspected(self) -> bool:
        """Whether the rate rose by more than 5 % inside the windows of several blocks, be that shown or not."""
        return self.rise is not None and self.rise.bounded and self.rise.estimate > 1 + RISE_FRAC


def warmth_of(trials: Iterable[Mapping[str, Any]], warmup_s: float, window_s: float) -> Warmth:
    """The warmth of one contestant from valid trials: rows of the record with ``block``, ``per_second`` and,
    where the client told it, ``per_100ms``.

    Counted are whole bins since the load began; one that the window's edge cuts belongs to neither. A trial without
    an answer in one half of the window tells nothing, and neither does one whose seconds do not reach over the warm-up.
    """
    approaches: list[list[float]] = []
    rises: dict[int, list[float]] = {}
    for row in trials:
        bins, bin_s = _series(row)
        window = bins_inside(warmup_s, window_s, bin_s)
        count = window.stop - window.start
        half = count // 2
        ends = max(1, half)
        seconds = np.asarray(json.loads(row["per_second"])[: math.floor(warmup_s)], dtype=np.float64)
        if count < 1 or len(seconds) < math.floor(warmup_s):
            continue
        # By sums: what a count lacks at its end adds nothing to one.
        early = bins[window.start : window.start + ends].sum()
        late = bins[window.stop - ends : window.stop].sum()
        if min(early, late) <= 0:
            continue
        approaches.append(list(seconds * bin_s * count / bins[window].sum()))
        if half:
            rises.setdefault(row["block"], []).append(math.log(late / early))
    logs = [statistics.fmean(of_block) for of_block in rises.values()]
    return Warmth(
        tuple(statistics.median(second) for second in zip(*approaches, strict=True)),
        geometric_interval([math.exp(log) for log in logs]) if logs else None,
    )


def _series(row: Mapping[str, Any]) -> tuple[NDArray[np.float64], float]:
    """The finest counts that a trial has, and the length of their bins in seconds."""
    fine = row.get("per_100ms")
    counts = json.loads(fine or row["per_second"])
    return np.asarray(counts, dtype=np.float64), BIN_S if fine else 1.0
