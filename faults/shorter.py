"""The waits of the harness, made short, so that a point takes seconds: what is proven does not hang on their length.

Only those that a point waits out; each is longer than a sound server or client needs on a slow, busy machine.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping

from gapbook.deploy.stack import discover_stacks
from gapbook.trial.kill_check import kill_check

__all__ = ["shorten"]

_SECONDS: Mapping[str, Mapping[str, float]] = {
    "gapbook.load.null_server": {"CEILING_WINDOW_S": 0.2},
    "gapbook.load.client": {"_GRACE_S": 5.0},
    "gapbook.deploy.warden": {"_UNDO_WITHIN_S": 8.0},
    "gapbook.trial.backlog": {"_TIMEOUT_S": 20.0},
    "gapbook.trial.kill_check": {"_JITTER_S": 0.2},
    "gapbook.trial.kill_timer": {"_KILLED_WITHIN_S": 8.0},
    "gapbook.trial.cut_check": {"_WARMUP_S": 0.1, "_LOAD_S": 0.3, "_JITTER_S": 0.1, "_AFTER_FAULT_S": 0.2},
    "gapbook_stack_postgres.sessions": {"_ANSWER_WITHIN_S": 8.0, "_LOG_IN_WITHIN_S": 5},
    "gapbook_stack_postgres": {"_RECOVERY_TIMEOUT_S": 20.0},
    "gapbook_stack_spacetimedb.database": {"_REQUEST_TIMEOUT_S": 20.0},
}


def shorten() -> None:
    """In this process, for good."""
    discover_stacks()
    for module, constants in _SECONDS.items():
        there = importlib.import_module(module)
        for name, seconds in constants.items():
            getattr(there, name)  # one that was renamed is an error, not a long wait
            setattr(there, name, seconds)
    named = kill_check.__kwdefaults__
    if named is None or "load_s" not in named:
        raise AttributeError("kill_check has no load_s")
    named["load_s"] = 0.4
