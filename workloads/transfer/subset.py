"""Which of a few transfers a recovered server holds, where each may have survived or not whatever the others did.

A server that runs the requests of one connection side by side commits them in an order of its own, so what
survives of those that were out when it ended is no prefix. Few of them touch the same account, and an account's
balance tells which of its own happened.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from .draw import Transfers

__all__ = ["surviving_subset"]

_MOST_TOGETHER = 12
"""So many undecided transfers of one account are tried in all combinations; more of them wait for others."""


def surviving_subset(drawn: Sequence[Transfers], moved: NDArray[np.int64]) -> NDArray[np.bool_] | None:
    """Which transfers happened, or None where the balances do not decide every one.

    ``drawn`` are those of each connection, told one connection after the other; ``moved`` is by how much each
    balance changed. An account decides a transfer when all combinations of its
    undecided ones that add up to its change agree on it; what is decided is taken off both accounts. Nothing is
    guessed: transfers that only a combination of accounts would tell apart, such as one and the one back, have no
    answer, and so has a change that no combination explains.
    """
    source, destination, amount = (
        np.concatenate([getattr(one, name) for one in drawn] or [np.array([])]).astype(np.int64)
        for name in ("source", "destination", "amount")
    )
    unexplained = moved.astype(np.int64)
    undecided: dict[int, dict[int, int]] = defaultdict(dict)
    for number, (payer, payee, units) in enumerate(zip(source, destination, amount, strict=True)):
        undecided[int(payer)][number] = -int(units)
        undecided[int(payee)][number] = int(units)
    happened = np.zeros(len(amount), np.bool_)
    due = set(undecided)
    while due:
        account = due.pop()
        decided = _decided(undecided[account], int(unexplained[account]))
        if decided is None:
            return None
        for number, happens in decided:
            happened[number] = happens
            for touched in (int(source[number]), int(destination[number])):
                unexplained[touched] -= happens * undecided[touched].pop(number)
                due.add(touched)
    if any(undecided.values()) or unexplained.any():
        return None
    return happened


def _decided(changes: dict[int, int], wanted: int) -> list[tuple[int, bool]] | None:
    """The transfers on which all combinations agree that add up to ``wanted``; None where none does."""
    if len(changes) > _MOST_TOGETHER:
        return []
    numbers, units = list(changes), np.array(list(changes.values()))
    combinations = np.array(list(product((False, True), repeat=len(numbers))))
    fitting = combinations[combinations @ units == wanted]
    if not len(fitting):
        return None
    agreed = (fitting == fitting[0]).all(axis=0)
    return [
        (number, bool(happens))
        for number, happens, sure in zip(numbers, fitting[0], agreed, strict=True)
        if sure
    ]
