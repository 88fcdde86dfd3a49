"""What can go wrong, as one tree.

GapbookError                a message for people: what, where, what is allowed, what to do
├── DeclarationError        a declaration file says what is not allowed: file, line, key
├── ParameterError          a parameter is unknown, of the wrong type or out of range
├── SetupError              a toolchain, package or server binary is missing
├── StackError              a server did not start, answer or stop as declared
├── ClientError             a client refused its configuration, crashed or hung
├── RecordError             a stored run is missing, incomplete, changed or of another version
└── SessionsLeftError       no fault: the session that was asked for is done, and the run has more
"""

from __future__ import annotations

from collections.abc import Iterable

__all__ = [
    "ClientError",
    "DeclarationError",
    "GapbookError",
    "ParameterError",
    "RecordError",
    "SessionsLeftError",
    "SetupError",
    "StackError",
    "cut",
    "nearest",
    "shown",
]

_MOST_SHOWN = 100


def cut(text: str) -> str:
    """What a reader wrote, short enough to be repeated in one line."""
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}... ({len(text):,} characters)"


def shown(value: object) -> str:
    """A value of any type as a reader may have written it, in one short line."""
    try:
        return cut(" ".join(line.strip() for line in repr(value).splitlines()))
    except Exception:  # whatever a foreign type does, or a nest that is too deep
        return f"a value of type {type(value).__name__}"


def nearest(name: str, allowed: Iterable[str]) -> str:
    """``; did you mean alpha?`` where one of the allowed names is like the one that was given; else nothing."""
    import difflib  # noqa: PLC0415 (of use after a mistake alone)

    by_lower = {each.lower(): each for each in allowed}
    found = difflib.get_close_matches(name[:_MOST_SHOWN].lower(), by_lower, n=1)
    return f"; did you mean {by_lower[found[0]]}?" if found else ""


class GapbookError(Exception):
    """The root of all errors that this project explains to its reader in one line."""


class DeclarationError(GapbookError):
    """Names the file, the line and the key of a declaration, what is allowed there and the nearest key."""


class ParameterError(GapbookError):
    """Names the parameter, what was given and what is allowed."""


class SetupError(GapbookError):
    """Names what is missing and the command that installs it."""


class StackError(GapbookError):
    """Names the stack, the verb that failed and the last words of its log."""


class ClientError(GapbookError):
    """Names the client, how it ended and the last line it printed."""


class RecordError(GapbookError):
    """Names the run and the file that cannot be trusted."""


class SessionsLeftError(GapbookError):
    """Says which session of a run is done; a notebook ends here, for there is no run to show yet."""
