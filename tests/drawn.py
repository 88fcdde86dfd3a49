"""Which of very many cases a run of the tests takes: other ones each day, or all."""

from __future__ import annotations

import datetime
import os
import random
from collections.abc import Sequence
from typing import TypeVar

__all__ = ["drawn"]

_Case = TypeVar("_Case")
# Set once, for all processes that run tests of one session.
_DRAW = os.environ.setdefault("GAPBOOK_DRAW", datetime.datetime.now(datetime.UTC).date().isoformat())


def drawn(cases: Sequence[_Case], count: int, of: object = "") -> Sequence[_Case]:
    """So many of the cases, by the date in ``GAPBOOK_DRAW`` or today's; all where it is ``all``.

    ``of`` tells draws apart that would else take the same places of lists of one length.
    """
    return cases if _DRAW == "all" else random.Random(f"{_DRAW}{of}").sample(cases, min(count, len(cases)))
