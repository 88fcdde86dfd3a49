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

from gapbook.estimate import geometric_interval
from gapbook.gates import seconds_inside
from gapbook.interval import Interval

__all__ = ["RISE_FRAC", "Reading", "Warmth", "warmth_of"]

Reading = Literal["still rising", "falling", "no trend shown", "not told"]
RISE_FRAC = 0.05


@dataclass(frozen=True)
class Warmth:
    """How a contestant came to its rate.

    ``approach``: the rate in each whole second of the warm-up, divided by that inside the window; medians
    over trials, empty where no trial tells. ``rise``: the rate in the second half of the window divided by
    that in the first, over blocks; None where no window holds two whole seconds.
    """

    approach: tuple[float, ...]
    rise: Interval | None

    @property
    def reading(self) -> Reading:
        """*Still rising* and *falling* are said of an interval that lies wholly on one side of one, with an
        estimate more than 5 % off."""
        if self.rise is None or not self.rise.bounded:
            return "not told"
        if self.rise.low > 1 and self.rise.estimate > 1 + RISE_FRAC:
            return "still rising"
        falls = self.rise.high < 1 and self.rise.estimate < 1 / (1 + RISE_FRAC)
        return "falling" if falls else "no trend shown"


def warmth_of(trials: Iterable[Mapping[str, Any]], warmup_s: float, window_s: float) -> Warmth:
    """The warmth of one contestant from valid trials: rows of the record with ``block`` and ``per_second``.

    Counted are whole seconds since the load began; one that the window's edge cuts belongs to neither.
    """
    window = seconds_inside(warmup_s, window_s)
    half = (window.stop - window.start) // 2
    approaches: list[list[float]] = []
    rises: dict[int, list[float]] = {}
    for row in trials:
        series = np.asarray(json.loads(row["per_second"]), dtype=np.float64)
        inside = series[window]
        if len(inside) < max(1, window.stop - window.start) or inside.min() <= 0:
            continue
        approaches.append(list(series[: math.floor(warmup_s)] / inside.mean()))
        if half:
            rises.setdefault(row["block"], []).append(math.log(inside[-half:].mean() / inside[:half].mean()))
    by_block = [math.exp(statistics.fmean(logs)) for logs in rises.values()]
    return Warmth(
        tuple(statistics.median(second) for second in zip(*approaches, strict=True)),
        geometric_interval(by_block) if by_block else None,
    )
