"""The plan of a run: randomised blocks, drawn from a stored seed.

Every block holds one trial of each cell (contestant × value of the treatment) in an order of its own, so
that a drift of the machine falls on all cells alike (Abedi and Brecht, RMIT, doi 10.1145/3030207.3030229).
A cell that much hangs on may have more trials in each block, and one that little hangs on none in some
blocks.
"""

from __future__ import annotations

import hashlib
import math
import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

__all__ = ["PlannedTrial", "blocks_of_session", "make_plan"]

_SEED_BITS = 53


@dataclass(frozen=True)
class PlannedTrial:
    """One trial to be run. All contestants of a block draw the same work at one value of the treatment."""

    number: int
    block: int
    contestant: str
    treatment: float
    work_seed: int


def make_plan(
    contestants: Sequence[str],
    treatments: Sequence[float],
    *,
    blocks: int,
    seed: int,
    trials_per_block: Mapping[str, float] | None = None,
    only_at: Mapping[str, Collection[float]] | None = None,
) -> tuple[PlannedTrial, ...]:
    """All trials in the order in which they run.

    ``trials_per_block`` names contestants that do not have one trial of each value of the treatment in every
    block: 3 is three in each, 0.5 is one in every other block, from the first on. Raises ValueError when not
    above 0. ``only_at`` names contestants that run at some values of the treatment: at those of them that the
    plan has, or at all where it has none.
    """
    rates = trials_per_block or {}
    values = {name: [at for at in treatments if at in wanted] for name, wanted in (only_at or {}).items()}
    if wrong := [name for name, rate in rates.items() if not 0 < rate < math.inf]:
        raise ValueError(f"trials_per_block: {', '.join(wrong)} must be a number above 0")
    order = random.Random(seed)

    def trials() -> Iterator[PlannedTrial]:
        number = 0
        for block in range(blocks):
            cells = [
                (contestant, treatment)
                for contestant in contestants
                for _ in range(_trials_in(block, rates.get(contestant, 1)))
                for treatment in values.get(contestant) or treatments
            ]
            order.shuffle(cells)
            work_seed = _work_seed(seed, block)
            for contestant, treatment in cells:
                yield PlannedTrial(number, block, contestant, treatment, work_seed)
                number += 1

    return tuple(trials())


def blocks_of_session(session: int, *, sessions: int, blocks: int) -> range:
    """The blocks of one of several sessions: all blocks spread evenly over them, in order."""
    return range(session * blocks // sessions, (session + 1) * blocks // sessions)


def _trials_in(block: int, rate: float) -> int:
    """How many trials of one cell a block holds, such that the first blocks together have the rate."""
    return math.ceil((block + 1) * rate) - math.ceil(block * rate)


def _work_seed(seed: int, block: int) -> int:
    digest = hashlib.sha256(f"{seed}:{block}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> (64 - _SEED_BITS)
