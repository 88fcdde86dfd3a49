"""The notebooks there are and what each lets its reader set, read from their text alone.

The command line asks this before it loads what executes notebooks, which takes seconds.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gapbook.errors import ParameterError, cut, nearest
from gapbook.notebook_text import NOTEBOOKS, code_cells, notebook_path
from gapbook.parameters import check_parameters

__all__ = [
    "chapters",
    "declared_parameters",
    "overviews",
    "own_parameters",
    "require_executable",
    "words_of_code",
]

_PARAMETERS = re.compile(
    r"^```\{code-cell\}[^\n]*\n:tags: \[[^\n]*\bparameters\b[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL
)


def chapters() -> list[str]:
    """The chapters there are: one text notebook each, with parameters."""
    return sorted(path.stem for path in _texts() if _parameters_cell(path) is not None)


def overviews() -> list[str]:
    """The notebooks that measure nothing: they have no parameters, and read what chapters have published."""
    return sorted(path.stem for path in _texts() if _parameters_cell(path) is None)


def declared_parameters(name: str) -> frozenset[str]:
    """Names in the cell tagged ``parameters`` of a notebook; none where there is no such cell."""
    cell = _parameters_cell(notebook_path(name)) or ""
    return frozenset(
        line.partition("=")[0].strip() for line in cell.splitlines() if "=" in line and line[0].isalpha()
    )


def own_parameters(name: str) -> dict[str, Any]:
    """The values that a notebook's own parameters cell sets, where it is given no others."""
    cell = ast.parse(_parameters_cell(notebook_path(name)) or "")
    return {
        ast.unparse(line.targets[0]): ast.literal_eval(line.value)
        for line in cell.body
        if isinstance(line, ast.Assign)
    }


def words_of_code(name: str) -> frozenset[str]:
    """The texts that stand in the code of a notebook: whatever it names, systems among it."""
    return frozenset(
        node.value
        for cell in code_cells(name)
        for node in ast.walk(ast.parse(cell))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def require_executable(name: str, parameters: Mapping[str, Any]) -> None:
    """Raise ParameterError unless there is such a notebook and it takes these parameters."""
    if name in overviews() and parameters:
        raise ParameterError(f"chapter {name}: measures nothing; see it with: gapbook book")
    if name not in [*chapters(), *overviews()]:
        raise ParameterError(
            f"chapter {cut(repr(name))}: unknown; allowed: {', '.join(chapters())}{nearest(name, chapters())}"
        )
    check_parameters(parameters, declared_parameters(name))


def _texts() -> list[Path]:
    return sorted(NOTEBOOKS.glob("*.md"))


def _parameters_cell(path: Path) -> str | None:
    found = _PARAMETERS.search(path.read_text(encoding="utf-8"))
    return found[1] if found else None
