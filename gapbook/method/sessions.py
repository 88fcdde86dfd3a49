"""Intervals over sessions: what the next session would find, not only how well these are known.

Blocks of a session share its servers and its hour. Where sessions differ, blocks are not so many independent
values; the session is the outer level of replication then (Kalibera and Jones, doi 10.1145/2464157.2464160).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping

from gapbook.method.estimate import geometric_interval, geometric_mean
from gapbook.method.interval import Interval

__all__ = ["session_interval", "session_means"]


def session_means(
    by_block: Mapping[int, float], sessions: Mapping[int, Collection[int]]
) -> dict[int, float | None]:
    """The geometric mean of each session over those of its blocks that have a value; None where none has.

    ``sessions`` are the blocks of each.
    """
    return {
        session: _mean(by_block[block] for block in blocks if block in by_block)
        for session, blocks in sessions.items()
    }


def session_interval(
    by_block: Mapping[int, float],
    sessions: Mapping[int, Collection[int]],
    degrees_of_freedom: float = math.inf,
) -> Interval | None:
    """Geometric mean of the means of sessions, each counted once, with its 95 % t interval over sessions.

    ``n`` is the number of sessions that have a value; None when none has. An effect of a session, and the
    noise of its blocks, both move its mean, so that the spread of these means holds both. Where a contrast rests
    on cells that run in some of the blocks only, the others move it little: it has no more than its own
    ``degrees_of_freedom`` (:class:`gapbook.method.estimate.Contrast`), however many sessions there are.
    """
    known = [mean for mean in session_means(by_block, sessions).values() if mean is not None]
    return geometric_interval(known, degrees_of_freedom) if known else None


def _mean(values: Iterable[float]) -> float | None:
    found = list(values)
    return geometric_mean(found) if found else None
