"""JSON lines on standard error, whole ones also from several threads."""

from __future__ import annotations

import contextlib
import json
import sys
from threading import Lock
from typing import Any

_one_at_a_time = Lock()


def emit(event: str, **values: Any) -> None:
    # A reader that went away must not end a trial.
    with _one_at_a_time, contextlib.suppress(OSError):
        sys.stderr.write(json.dumps({"event": event, **values}) + "\n")
        sys.stderr.flush()
