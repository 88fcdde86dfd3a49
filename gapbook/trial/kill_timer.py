"""A server ended without warning, some time after the window of a load has opened."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

from gapbook.errors import StackError
from gapbook.model.event import Event

__all__ = ["KillTimer"]

_KILLED_WITHIN_S = 20.0


class KillTimer:
    """Calls ``kill`` once, ``after_s`` after a client has said that its window opened.

    A context manager: on leaving, a kill that has not come is called off, and one that has begun is waited for.
    """

    def __init__(self, kill: Callable[[], None], after_s: float) -> None:
        self._kill = kill
        self._timer = threading.Timer(after_s, self._strike)
        self._struck = threading.Event()
        self._failure: Exception | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
        if self._timer.is_alive():
            self._timer.join(_KILLED_WITHIN_S)

    @property
    def struck(self) -> bool:
        """Whether the kill is done, be it that it failed."""
        return self._struck.is_set()

    def on_event(self, event: Event) -> None:
        """Progress of a client (clients/CONTRACT.md); the opening of its window starts the timer."""
        if event.name == "window_start":
            self._timer.start()

    def require_killed(self, name: str) -> None:
        """After the load: raise StackError, with the server's name, unless it was killed."""
        if not self._struck.wait(_KILLED_WITHIN_S):
            raise StackError(f"{name}: the load ended before the server was killed")
        if self._failure is not None:
            raise StackError(f"{name}: kill: {self._failure}")

    def _strike(self) -> None:
        try:
            self._kill()
        except (StackError, OSError) as error:
            self._failure = error
        self._struck.set()
