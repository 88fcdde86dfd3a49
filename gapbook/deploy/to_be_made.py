"""What commands share is made by one of them, and the others wait for that thing alone."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from gapbook.deploy.toolchain import require_uninterrupted
from gapbook.locks import taking_turns
from gapbook.paths import cache_directory
from gapbook.streams import say

__all__ = ["to_be_made"]

_makers: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)


@contextmanager
def to_be_made(name: str, is_there: Callable[[], bool]) -> Iterator[bool]:
    """Whether a thing of the cache is still to be made, then by this thread of this command alone.

    Who makes it already is waited for. What is there waits for nobody, and needs nothing that can be written.
    Raises SetupError where the set-up is interrupted while it waits.
    """
    if is_there():
        yield False
        return
    turns, wanted = cache_directory() / "turns" / name, partial(require_uninterrupted, name)
    # Two threads of one command are no two commands, of which a line would speak.
    with _makers[name], taking_turns(turns, say, require_wanted=wanted):
        yield not is_there()
