"""What the parts of a build took, told in a table."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["Timings"]


class Timings:
    """Seconds by the name of a part, in the order in which the parts ended."""

    def __init__(self) -> None:
        self._parts: list[tuple[str, float]] = []

    def add(self, part: str, duration_s: float) -> None:
        self._parts.append((part, duration_s))

    @contextmanager
    def of(self, part: str) -> Iterator[None]:
        """Add what the block takes, unless it fails."""
        begun_s = time.monotonic()
        yield
        self.add(part, time.monotonic() - begun_s)

    def table(self) -> str:
        """A line for each part."""
        return "\n".join(f"{duration_s:8.1f} s  {part}" for part, duration_s in self._parts)
