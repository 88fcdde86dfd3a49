"""Processes of a point that must not outlive who plays it, whatever ends that."""

from __future__ import annotations

import ctypes
import signal

__all__ = ["end_with_parent"]

_PR_SET_PDEATHSIG = 1  # see prctl(2)
_LIBC = ctypes.CDLL(None)


def end_with_parent() -> None:
    """From now on this process is killed when the one that forked it ends."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL))
