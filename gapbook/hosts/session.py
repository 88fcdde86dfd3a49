"""One session, measured by a process of its own: ``python -m gapbook.hosts.session ANSWER_FILE``, the request on its
standard input.

It ends when that input is closed, and its servers with it: whoever asked for it is no longer there.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path

import msgspec

from gapbook.book.on_demand import install_on_demand
from gapbook.book.plans import PublishedPlan
from gapbook.book.together import units_of
from gapbook.deploy.deployment import Deployment
from gapbook.errors import GapbookError, SetupError
from gapbook.hosts.request import Answer, Request
from gapbook.trial.campaign import SessionFiles
from gapbook.trial.measured import to_measure

__all__: list[str] = []


def main() -> int:
    """Always 0 where there is an answer: that says what came of it."""
    request = msgspec.msgpack.decode(sys.stdin.buffer.read(_length()), type=Request)
    threading.Thread(target=_end_with_who_asked, daemon=True).start()
    began_s = time.monotonic()
    try:
        answer = Answer(files=_measured(request), took_s=time.monotonic() - began_s)
    except GapbookError as error:
        answer = Answer(error=str(error))
    Path(sys.argv[1]).write_bytes(msgspec.msgpack.encode(answer))
    return 0


def _length() -> int:
    return int.from_bytes(sys.stdin.buffer.read(8), "big")


def _end_with_who_asked() -> None:
    # Not through its buffer, whose lock Python waits for when it ends, in vain.
    while os.read(sys.stdin.fileno(), 1):
        pass
    os._exit(1)


def _measured(request: Request) -> SessionFiles:
    plans = [PublishedPlan.of(chapter, given) for chapter, given in request.given.items()]
    for plan in plans:
        install_on_demand(plan.chapter)
    units = units_of(plans)
    asked = units[0].asked
    if len(units) > 1 or asked is None:
        raise SetupError(f"{', '.join(request.given)}: not one measurement with this code")
    lacking: list[str] = []

    def say(line: str) -> None:
        lacking.append(line)
        print(line, flush=True)

    measurement = to_measure(asked, say)
    if measurement.plan_key != request.plan_key:
        raise SetupError(
            f"{'; '.join(lacking) or 'it would measure something else'}; give gapbook setup there"
        )
    # Its folder is gone with this process, however that ends.
    with Deployment() as own:
        return measurement.session(request.session, own.directory / "journal")


if __name__ == "__main__":
    sys.exit(main())
