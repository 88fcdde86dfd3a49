"""The process behind what a stack runs on this machine."""

from __future__ import annotations

from gapbook.deploy.process import Process
from gapbook.deploy.stack import Stack

__all__ = ["process_of"]


def process_of(stack: Stack) -> Process:
    """The one server process of a stack."""
    (running,) = stack.processes()
    assert isinstance(running, Process)
    return running
