"""Prose holds no typed numbers: a figure comes from a run or from the register of claims, or not at all."""

from __future__ import annotations

import re
from pathlib import Path

import jupytext

from gapbook.errors import GapbookError

__all__ = ["require_no_typed_numbers"]

_ALLOWED = re.compile(
    r"```.*?```"  # code blocks
    r"|\{[a-z:_-]+\}`[^`]*`"  # roles: glue, cite, ref
    r"|`[^`]*`"  # code spans
    r"|\]\([^)]*\)"  # link targets
    r"|^\([a-z0-9-]+\)=$"  # targets
    r"|<!--.*?-->",
    re.DOTALL | re.MULTILINE,
)
_NUMBER = re.compile(r"(?<![\w#-])[+−-]?\d[\d,.]*")


def require_no_typed_numbers(notebook: Path) -> None:
    """Raise GapbookError naming the cell and the number when prose holds a figure that no run produced."""
    for position, cell in enumerate(jupytext.read(notebook).cells, start=1):
        if cell.cell_type == "markdown":
            found = _NUMBER.search(_ALLOWED.sub("", cell.source))
            if found:
                raise GapbookError(
                    f"{notebook.name}: cell {position} has the typed number {found[0]!r}; "
                    "glue it from a run or from book/claims.toml"
                )
