"""Waiting while the machine works for somebody else: a trial begun then would only be refused."""

from __future__ import annotations

from collections.abc import Sequence

from gapbook.record.gates import Gate

__all__ = ["Patience"]

_FIRST_S = 5.0
_LONGEST_S = 120.0
_MOST_S = 900.0
_ABOUT_THE_MACHINE = frozenset({"quiet machine", "steal"})


class Patience:
    """How long to wait after each trial of a session.

    After one that the machine spoilt 5 s, after each further one in a row twice as long, at most 120 s; 15 min in
    all. Nothing is waited for after a trial that has another fault, and no gate is moved: what is refused stays
    refused.
    """

    def __init__(self) -> None:
        self.waited_s = 0.0
        self._next_s = _FIRST_S

    def after(self, gates: Sequence[Gate]) -> float:
        """Seconds to wait after the trial that these gates judged, counted as waited; 0 when the machine was quiet."""
        if not _spoilt_by_the_machine(gates):
            self._next_s = _FIRST_S
            return 0.0
        pause_s = min(self._next_s, _MOST_S - self.waited_s)
        self._next_s = min(2 * self._next_s, _LONGEST_S)
        self.waited_s += pause_s
        return pause_s


def _spoilt_by_the_machine(gates: Sequence[Gate]) -> bool:
    return any(gate.passed is False and gate.name in _ABOUT_THE_MACHINE for gate in gates)
