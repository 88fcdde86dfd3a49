"""Durability classes: what the acknowledgement of a commit promises about the disk."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from gapbook.errors import ParameterError

__all__ = ["Durability"]


@dataclass(frozen=True)
class Durability:
    """What a commit's acknowledgement promises.

    ``kind``: ``none``, ``delayed`` (on disk within ``max_ms``, or later than the acknowledgement by a time
    that nobody states: None) or ``fsync-per-commit``.
    """

    kind: str
    max_ms: float | None = None

    _WORDS: ClassVar[dict[str, str]] = {
        "fsync-per-commit": "waiting for the disk",
        "delayed": "not waiting for the disk",
        "none": "no promise about the disk",
    }
    ALLOWED: ClassVar[tuple[str, ...]] = ("none", "fsync-per-commit", "delayed", "delayed(N ms)")

    @property
    def words(self) -> str:
        """What a commit does, in a reader's words."""
        return self._WORDS[self.kind]

    def satisfies(self, declared: Durability) -> bool:
        """The same kind of promise, kept at least as soon as declared; without a bound no bound is kept."""
        if self.kind != declared.kind:
            return False
        return declared.max_ms is None or (self.max_ms is not None and self.max_ms <= declared.max_ms)

    def __str__(self) -> str:
        return self.kind if self.max_ms is None else f"{self.kind}({self.max_ms:g} ms)"

    @classmethod
    def parse(cls, text: str) -> Durability:
        """``none``, ``fsync-per-commit``, ``delayed(500 ms)`` or ``delayed``; raises ParameterError.

        No bound is zero: what is on disk when it is acknowledged is ``fsync-per-commit``.
        """
        match = re.fullmatch(r"(none|fsync-per-commit|delayed)|delayed\((\d+(?:\.\d+)?) ms\)", text.strip())
        if match is None or (match[2] and not float(match[2])):
            raise ParameterError(
                f"durability: {text!r} is not a class; allowed: {', '.join(cls.ALLOWED)} with N above 0"
            )
        return cls("delayed", float(match[2])) if match[2] else cls(match[1])
