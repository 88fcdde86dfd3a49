"""How large a stored run may be: looked at before a byte of it is decoded, so that no run exhausts its reader.

The largest published run has a quarter of what is allowed here, or less. Every message is one line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

import polars as pl

__all__ = ["MOST_BYTES", "MOST_DECODED_BYTES", "MOST_ROWS", "check_texts", "parsed"]

MOST_BYTES: Final = 16 * 2**20
"""Of one file."""
MOST_DECODED_BYTES: Final = 96 * 2**20
"""Of one table, as its pages say that they are without compression."""
MOST_ROWS: Final = 50_000
"""Of one table."""
_MOST_VALUES = 200_000
_MOST_ENTRIES = 20_000
_MOST_DEPTH = 12
_MOST_CHARACTERS = 5_000
_MOST_IN_A_NAME = 300
_MOST_IN_A_CELL = 200_000
_MOST_IN_A_COLUMN = 64 * 2**20
# Control characters but tab and line ends, line separators, and what turns the direction of a text round.
_CONTROL = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]"
_CONTROLS = re.compile(_CONTROL)
# The same in a cell, also as JSON writes it there; programs that colour their messages leave escapes in them.
_CONTROL_IN_A_CELL = _CONTROL.replace(r"\x0e-\x1f", r"\x0e-\x1a\x1c-\x1f") + (
    r"|\\u00(?:0[0-8bBcCeEfF]|1[0-9ac-fAC-F]|7[fF]|[89][0-9a-fA-F])|\\u20(?:2[89a-eA-E]|6[6-9])"
)


def parsed(written: bytes) -> Any:
    """JSON within bounds: of its values, depth, lists, names and texts. Raises ValueError that says which."""
    values = sum(map(written.count, (b",", b"[", b"{")))
    if values > _MOST_VALUES:
        raise ValueError(f"it has {values:,} values; allowed: up to {_MOST_VALUES:,}")
    try:
        content = json.loads(written, parse_constant=_refuse_constant)
    except RecursionError as error:
        raise ValueError(f"it is nested too deep; allowed: {_MOST_DEPTH} levels") from error
    _check(content, "", 0)
    return content


def _refuse_constant(text: str) -> float:
    raise ValueError(f"{text} is no number")


def _check(content: Any, where: str, depth: int) -> None:
    if isinstance(content, str):
        _check_text(content, where, _MOST_CHARACTERS)
        return
    if not isinstance(content, dict | list):
        return
    if depth > _MOST_DEPTH:
        raise ValueError(f"{where} is nested too deep; allowed: {_MOST_DEPTH} levels")
    if len(content) > _MOST_ENTRIES:
        raise ValueError(f"{where} has {len(content):,} entries; allowed: up to {_MOST_ENTRIES:,}")
    if isinstance(content, Mapping):
        for name, value in content.items():
            _check_text(name, f"a name in {where or 'it'}", _MOST_IN_A_NAME)
            _check(value, f"{where}.{name}" if where else name, depth + 1)
    else:
        for index, value in enumerate(content):
            if isinstance(value, str | dict | list):
                _check(value, f"{where}[{index}]", depth + 1)


def _check_text(text: str, where: str, most: int) -> None:
    if len(text) > most:
        raise ValueError(f"{where} has {len(text):,} characters; allowed: up to {most:,}")
    if found := _CONTROLS.search(text):
        raise ValueError(f"{where} holds the control character U+{ord(found[0]):04X}")


def check_texts(file: str, table: pl.DataFrame) -> None:
    """Every text of a table within bounds; raises ValueError that names file and column."""
    for column in table.select(pl.col(pl.String)).iter_columns():
        sizes = column.str.len_bytes()
        largest, whole = sizes.max(), sizes.sum()
        if isinstance(largest, int) and largest > _MOST_IN_A_CELL:
            raise ValueError(
                f"{file}: {column.name} has a text of {largest:,} bytes; allowed: up to {_MOST_IN_A_CELL:,}"
            )
        if whole > _MOST_IN_A_COLUMN:
            raise ValueError(
                f"{file}: {column.name} has {whole:,} bytes of text; allowed: up to {_MOST_IN_A_COLUMN:,}"
            )
        if column.str.contains(_CONTROL_IN_A_CELL).any():
            raise ValueError(f"{file}: {column.name} holds a control character")
