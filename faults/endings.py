"""How a leg ended: in time, by the code that its fault makes, and with one line for people."""

from __future__ import annotations

from faults.legs import Leg
from faults.points import Fault

__all__ = ["MAKERS", "wrong_end", "wrong_end_of_struck"]

MAKERS = frozenset({"harness", "harness and warden", "command"})
"""Whoever makes the run; the signal that strikes it says how it ends."""
_CODES = {"kill": -9, "interrupt": 130, "terminate": 143, "hang up": 129}
_BY_SIGNAL = "was ended from outside by signal 9 (SIGKILL, as where memory is short)"
_DEAD_KERNEL = (
    f"its kernel {_BY_SIGNAL}; trials finished so far are kept",
    f"its kernel did not start: it {_BY_SIGNAL}",
)
"""What is said of a kernel that was killed: in a cell, or before the first."""
_DONE, _REFUSED = 0, 2
_STILL_THERE = " is still there ("
"""What a run could not take back elsewhere has a line of its own, beside that of its error."""


def wrong_end(leg: Leg, within_s: float) -> list[str]:
    """What is wrong with the end of a leg, whatever struck it; one that hangs is ended."""
    code = leg.wait(within_s)
    if code is None:
        leg.end()
        return [f"it hung for {within_s:g} s and was ended"]
    lines, problems = leg.said(), list[str]()
    errors = [line for line in lines if _STILL_THERE not in line]
    strange = [line for line in lines if not line.startswith("gapbook: ")]
    if strange or len(errors) > 1:
        problems.append(f"not one line: {' | '.join(strange or errors)[-600:]}")
    if code > 0 and not errors:
        problems.append(f"code {code} without a line")
    return problems


def wrong_end_of_struck(leg: Leg, fault: Fault, within_s: float) -> list[str]:
    """The same, and a code that is not what the fault makes of a run."""
    if problems := wrong_end(leg, within_s):
        return problems
    code, said = leg.poll(), leg.last_line()
    if fault.victim in MAKERS:
        allowed = {_CODES[fault.kind]}
    elif fault.victim == "kernel":
        allowed = {_REFUSED}
        if not any(line in said for line in _DEAD_KERNEL):
            return [f"its kernel was killed, and it says: {said}"]
    else:
        allowed = {_DONE, _REFUSED}
    if code in allowed:
        return []
    return [f"code {code} after {fault.kind}, not {' or '.join(map(str, sorted(allowed)))}: {said}"]
