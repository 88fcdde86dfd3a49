"""JSON lines on standard error."""

from __future__ import annotations

import contextlib
import json
import logging
import sys
from typing import Any


def emit(event: str, **values: Any) -> None:
    # A reader that went away must not end a trial.
    with contextlib.suppress(OSError):
        sys.stderr.write(json.dumps({"event": event, **values}) + "\n")
        sys.stderr.flush()


class EventHandler(logging.Handler):
    """What libraries log: events too, as standard error holds nothing else."""

    def emit(self, record: logging.LogRecord) -> None:
        emit("log", message=record.getMessage())
