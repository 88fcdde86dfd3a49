"""Standard output and error: in a locale that has not every character, and said to by several threads at once."""

from __future__ import annotations

import codecs
import sys
from io import TextIOWrapper

__all__ = ["say", "speak_in_what_streams_know"]

_IN_PLAIN_LETTERS = {"×": "x", "−": "-", "–": "-", "≥": ">=", "≤": "<=", "…": "...", "µ": "u", "α": "alpha"}


def speak_in_what_streams_know() -> None:
    """Let a stream whose encoding has not every character (that of ISO-8859-1, or of the locale C) get the nearest
    that it has, else a question mark: a sign is not worth the command."""
    codecs.register_error("gapbook-plain", _in_plain_letters)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="gapbook-plain")


def say(line: str) -> None:
    """Print a line at once and as one piece: ``print`` writes its end apart, and another thread's line may come
    between."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _in_plain_letters(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    unknown = error.object[error.start : error.end]
    return "".join(_IN_PLAIN_LETTERS.get(letter, "?") for letter in unknown), error.end
