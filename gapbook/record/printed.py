"""What readers call what runs store: the levels of a contestant, and the parts of what is said of it.

Runs are compared and found again by the words that they store, so these stay as they are. Whatever is printed has the
words of this list in their place: one word for one thing.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = [
    "ONE_AT_A_TIME",
    "detail_in_words",
    "in_flight_in_words",
    "level_in_words",
    "part_in_words",
    "state_in_words",
]

ONE_AT_A_TIME = "one request at a time"
_IN_FLIGHT = " in flight"
_PARTS: Mapping[str, str] = {
    "one call": "stored procedure",
    "64 in one call": "stored procedure with 64 transfers",
    "procedure": "stored procedure",
    "batched procedure": "stored procedure with 64 transfers",
    "function": "stored procedure",
    "one call a payload": "each in a payload",
    "Node RPC": "Node.js server",
    "Node server": "retrying Node.js server",
    "in-process": "inside the client",
}
"""Of an access level or a tier, and of what stands behind a comma in it."""
_LEVELS: Mapping[str, Mapping[str, str]] = {
    "tier": {
        "rpc": "Node.js server",
        "server": "retrying Node.js server",
        "bun": "Bun server",
        "in-process": "inside the client",
    },
    "client": {"rust": "Rust", "typescript": "TypeScript", "python": "Python"},
}
_SPEAK_FOR_THEMSELVES = ("access", "tier", "in flight")
"""Dimensions whose levels need no name before them."""


def detail_in_words(stored: str) -> str:
    """``Rust client · stored procedure · one request at a time`` of ``Rust client · procedure · 1 in flight``"""
    return " · ".join(map(part_in_words, stored.split(" · ")))


def part_in_words(stored: str) -> str:
    """One part of that: ``stored procedure, hot lock last`` of ``procedure, hot lock last``"""
    if stored.endswith(_IN_FLIGHT):
        return in_flight_in_words(stored.removesuffix(_IN_FLIGHT))
    return ", ".join(_PARTS.get(word, word) for word in stored.split(", "))


def in_flight_in_words(many: str) -> str:
    """How many requests a connection has out at a time: ``one request at a time``, ``40 in flight``"""
    return ONE_AT_A_TIME if many == "1" else f"{many}{_IN_FLIGHT}"


def level_in_words(dimension: str, level: str) -> str:
    """A level of a dimension as a chart or a table has it: ``stored procedure`` of ``one call``"""
    if dimension == "in flight":
        return in_flight_in_words(level)
    return part_in_words(level) if dimension == "access" else _LEVELS.get(dimension, {}).get(level, level)


def state_in_words(levels: Mapping[str, str]) -> str:
    """Several levels at once: ``client Rust · stored procedure · one request at a time``"""
    return " · ".join(
        level_in_words(dimension, level)
        if dimension in _SPEAK_FOR_THEMSELVES
        else f"{dimension} {level_in_words(dimension, level)}"
        for dimension, level in levels.items()
    )
