"""Text is read and written as UTF-8, whatever the locale of the reader's machine says."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from gapbook.paths import CHECKOUT

_PROGRAMS = ("gapbook", "stacks", "clients", "modules", "faults", "bench", "tests", "workloads")
_READS_TEXT_WITHOUT_ARGUMENTS = {"read_text": 0, "write_text": 1}


def _sources() -> Iterator[Path]:
    for folder in _PROGRAMS:
        found = (CHECKOUT / folder).rglob("*.py")
        yield from (path for path in found if "node_modules" not in path.parts)


def _of_the_locale(source: str) -> list[int]:
    """The lines that call for text and leave its encoding to the locale. What ruff tells of is told by ruff: it
    knows ``open`` and paths whose type it sees; the others, and text of other programs, are found here by name."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    return [call.lineno for call in calls if _leaves_it_open(call)]


def _leaves_it_open(call: ast.Call) -> bool:
    named = {keyword.arg: keyword.value for keyword in call.keywords}
    if "encoding" in named:
        return False
    called = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    if called in _READS_TEXT_WITHOUT_ARGUMENTS:
        return len(call.args) <= _READS_TEXT_WITHOUT_ARGUMENTS[called]
    text = named.get("text", named.get("universal_newlines"))
    return isinstance(text, ast.Constant) and text.value is True


@pytest.mark.parametrize(
    "source",
    ["path.read_text()", "a().write_text(words)", "run(['x'], text=True)", "p.read_text(errors='x')"],
)
def test_text_of_the_locale_is_found(source: str) -> None:
    assert _of_the_locale(source) == [1]


def test_no_text_is_left_to_the_locale() -> None:
    left = {
        str(path.relative_to(CHECKOUT)): _of_the_locale(path.read_text(encoding="utf-8"))
        for path in _sources()
    }
    assert {path: lines for path, lines in left.items() if lines} == {}
