"""The plan of a run: randomised complete blocks, drawn from a stored seed.

Every block holds one trial of each treatment (contestant × alpha) in an order of its own, so that a
drift of the machine falls on all treatments alike (Abedi and Brecht, RMIT, doi 10.1145/3030207.3030229).
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

__all__ = ["PlannedTrial", "make_plan"]

_SEED_BITS = 53


@dataclass(frozen=True)
class PlannedTrial:
    """One trial to be run. All contestants of a block draw the same work at one alpha."""

    number: int
    block: int
    contestant: str
    alpha: float
    work_seed: int


def make_plan(
    contestants: Sequence[str], alphas: Sequence[float], *, blocks: int, seed: int
) -> tuple[PlannedTrial, ...]:
    """All trials in the order in which they run."""
    order = random.Random(seed)

    def trials() -> Iterator[PlannedTrial]:
        number = 0
        for block in range(blocks):
            treatments = [(contestant, alpha) for contestant in contestants for alpha in alphas]
            order.shuffle(treatments)
            for contestant, alpha in treatments:
                yield PlannedTrial(number, block, contestant, alpha, _work_seed(seed, block))
                number += 1

    return tuple(trials())


def _work_seed(seed: int, block: int) -> int:
    digest = hashlib.sha256(f"{seed}:{block}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> (64 - _SEED_BITS)
