"""The parameters cell of a chapter's page: with the values that its run had, whatever the notebook sets by itself."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping, Sequence
from typing import Any

from gapbook.book.kept_pages import INJECTED
from gapbook.method.findings import Findings
from gapbook.pages.rerun import parameters_of
from gapbook.record.run import Run

__all__ = ["with_parameters_of"]

_PARAMETERS = "parameters"


def with_parameters_of(run: Run, cells: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The cells of a chapter's page. Its parameters cell names the run, and has what that was given; so the cell of what
    the page was executed with is left out. What a run does not tell stays as the notebook has it."""
    given, _ = parameters_of(Findings(run, run.manifest.chapter))
    told = {**given, "source": run.run_id}
    return [
        {**cell, "source": _with_values("".join(cell["source"]), told)}
        if _PARAMETERS in _tags(cell)
        else cell
        for cell in cells
        if INJECTED not in _tags(cell)
    ]


def _tags(cell: Mapping[str, Any]) -> Sequence[str]:
    tags: Sequence[str] = cell["metadata"].get("tags", [])
    return tags


def _with_values(code: str, values: Mapping[str, Any]) -> str:
    """Assignments with other values, where those differ; all else, comments too, as it is written."""
    written = code.encode()
    lines = written.splitlines(keepends=True)
    # From the last one up, so that the places of those above stay what they are.
    for statement in reversed(ast.parse(code).body):
        match statement:
            case ast.Assign(targets=[ast.Name(name)], value=value) if (
                name in values and ast.literal_eval(value) != values[name]
            ):
                start = _place(lines, value.lineno, value.col_offset)
                end = start + len((ast.get_source_segment(code, value) or "").encode())
                written = written[:start] + _literal(values[name]).encode() + written[end:]
    return written.decode()


def _place(lines: Sequence[bytes], line: int, column: int) -> int:
    return sum(map(len, lines[: line - 1])) + column


def _literal(value: Any) -> str:
    """A value as notebooks write it, texts in double quotes."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"[{', '.join(map(_literal, value))}]"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)
