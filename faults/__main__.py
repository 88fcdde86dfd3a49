"""``make faults``: plays fault points until there are enough, and prints what they left and lost.

Each point is one line of a file outside the checkout; the next start goes on behind the last.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import os
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from faults.ledger import Ledger, table
from faults.parents import end_with_parent
from faults.play import Outcome, Player
from faults.points import Point, combinations, playable, point
from faults.scenarios import missing, tiny_runs
from faults.surroundings import named_server, no_small_disk
from gapbook.errors import GapbookError, SetupError
from gapbook.paths import cache_directory, deployments_directory
from gapbook.record.fault_points import counted, failed
from gapbook.streams import speak_in_what_streams_know
from gapbook.trial.facts import code_version

_FAILED, _REFUSED, _INTERRUPTED = 1, 2, 130
_MOST_IN_VAIN = 2
"""So many times as many points are played as are to count; more would say only that they find nobody."""


def main() -> int:
    speak_in_what_streams_know()
    asked = _asked()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    ledger = Ledger(asked.file or cache_directory() / "faults" / f"seed-{asked.seed}.jsonl")
    code = 0
    if not asked.show:
        try:
            code = _play(asked, ledger)
        except GapbookError as error:
            print(f"faults: {error}", file=sys.stderr)
            return _REFUSED
    played = ledger.points()
    print("\n".join(table(played)))
    print(f"{ledger.path}: {len(counted(played)):,} points count")
    return code or (_FAILED if failed(played) else 0)


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m faults", description=__doc__)
    parser.add_argument("--points", type=int, default=1000, help="until so many count (default 1000)")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no point after so long")
    parser.add_argument("--seed", type=int, default=1, help="which points, and when they strike (default 1)")
    parser.add_argument("--jobs", type=int, default=1, help="points that are played side by side (default 1)")
    parser.add_argument("--file", type=Path, help="where the lines are kept (default: in the cache)")
    parser.add_argument(
        "--only", default="", help="points whose run, kind, victim and phase have all of these words"
    )
    parser.add_argument(
        "--again", action="store_true", help="play those that failed once more, and no others"
    )
    parser.add_argument("--show", action="store_true", help="play none, print what there is")
    asked = parser.parse_args()
    for name in ("points", "jobs"):
        if getattr(asked, name) < 1:
            parser.error(f"--{name} {getattr(asked, name)} is refused; allowed: 1 or more")
    if not asked.seconds > 0:
        parser.error(f"--seconds {asked.seconds:g} is refused; allowed: more than 0")
    words = set(filter(None, asked.only.split(",")))
    if not any(words <= fault.words for fault in combinations()):
        known = sorted({word for fault in combinations() for word in fault.words})
        parser.error(f"--only {asked.only}: no fault has all of these; allowed: {', '.join(known)}")
    asked.only = words
    return asked


def _play(asked: argparse.Namespace, ledger: Ledger) -> int:
    """Play until enough points count, in ``jobs`` processes that share the numbers; 0, or how one of them ended.

    Raises SetupError where none of the points can be played here.
    """
    absent = dict(_absent())
    for name, why in absent.items():
        print(f"not played: {name}: {why}", flush=True)
    if not any(asked.only <= fault.words for fault in playable(frozenset(absent))):
        raise SetupError("none of these points can be played here")
    stop_at = time.monotonic() + asked.seconds
    revision = code_version().revision[:12]

    def work(job: int) -> None:
        _work(asked, ledger, job, frozenset(absent), stop_at, revision)

    return _waited([_forked(partial(work, job)) for job in range(asked.jobs)])


def _absent() -> Iterator[tuple[str, str]]:
    """Runs and kinds of faults that cannot be made on this machine, each with the reason."""
    for name, tiny in tiny_runs().items():
        if why := missing(tiny):
            yield name, why
    if why := no_small_disk():
        yield "full", why


def _forked(work: Callable[[], None]) -> int:
    """A process that does the work and ends with this one; an interrupt reaches it from here alone."""
    child = os.fork()
    if child == 0:
        code = _FAILED
        try:
            os.setsid()
            end_with_parent()
            # A shell lets what it starts in the background ignore the interrupt that we are handed.
            signal.signal(signal.SIGINT, signal.default_int_handler)
            work()
            code = 0
        except GapbookError as error:
            print(f"faults: {error}", file=sys.stderr)
            code = _REFUSED
        except KeyboardInterrupt:
            code = _INTERRUPTED
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    return child


def _waited(workers: Sequence[int]) -> int:
    """0 once all have ended so, else how the first did that has not. An interrupt is handed on to all: they take
    down what they have."""
    codes = dict.fromkeys(workers, 0)
    left = list(workers)
    while left:
        try:
            codes[left[0]] = os.waitstatus_to_exitcode(os.waitpid(left[0], 0)[1])
            left.pop(0)
        except KeyboardInterrupt:
            for worker in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(worker, signal.SIGINT)
    return next(filter(None, codes.values()), 0)


def _work(
    asked: argparse.Namespace,
    ledger: Ledger,
    job: int,
    absent: frozenset[str],
    stop_at: float,
    revision: str,
) -> None:
    with _player(asked.only, absent) as player:
        for chosen in _to_play(asked, ledger, job, absent):
            if time.monotonic() >= stop_at:
                return
            outcome = player.play(chosen)
            ledger.add({**outcome, "revision": revision})
            print(_line(outcome), flush=True)


@contextmanager
def _player(words: set[str], absent: frozenset[str]) -> Iterator[Player]:
    """Who plays the faults that have these words, with a named server where one of them needs it."""
    with ExitStack() as around:
        parent = _own_folder()
        around.callback(shutil.rmtree, parent, ignore_errors=True)
        parent.chmod(0o755)
        needs_named = any(tiny_runs()[fault.run].named and words <= fault.words for fault in playable(absent))
        yield Player(parent, around.enter_context(named_server(parent)) if needs_named else None)


def _to_play(asked: argparse.Namespace, ledger: Ledger, job: int, absent: frozenset[str]) -> Iterator[Point]:
    """The points of this job that were not played before, until enough count; or those that failed."""
    if asked.again:
        numbers = [one.point for one in failed(ledger.points())]
        yield from (point(asked.seed, number, absent) for number in numbers[job :: asked.jobs])
        return
    for number in itertools.count(job, asked.jobs):
        chosen = point(asked.seed, number, absent)
        if not asked.only <= chosen.fault.words:
            continue
        played = ledger.points()
        if len(counted(played)) >= asked.points:
            return
        if number in {one.point for one in played}:
            continue
        if len(played) >= _MOST_IN_VAIN * asked.points:
            raise SetupError(f"{len(played):,} points were played, of which too few count; see the table")
        yield chosen


def _own_folder() -> Path:
    where = deployments_directory()
    try:
        return Path(tempfile.mkdtemp(prefix="gf-", dir=where))
    except OSError as error:
        raise SetupError(
            f"no folder can be made in {where} ({error.strerror}); set GAPBOOK_DATA to one on a disk with room"
        ) from error


def _line(outcome: Outcome) -> str:
    failings = {"leaks": outcome["leaks"], "lost": outcome["lost"], "wrong": outcome["wrong"]}
    found = [f"{name}: {failing}" for name, failing in failings.items() if failing]
    struck = outcome["struck"] or "nobody"
    return (
        f"{outcome['point']:>5} {outcome['run']:<12} {outcome['kind']} {outcome['victim']} at {outcome['aimed']}: "
        f"{struck}, {outcome['took_s']:.1f} s{'; ' + '; '.join(found) if found else ''}"
    )


if __name__ == "__main__":
    sys.exit(main())
