"""A parameters cell that sets anything but values is one line, whatever command reads it first."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from gapbook import cli, notebook_text
from gapbook.book import chapters, check
from gapbook.book.chapters import declared_parameters, own_parameters
from gapbook.errors import DeclarationError

_CHAPTER = "price-of-a-container"
_WRONG = [
    ("blocks = 2 * 2", "no value that is written out"),
    ("blocks = {[1]: 2}", "no value that is written out"),
    ("blocks = (2", "'(' was never closed"),
    ("blocks: int = 2", "sets no parameter"),
    ("blocks = others = 2", "sets no parameter"),
    ("print(2)", "sets no parameter"),
]


@pytest.fixture(name="notebook")
def _notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of notebooks with one chapter."""
    notebook = tmp_path / f"{_CHAPTER}.md"
    shutil.copy2(notebook_text.notebook_path(_CHAPTER), notebook)
    for module in (notebook_text, chapters):
        monkeypatch.setattr(module, "NOTEBOOKS", tmp_path)
    return notebook


def _replaced(notebook: Path, line: str) -> str:
    """Put a line in the place of that which sets the blocks; return its number."""
    lines = notebook.read_text(encoding="utf-8").splitlines()
    place = next(number for number, each in enumerate(lines) if each.startswith("blocks = "))
    lines[place] = line
    notebook.write_text("\n".join(lines), encoding="utf-8")
    return f"{notebook}:{place + 1}: {line}: "


@pytest.mark.parametrize(("line", "why"), _WRONG)
def test_every_reader_of_the_cell_refuses_it_with_its_line(notebook: Path, line: str, why: str) -> None:
    where = _replaced(notebook, line)
    for reader in (own_parameters, declared_parameters):
        with pytest.raises(DeclarationError) as refused:
            reader(_CHAPTER)
        assert str(refused.value) == f"{where}{why}; allowed in the parameters cell: NAME = LITERAL"


@pytest.mark.parametrize("arguments", [["run", _CHAPTER, "--help"], ["runs", _CHAPTER, "--again"]])
def test_commands_say_it_in_one_line(
    notebook: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    where = _replaced(notebook, "blocks = 2 * 2")
    assert cli.main(arguments) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"gapbook: {where}")


def test_the_check_of_declarations_says_it(notebook: Path) -> None:
    where = _replaced(notebook, "blocks = 2 * 2")
    _, wrong = check.checked()
    assert len(wrong) == 1
    assert wrong[0].startswith(where)


def test_a_value_may_take_several_lines(notebook: Path) -> None:
    before = own_parameters(_CHAPTER)
    _replaced(notebook, "blocks = [\n    1,\n    2,\n]")
    assert own_parameters(_CHAPTER) == {**before, "blocks": [1, 2]}
    assert declared_parameters(_CHAPTER) == before.keys()
