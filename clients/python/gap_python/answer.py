"""What a connection of any protocol offers to the load, and what it answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from gap_python.workload import Operation

ERROR = "error"


@dataclass(frozen=True, slots=True)
class Answer:
    """The server's verdict on one request."""

    refusal: str | None = None
    """By its name (``error``, where the workload knows none for it); None of what is acknowledged."""
    text: str = ""
    """The server's words, of an error."""
    refused_for_now: bool = False
    """A serialization failure or a deadlock, which sending again may cure."""
    retries: int = 0
    """How often a server in between has sent it again already."""


ACKNOWLEDGED = Answer()


def error_answer(text: str) -> Answer:
    return Answer(ERROR, text)


def refusal_answer(words: str, refusals: Sequence[str]) -> Answer:
    """What a server's words mean: a refusal, if they are its name and nothing else."""
    return Answer(words) if words in refusals else error_answer(words)


class ConnectionLostError(Exception):
    """What is out on the connection will not be answered."""


class Connection(Protocol):
    """One connection of the load: opened once, never again."""

    async def open(self) -> None:
        """Connect, log in, find out whether the operations are served; raises ClientError with exit code 3."""

    async def call(self, index: int, operation: Operation) -> Answer:
        """Send one request and wait for its answer; raises ConnectionLostError."""
        ...

    def agreed(self) -> dict[str, str]:
        """What the open connection agreed on with the server, for the report; often nothing."""

    def close(self) -> None:
        """Give up at once whatever is out."""
