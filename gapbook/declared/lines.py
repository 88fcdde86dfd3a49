"""Where the keys of a TOML text stand: :mod:`tomllib` keeps no positions, and a reader needs the line."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from typing import TypeAlias

__all__ = ["KeyPath", "line_of", "offsets"]

KeyPath: TypeAlias = tuple[str | int, ...]
"""Keys from the top of the file on; a number is the place in an array."""

_BLANK = re.compile(r"(?:\s|#[^\n]*)*")
_QUOTED = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'',
    re.DOTALL,
)
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_BARE_VALUE = re.compile(r"[^,\]}#\n]+")


def offsets(text: str) -> Mapping[KeyPath, int]:
    """Where each key, each table and each item of an array first stands in a text that :mod:`tomllib` accepts."""
    scan = _Scan(text)
    scan.document()
    return scan.found


def line_of(text: str, path: KeyPath, found: Mapping[KeyPath, int]) -> int:
    """The line of a key, else of the innermost table around it that stands somewhere; the first line is 1."""
    while path and path not in found:
        path = path[:-1]
    return text.count("\n", 0, found.get(path, 0)) + 1


class _Scan:
    """One pass over a text that is known to be valid, so that nothing is checked again."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.found: dict[KeyPath, int] = {}
        self._arrays: dict[KeyPath, int] = {}

    def document(self) -> None:
        table: KeyPath = ()
        while self._blank() < len(self.text):
            if self.text.startswith("[", self.at):
                table = self._header()
            else:
                self._pair(table)

    def _blank(self) -> int:
        found = _BLANK.match(self.text, self.at)
        self.at = found.end() if found else self.at
        return self.at

    def _header(self) -> KeyPath:
        is_array = self.text.startswith("[[", self.at)
        self.at += 2 if is_array else 1
        path: KeyPath = ()
        keys = self._keys()
        for place, (key, offset) in enumerate(keys, start=1):
            path = (*path, key)
            self.found.setdefault(path, offset)
            if is_array and place == len(keys):
                self._arrays[path] = self._arrays.get(path, -1) + 1
            if path in self._arrays:
                path = (*path, self._arrays[path])
                self.found.setdefault(path, offset)
        self.at += 2 if is_array else 1
        return path

    def _keys(self) -> list[tuple[str, int]]:
        """``a."b.c"``: the parts of a key, each with its offset; what follows them is skipped up to its first sign."""
        keys = []
        while True:
            self._blank()
            matched = _QUOTED.match(self.text, self.at) or _BARE_KEY.match(self.text, self.at)
            assert matched is not None, self.at
            word = matched[0]
            key = str(tomllib.loads(f"key = {word}")["key"]) if word[0] in "\"'" else word
            keys.append((key, self.at))
            self.at = matched.end()
            self._blank()
            if not self.text.startswith(".", self.at):
                return keys
            self.at += 1

    def _pair(self, table: KeyPath) -> None:
        path = table
        for key, offset in self._keys():
            path = (*path, key)
            self.found.setdefault(path, offset)
        self.at += 1  # the sign =
        self._value(path)

    def _value(self, path: KeyPath) -> None:
        self._blank()
        self.found.setdefault(path, self.at)
        if self.text.startswith("[", self.at):
            self._array(path)
        elif self.text.startswith("{", self.at):
            self._inline_table(path)
        else:
            matched = _QUOTED.match(self.text, self.at) or _BARE_VALUE.match(self.text, self.at)
            assert matched is not None, self.at
            self.at = matched.end()

    def _array(self, path: KeyPath) -> None:
        self.at += 1
        place = 0
        while self.text[self._blank()] != "]":
            self._value((*path, place))
            place += 1
            self._blank()
            self.at += self.text.startswith(",", self.at)
        self.at += 1

    def _inline_table(self, path: KeyPath) -> None:
        self.at += 1
        while self.text[self._blank()] != "}":
            self._pair(path)
            self._blank()
            self.at += self.text.startswith(",", self.at)
        self.at += 1
