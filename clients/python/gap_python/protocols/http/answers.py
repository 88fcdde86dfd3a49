"""What the answers to a request mean, as its declaration says."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from gap_python.answer import ACKNOWLEDGED, Answer, error_answer
from gap_python.decode import Decoded

_KEPT_ERROR_CHARACTERS = 500
_RETRIES_MAX = 65_535


class Pattern(Decoded):
    """What an answer looks like."""

    status: tuple[int, ...] = (200,)
    text: str | None = None
    """The whole body; None where any fits."""
    json: dict[str, Any] | None = None
    """Keys that the body has as a JSON object, with these values; None where any body fits."""

    def fits(self, status: int, content: bytes, body: dict[str, Any] | None) -> bool:
        if status not in self.status or (self.text is not None and self.text.encode() != content):
            return False
        if self.json is None:
            return True
        return body is not None and all(
            key in body and _equal(body[key], value) for key, value in self.json.items()
        )


class Judge:
    """Judges the answers to one kind of request; what fits a refusal is no success."""

    def __init__(self, success: Pattern, refusals: dict[str, Pattern], retries: str | None) -> None:
        self._patterns = [(Answer(name), pattern) for name, pattern in refusals.items()]
        self._patterns.append((ACKNOWLEDGED, success))
        self._retries = retries
        self._reads_bodies = retries is not None or any(
            pattern.json is not None for _, pattern in self._patterns
        )
        self._known: tuple[int, bytes] | None = None
        """The last answer that meant success and nothing besides: servers repeat it."""

    def judge(self, status: int, content: bytes) -> Answer:
        if (status, content) == self._known:
            return ACKNOWLEDGED
        body = _parse(content) if self._reads_bodies else None
        retries = self._retries_of(body)
        fitting = (answer for answer, pattern in self._patterns if pattern.fits(status, content, body))
        answer = next(fitting, None)
        if answer is None or retries is None:
            text = content.decode(errors="replace")[:_KEPT_ERROR_CHARACTERS]
            answer = error_answer(f"status {status}: {text}")
        elif answer is ACKNOWLEDGED and not retries:
            self._known = status, content
        return replace(answer, retries=retries) if retries else answer

    def _retries_of(self, body: dict[str, Any] | None) -> int | None:
        """How often the server sent the operation on again; None of what is no such number."""
        if self._retries is None or body is None:
            return 0
        retries = body.get(self._retries, 0)
        return retries if type(retries) is int and 0 <= retries <= _RETRIES_MAX else None


def _parse(content: bytes) -> dict[str, Any] | None:
    """The object that a body is; None of any other."""
    try:
        body = json.loads(content)
    except ValueError:
        return None
    return body if isinstance(body, dict) else None


def _equal(given: Any, expected: Any) -> bool:
    """JSON's equality: Python's takes true for 1."""
    if isinstance(given, bool) or isinstance(expected, bool):
        return given is expected
    if isinstance(given, dict) and isinstance(expected, dict):
        return given.keys() == expected.keys() and all(_equal(given[key], expected[key]) for key in given)
    if isinstance(given, list) and isinstance(expected, list):
        return len(given) == len(expected) and all(map(_equal, given, expected))
    return bool(given == expected)
