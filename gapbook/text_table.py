"""Tables of plain text, for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["text_table"]

_BETWEEN = "  "


def text_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A line for the heads and one for each row, each column as wide as the widest in it; nothing without rows. Whatever a
    text holds, it stays in its line."""
    if not rows:
        return []
    lines = [[" ".join(cell.split()) for cell in line] for line in (heads, *rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [
        _BETWEEN.join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]
