"""The backlog of a trial: what the server still does once the client has ended.

A client ends after its last answer, and most not before they have kept their connections for a moment after the window
(``linger_s``). A backlog that the server has worked off by then is not seen.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from gapbook.deploy.backend import cpu_s_of
from gapbook.deploy.stack import Stack
from gapbook.errors import StackError

__all__ = ["Backlog", "wait_until_idle"]

_POLL_S = 0.1
_CPU_FRAC = 0.05
_QUIET_POLLS = 3
_TIMEOUT_S = 60.0


@dataclass(frozen=True)
class Backlog:
    """How long, how much CPU and how many bytes of log from the end of the client until the server was idle; None for
    bytes that nobody can read."""

    catch_up_s: float
    catch_up_cpu_s: float
    catch_up_log_bytes: int | None


def wait_until_idle(stack: Stack, flush_timer_s: float) -> Backlog:
    """Wait until the log stopped growing and the server uses no CPU; the client has ended.

    An acknowledgement can run ahead of the log: where commits are flushed by a timer, quiet must last longer than the
    timer. A server whose CPU nobody can read is idle when its log is, and one whose log nobody can read either when its
    own count of commits stands still. Raises StackError after a bound, for a server that never gets idle makes the next
    trial its victim.
    """
    running = stack.processes()
    for process in running:
        process.require_running()
    started = last_active = time.monotonic()
    cpu_start = cpu_last = cpu_s_of(running) or 0.0
    log_start = stack.log_bytes()
    done = stack.committed_operations if log_start is None else stack.log_bytes
    done_last, quiet = done(), 0
    while quiet < _QUIET_POLLS or time.monotonic() - last_active < flush_timer_s + _POLL_S:
        time.sleep(_POLL_S)
        cpu_now, done_now, now = cpu_s_of(running) or 0.0, done(), time.monotonic()
        if done_now == done_last and cpu_now - cpu_last <= _CPU_FRAC * _POLL_S:
            quiet += 1
        else:
            quiet, last_active = 0, now
        cpu_last, done_last = cpu_now, done_now
        if now - started > _TIMEOUT_S:
            raise StackError(f"{stack.name}: not idle {_TIMEOUT_S:.0f} s after the client ended")
    grown = None if log_start is None or done_last is None else done_last - log_start
    return Backlog(last_active - started, cpu_last - cpu_start, grown)
