"""How large a Parquet file would be without compression, read from its footer and its page headers alone.

A library that reads Parquet believes these numbers and makes room for them, so they are looked at before. They are
written in the compact protocol of Thrift (apache/thrift, doc/specs/thrift-compact-protocol.md), the names of the fields
are in apache/parquet-format, parquet.thrift.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from gapbook.record.bounds import MOST_DECODED_BYTES, MOST_ROWS

__all__ = ["check_pages"]

_MAGIC: Final = b"PAR1"
_MOST_FIELDS = 500_000
_MOST_DEPTH = 12
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 12
_INTEGERS = frozenset({4, 5, 6})
# Fields of FileMetaData, RowGroup, ColumnChunk, ColumnMetaData and PageHeader.
_ROWS, _GROUPS, _COLUMNS, _METADATA = 3, 4, 1, 3
_VALUES, _COMPRESSED, _PAGES_AT, _DICTIONARY_AT = 5, 7, 9, 11
_DECODED, _STORED = 2, 3
_HEADERS_OF_PAGES = (5, 7, 8)


def check_pages(data: bytes) -> None:
    """Raises ValueError in one line where the file says that it is larger than allowed, or is no Parquet file."""
    if len(data) < 12 or data[:4] != _MAGIC or data[-4:] != _MAGIC:
        raise ValueError("cannot be read as a table (it is no Parquet file)")
    length = int.from_bytes(data[-8:-4], "little")
    if length > len(data) - 12:
        raise ValueError("cannot be read as a table (its footer is longer than the file)")
    try:
        _check_footer(data, _Reader(data, len(data) - 8 - length).struct())
    except (IndexError, TypeError, AttributeError, KeyError) as error:
        raise ValueError("cannot be read as a table (its footer or a page header is broken)") from error


def _check_footer(data: bytes, footer: Mapping[int, Any]) -> None:
    _within("rows", footer[_ROWS], MOST_ROWS)
    decoded = 0
    for group in footer[_GROUPS]:
        for column in group[_COLUMNS]:
            about = column[_METADATA]
            _within("values in a column", about[_VALUES], MOST_ROWS)
            begin = min(about[_PAGES_AT], about.get(_DICTIONARY_AT) or about[_PAGES_AT])
            decoded += _decoded_bytes(data, begin, begin + about[_COMPRESSED])
            _within("bytes without compression", decoded, MOST_DECODED_BYTES)


def _decoded_bytes(data: bytes, at: int, end: int) -> int:
    """What the pages between two places of the file say that they hold."""
    if not 0 <= at <= end <= len(data):
        raise ValueError("cannot be read as a table (a column lies outside the file)")
    decoded = 0
    while at < end:
        reader = _Reader(data, at)
        page = reader.struct()
        for kind in _HEADERS_OF_PAGES:
            if kind in page:
                _within("values in a page", page[kind][1], MOST_ROWS)
        _within("bytes in a page", page[_DECODED], MOST_DECODED_BYTES)
        _within("bytes in a page", page[_STORED], len(data))
        decoded += page[_DECODED]
        at = reader.at + page[_STORED]
    return decoded


def _within(what: str, count: int, most: int) -> None:
    if not 0 <= count <= most:
        raise ValueError(f"has {count:,} {what}; allowed: up to {most:,}")


class _Reader:
    """Thrift's compact protocol, structs as numbers of fields to values. Raises IndexError beyond the end."""

    def __init__(self, data: bytes, at: int) -> None:
        self._data, self.at = data, at
        self._fields = 0

    def struct(self, depth: int = 0) -> dict[int, Any]:
        if depth > _MOST_DEPTH:
            raise ValueError("cannot be read as a table (its footer is nested too deep)")
        found: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._signed()
            found[number] = self._value(head & 15, depth)
        return found

    def _value(self, kind: int, depth: int, *, listed: bool = False) -> Any:
        self._fields += 1
        if self._fields > _MOST_FIELDS:
            raise ValueError("cannot be read as a table (its footer has too many fields)")
        if kind in {_TRUE, _FALSE}:
            return self._byte() == _TRUE if listed else kind == _TRUE
        if kind in _INTEGERS:
            return self._signed()
        if kind == _STRUCT:
            return self.struct(depth + 1)
        if kind in {_LIST, _SET}:
            head = self._byte()
            count = head >> 4 if head >> 4 < 15 else self._unsigned()
            return [self._value(head & 15, depth + 1, listed=True) for _ in range(count)]
        sizes = {_BYTE: 1, _DOUBLE: 8}
        size = self._unsigned() if kind == _BINARY else sizes[kind]
        self.at += size
        if self.at > len(self._data):
            raise IndexError(self.at)
        return None

    def _byte(self) -> int:
        self.at += 1
        return self._data[self.at - 1]

    def _unsigned(self) -> int:
        value = shift = 0
        while shift < 70:
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
        raise IndexError(self.at)

    def _signed(self) -> int:
        value = self._unsigned()
        return (value >> 1) ^ -(value & 1)
