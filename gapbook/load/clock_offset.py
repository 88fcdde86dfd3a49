"""How far the clock of another host is from ours: the exchange of NTP, of which the quickest answer counts.

The host answers with its time. It read its clock between our question and our arrival of the answer, so that its clock is
off by what it said less the middle of the two, give or take half of what the exchange took: a bound that holds however
unequal the two ways are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gapbook.errors import ClientError

__all__ = ["EXCHANGES", "MOST_BOUND_S", "ClockOffset", "measured_offset", "require_same_clock"]

EXCHANGES = 40
MOST_BOUND_S = 0.005
"""A clock that is known less exactly is refused: a window's edge would lie so far off on that host."""


@dataclass(frozen=True)
class ClockOffset:
    """``offset_s`` is what the host's clock is ahead of ours, in seconds; it is that within ``bound_s``."""

    offset_s: float
    bound_s: float

    def there(self, unix_s: float) -> float:
        """A moment of our clock as the host's clock has it."""
        return unix_s + self.offset_s


def measured_offset(
    ask: Callable[[], float], now: Callable[[], float], exchanges: int = EXCHANGES
) -> ClockOffset:
    """The offset of a host: ``ask`` returns its time, ``now`` ours, both in seconds since 1970.

    Raises ClientError, for the caller to name the host, where the bound is above :data:`MOST_BOUND_S`.
    """
    found = min((_exchanged(ask, now) for _ in range(exchanges)), key=lambda offset: offset.bound_s)
    if found.bound_s > MOST_BOUND_S:
        raise ClientError(
            f"its clock is known within {found.bound_s * 1e3:.1f} ms only, by {exchanges} exchanges; allowed: "
            f"{MOST_BOUND_S * 1e3:g} ms: bring it nearer, or leave it out"
        )
    return found


def require_same_clock(before: ClockOffset, after: ClockOffset) -> None:
    """Raise ClientError, for the caller to name the host, where its clock was set between two measurements."""
    moved_s = abs(after.offset_s - before.offset_s)
    if moved_s > MOST_BOUND_S + before.bound_s + after.bound_s:
        raise ClientError(
            f"its clock moved by {moved_s * 1e3:.1f} ms against ours while it loaded; keep both clocks from being set"
        )


def _exchanged(ask: Callable[[], float], now: Callable[[], float]) -> ClockOffset:
    asked_s = now()
    there_s = ask()
    answered_s = now()
    # A clock of ours that was set back meanwhile would make a bound below 0, the best of all.
    bound_s = (answered_s - asked_s) / 2 if answered_s >= asked_s else float("inf")
    return ClockOffset(there_s - (asked_s + answered_s) / 2, bound_s)
