"""A load host while one load lasts: asked and heard over its line, and named in all that befalls it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from gapbook.errors import ClientError
from gapbook.load.clock_offset import ClockOffset, measured_offset, require_same_clock
from gapbook.load.line import Line, LineError
from gapbook.trial.load_hosts.messages import Answered, Asked, Clock, Failed, ReadClock, answered, packed

__all__ = ["EngagedHost"]

_TAKEN_WITHIN_S = 10.0
_TIME_WITHIN_S = 10.0
_Found = TypeVar("_Found")


class _HostError(ClientError):
    """Names its host already."""


class EngagedHost:
    """Its verbs raise ClientError in one line that names it: where the line is lost, where it says nothing within a bound,
    and where it says that it could not do what was asked."""

    def __init__(self, name: str, line: Line) -> None:
        self.name = name
        self._line = line

    def fileno(self) -> int:
        """For a selector: readable when it has begun to say something, or is gone."""
        return self._line.fileno()

    def ask(self, message: Asked) -> None:
        try:
            self._line.send(packed(message), _TAKEN_WITHIN_S)
        except LineError as error:
            raise self.failed(str(error)) from error

    def hear(self, within_s: float) -> Answered:
        """What it says next."""
        try:
            answer = answered(self._line.receive(within_s))
        except LineError as error:
            raise self.failed(str(error)) from error
        except ValueError as error:
            raise self.failed(f"said what nobody understands ({error})") from error
        if isinstance(answer, Failed):
            raise self.failed(f"failed: {answer.message}")
        return answer

    def clock(self) -> ClockOffset:
        """How far its clock is from ours, now."""
        return self._named(lambda: measured_offset(self._time, time.time))

    def require_same_clock(self, before: ClockOffset) -> None:
        """Raises ClientError where its clock, or ours, was set since."""
        after = self.clock()
        self._named(lambda: require_same_clock(before, after))

    def _named(self, step: Callable[[], _Found]) -> _Found:
        """What a step finds; an error of its own that does not name this host yet is made to."""
        try:
            return step()
        except _HostError:
            raise
        except ClientError as error:
            raise self.failed(f"cannot be timed: {error}") from error

    def failed(self, what: str) -> ClientError:
        """An error that names this host."""
        return _HostError(f"load host {self.name} {what}")

    def _time(self) -> float:
        self.ask(ReadClock())
        answer = self.hear(_TIME_WITHIN_S)
        if not isinstance(answer, Clock):
            raise self.failed(f"was asked for its time, and said {type(answer).__name__}")
        return answer.unix_s
