"""The schedule of a run: its plan by sessions, blocks and attempts, and what of it is still to be run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from gapbook.model.plan import PlannedTrial, blocks_of_session

__all__ = ["Schedule"]


@dataclass(frozen=True)
class Schedule:
    """The blocks of a plan, spread evenly over sessions; a refused trial is run again at the end of its block,
    until it was tried ``attempts`` times.

    At its first attempt a trial has the number of its plan, at each later one a number that is higher by the
    length of the plan. What was ``done`` are rows of the record by these numbers.
    """

    plan: Sequence[PlannedTrial]
    sessions: int
    attempts: int

    @property
    def blocks(self) -> int:
        return 1 + max(planned.block for planned in self.plan)

    def left_of(self, session: int, done: Mapping[int, Mapping[str, Any]]) -> Iterator[PlannedTrial]:
        """What a session has still to run, block by block: the planned trials, then those refused, again, in the
        same order. ``done`` may grow meanwhile: what is refused now comes again at the end of its block."""
        blocks = blocks_of_session(session, sessions=self.sessions, blocks=self.blocks)
        for block, attempt in product(blocks, range(self.attempts)):
            yield from self._left(block, attempt, done)

    def is_done(self, session: int, done: Mapping[int, Mapping[str, Any]]) -> bool:
        """Whether a session has no trial left."""
        return next(self.left_of(session, done), None) is None

    def title(self, planned: PlannedTrial) -> str:
        """``trial 3/12, block 1``; ``trial 3/12 again, block 1`` at the second attempt."""
        attempt, place = divmod(planned.number, len(self.plan))
        return f"trial {place + 1}/{len(self.plan)}{' again' * attempt}, block {planned.block + 1}"

    def _left(self, block: int, attempt: int, done: Mapping[int, Mapping[str, Any]]) -> list[PlannedTrial]:
        """What a block has still to run at an attempt: its planned trials, later only those refused before."""
        numbered = (
            replace(planned, number=planned.number + attempt * len(self.plan))
            for planned in self.plan
            if planned.block == block
        )
        left = [planned for planned in numbered if planned.number not in done]
        if attempt == 0:
            return left
        earlier = {planned.number: done.get(planned.number - len(self.plan)) for planned in left}
        return [planned for planned in left if (row := earlier[planned.number]) and not row["valid"]]
