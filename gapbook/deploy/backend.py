"""What runs, wherever it runs: all that trials may know of a server, a tier or a proxy.

A process of this machine is one (:class:`gapbook.deploy.process.Process`); what runs in a container or on
another machine is told in the same words, or says that nobody can read it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

__all__ = ["Running", "cpu_s_of", "memory_bytes_of"]


class Running(Protocol):
    """One server, tier or proxy that was started."""

    name: str

    @property
    def running(self) -> bool:
        """Whether it has not ended."""

    def require_running(self) -> None:
        """Raise StackError, with the end of its log, when it has ended."""

    def last_words(self) -> str:
        """The end of its log on one line."""

    def cpu_s(self) -> float | None:
        """CPU seconds of it and all that it started, so far; None where nobody can read them."""

    def memory_bytes(self) -> int | None:
        """Memory of it and all that it started, shared pages counted once; None where nobody can read it."""

    def kill(self) -> None:
        """End it and all that it started, at once."""


def cpu_s_of(several: Iterable[Running]) -> float | None:
    """CPU seconds of all together; None where nobody can read those of one."""
    return _sum([one.cpu_s() for one in several])


def memory_bytes_of(several: Iterable[Running]) -> int | None:
    """Memory of all together; None where nobody can read that of one."""
    found = _sum([one.memory_bytes() for one in several])
    return None if found is None else int(found)


def _sum(values: list[float | None] | list[int | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None
