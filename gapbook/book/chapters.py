"""The notebooks there are and what each lets its reader set, read from their text alone.

The command line asks this before it loads what executes notebooks, which takes seconds.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from gapbook.declared.reading import named
from gapbook.errors import DeclarationError, ParameterError, cut, nearest
from gapbook.notebook_text import NOTEBOOKS, code_cells, notebook_path
from gapbook.parameters import check_parameters

__all__ = [
    "chapters",
    "declared_parameters",
    "overviews",
    "own_parameters",
    "require_chapter",
    "require_executable",
    "words_of_code",
]

_PARAMETERS = re.compile(
    r"^```\{code-cell\}[^\n]*\n:tags: \[[^\n]*\bparameters\b[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL
)


class _Cell(NamedTuple):
    """The code of a parameters cell, and how many lines of its notebook stand above it."""

    code: str
    lines_above: int


def chapters() -> list[str]:
    """The chapters there are: one text notebook each, with parameters."""
    return sorted(path.stem for path in _texts() if _parameters_cell(path) is not None)


def overviews() -> list[str]:
    """The notebooks that measure nothing: they have no parameters, and read what chapters have published."""
    return sorted(path.stem for path in _texts() if _parameters_cell(path) is None)


def declared_parameters(name: str) -> frozenset[str]:
    """Names in the cell tagged ``parameters`` of a notebook; none where there is no such cell. Raises DeclarationError
    for a cell that sets anything but values."""
    return frozenset(own_parameters(name))


def own_parameters(name: str) -> dict[str, Any]:
    """The values that a notebook's own parameters cell sets, where it is given no others; none where there is no such
    cell. Raises DeclarationError for a cell that sets anything but values."""
    path = notebook_path(name)
    cell = _parameters_cell(path)
    if cell is None:
        return {}
    try:
        lines = ast.parse(cell.code).body
    except SyntaxError as error:
        raise _no_parameter(path, cell, error.lineno or 1, error.msg) from error
    return dict(_parameter(path, cell, line) for line in lines)


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
    if parameters or name not in overviews():
        require_chapter(name)
    check_parameters(parameters, declared_parameters(name))


def require_chapter(name: str) -> None:
    """Raise ParameterError unless there is such a chapter, one that measures."""
    if name in overviews():
        raise ParameterError(f"chapter {name}: measures nothing; see it with: gapbook book")
    if name not in chapters():
        raise ParameterError(
            f"chapter {cut(repr(name))}: unknown; allowed: {', '.join(chapters())}{nearest(name, chapters())}"
        )


def _texts() -> list[Path]:
    return sorted(NOTEBOOKS.glob("*.md"))


def _parameters_cell(path: Path) -> _Cell | None:
    text = path.read_text(encoding="utf-8")
    found = _PARAMETERS.search(text)
    return _Cell(found[1], text.count("\n", 0, found.start(1))) if found else None


def _parameter(path: Path, cell: _Cell, line: ast.stmt) -> tuple[str, Any]:
    try:
        match line:
            case ast.Assign(targets=[ast.Name(name)], value=value):
                return name, ast.literal_eval(value)
    except (ValueError, TypeError) as error:
        raise _no_parameter(path, cell, line.lineno, "no value that is written out") from error
    raise _no_parameter(path, cell, line.lineno, "sets no parameter")


def _no_parameter(path: Path, cell: _Cell, line: int, why: str) -> DeclarationError:
    written = cell.code.splitlines()[line - 1 : line]
    return DeclarationError(
        f"{named(path)}:{cell.lines_above + line}: {cut(''.join(written).strip())}: {why}; "
        "allowed in the parameters cell: NAME = LITERAL"
    )
