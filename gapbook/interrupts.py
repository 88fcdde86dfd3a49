"""An interrupt is an interrupt, whatever code it arrives in."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from gapbook.errors import GapbookError

__all__ = ["interrupts_stay"]


@contextmanager
def interrupts_stay() -> Iterator[None]:
    """An interrupt that a library turns into an error of its own is raised as the KeyboardInterrupt that it was.

    Compiled code may drop the exception that the signal raises beneath it and report what it then failed at: polars,
    interrupted as it describes a value, raises ``TypeError: '<unprintable str object>' is not a Polars data type``.
    Signals reach the main thread only: in another one nothing is changed.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    heard = False

    def hear(number: int, frame: FrameType | None) -> None:
        nonlocal heard
        heard = True
        before(number, frame)

    signal.signal(signal.SIGINT, hear)
    try:
        yield
    except GapbookError:
        raise
    except Exception as error:
        if heard:
            raise KeyboardInterrupt from error
        raise
    finally:
        signal.signal(signal.SIGINT, before)
