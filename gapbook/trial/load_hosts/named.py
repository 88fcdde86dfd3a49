"""Where the load of a run comes from, as its reader named it: ``gapbook run CHAPTER --load-from ADDRESS``.

A chapter runs in a kernel of its own, which learns of it by a variable of its environment.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gapbook.trial.scheduler_address import require_scheduler_address

if TYPE_CHECKING:
    from gapbook.load.maker import LoadMaker

__all__ = ["LOAD_FROM", "named_load_maker"]

LOAD_FROM = "GAPBOOK_LOAD_FROM"


@contextmanager
def named_load_maker(say: Callable[[str], None] = print) -> Iterator[LoadMaker]:
    """The load hosts behind the scheduler that the reader named, else a client beside the server; raises what
    :func:`gapbook.trial.load_hosts.fleet.load_hosts_at` and
    :func:`gapbook.trial.scheduler_address.require_scheduler_address` do."""
    from gapbook.load.maker import BESIDE_THE_SERVER  # noqa: PLC0415 (the command line reads the name alone)

    scheduler = os.environ.get(LOAD_FROM, "").strip()
    if not scheduler:
        yield BESIDE_THE_SERVER
        return
    require_scheduler_address(scheduler)
    from gapbook.trial.load_hosts.fleet import load_hosts_at  # noqa: PLC0415 (as above)

    with load_hosts_at(scheduler, say) as fleet:
        yield fleet
