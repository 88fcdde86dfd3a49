"""The text of a notebook, its code and the names that its code binds; nothing is executed."""

from __future__ import annotations

import re
import symtable
from pathlib import Path

from gapbook.paths import CHECKOUT

__all__ = ["NOTEBOOKS", "code_cells", "code_of", "names_bound", "notebook_path"]

NOTEBOOKS = CHECKOUT / "notebooks"
_CODE = re.compile(r"^```\{code-cell\}[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
_SETS_PARAMETERS = re.compile(r":tags: \[[^\n]*\bparameters\b")


def notebook_path(name: str) -> Path:
    """The text of a notebook."""
    return NOTEBOOKS / f"{name}.md"


def code_cells(name: str, *, without_parameters: bool = False) -> list[str]:
    """The code of each cell of a notebook, without the lines that hold its tags; of all, or of those that set no
    parameters."""
    return [
        "\n".join(line for line in cell.splitlines() if not line.startswith(":"))
        for cell in _CODE.findall(notebook_path(name).read_text(encoding="utf-8"))
        if not (without_parameters and _SETS_PARAMETERS.match(cell))
    ]


def code_of(name: str) -> str:
    """All that is executed of a notebook, with its tags and without its prose."""
    return "\n".join(_CODE.findall(notebook_path(name).read_text(encoding="utf-8")))


def names_bound(code: str) -> frozenset[str]:
    """The names that some code binds where it stands, by whatever statement; those inside functions are not its own.

    Raises SyntaxError.
    """
    symbols = symtable.symtable(code, "cell", "exec").get_symbols()
    return frozenset(symbol.get_name() for symbol in symbols if symbol.is_assigned() or symbol.is_imported())
