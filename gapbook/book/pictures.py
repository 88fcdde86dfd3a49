"""The pictures of a book, drawn beside what else is done: in processes, for the library that draws holds Python's lock."""

from __future__ import annotations

import multiprocessing
import signal
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager

from gapbook.deploy.limits import allowed_processors
from gapbook.deploy.process import end_with_parent

__all__ = ["drawing_beside"]


@contextmanager
def drawing_beside() -> Iterator[ProcessPoolExecutor]:
    """Processes that draw what is mapped to them, as many as there are processors. What nobody waited for when the block
    ends is given up."""
    fork = multiprocessing.get_context("fork")  # which imports nothing again
    sys.stdout.flush()
    beside = ProcessPoolExecutor(len(allowed_processors()), fork, end_with_parent, (signal.SIGTERM,))
    try:
        yield beside
    finally:
        beside.shutdown(cancel_futures=True)
