"""The book: chapters executed by papermill, then rendered by Jupyter Book without a network.

Notebooks are executed here and not by the renderer, with parameters that say where trials come
from; the renderer only lays out what they produced.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import nbformat
import papermill
from papermill.exceptions import PapermillExecutionError

from gapbook import errors
from gapbook.errors import GapbookError, ParameterError, SetupError
from gapbook.notebook import read_text_notebook
from gapbook.parameters import check_parameters
from gapbook.paths import CHECKOUT, tool_path
from gapbook.prose import require_no_typed_numbers

__all__ = ["build_published", "build_with", "chapters", "execute_chapter"]

_BUILD = CHECKOUT / "build"
_FIRST_SCREEN = "first-screen"
_ROOT_FILES = ("_config.yml", "_toc.yml")


def chapters() -> list[str]:
    """The chapters there are: one text notebook each."""
    return sorted(path.stem for path in (CHECKOUT / "notebooks").glob("*.md"))


def declared_parameters(chapter: str) -> frozenset[str]:
    """Names in the cell tagged ``parameters`` of a chapter."""
    notebook = nbformat.reads(read_text_notebook(CHECKOUT / "notebooks" / f"{chapter}.md"), as_version=4)
    cell = next(cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", []))
    return frozenset(
        line.partition("=")[0].strip()
        for line in cell.source.splitlines()
        if "=" in line and line[0].isalpha()
    )


def execute_chapter(chapter: str, parameters: Mapping[str, Any], *, folder: Path | None = None) -> Path:
    """Execute a chapter in a kernel of its own; return the executed notebook.

    Raises ParameterError before a kernel starts when a parameter is not allowed, and the
    GapbookError that the chapter itself raised.
    """
    if chapter not in chapters():
        raise ParameterError(f"chapter {chapter!r}: unknown; allowed: {', '.join(chapters())}")
    check_parameters(parameters, declared_parameters(chapter))
    text = CHECKOUT / "notebooks" / f"{chapter}.md"
    require_no_typed_numbers(text)
    output = (folder or _BUILD / "executed") / f"{chapter}.ipynb"
    output.parent.mkdir(parents=True, exist_ok=True)
    unexecuted = output.with_name(f"{chapter}.unexecuted.ipynb")
    unexecuted.write_text(read_text_notebook(text))
    try:
        papermill.execute_notebook(
            unexecuted,
            output,
            parameters=dict(parameters),
            kernel_name="python3",
            cwd=str(CHECKOUT),
            progress_bar=False,
            log_output=True,
            stdout_file=sys.stdout,
            stderr_file=sys.stderr,
        )
    except PapermillExecutionError as error:
        kind = getattr(errors, error.ename, None)
        if isinstance(kind, type) and issubclass(kind, GapbookError):
            raise kind(error.evalue) from None
        raise
    finally:
        unexecuted.unlink(missing_ok=True)
    return output


def build_published() -> Path:
    """The published book: every chapter from its stored run. Returns the first page."""
    staged = _stage("published")
    for chapter in chapters():
        executed = execute_chapter(chapter, {"source": "published"}, folder=_BUILD / "executed-published")
        _place(executed, staged)
    return _render(staged) / "index.html"


def build_with(chapter: str, executed: Path) -> Path:
    """The book with one chapter as the reader executed it. Returns that chapter's page."""
    staged = _stage("yours")
    for other in chapters():
        source = (
            executed
            if other == chapter
            else execute_chapter(other, {"source": "published"}, folder=_BUILD / "executed-published")
        )
        _place(source, staged)
    return _render(staged) / "notebooks" / f"{chapter}.html"


def _stage(name: str) -> Path:
    """A fresh source folder for the renderer."""
    staged = _BUILD / name / "source"
    shutil.rmtree(staged, ignore_errors=True)
    staged.mkdir(parents=True)
    for file in _ROOT_FILES:
        shutil.copy2(CHECKOUT / file, staged / file)
    shutil.copytree(CHECKOUT / "book", staged / "book")
    (staged / "notebooks").mkdir()
    return staged


def _place(executed: Path, staged: Path) -> None:
    """Put an executed notebook into the book, its first screen first.

    A chapter is executed in the order of its logic and read in the order of its answer: cells tagged
    ``first-screen`` are shown right after the title.
    """
    notebook = json.loads(executed.read_text())
    cells = notebook["cells"]
    first = [cell for cell in cells if _FIRST_SCREEN in cell["metadata"].get("tags", [])]
    rest = [cell for cell in cells if cell not in first]
    notebook["cells"] = [rest[0], *first, *rest[1:]]
    (staged / "notebooks" / executed.name).write_text(json.dumps(notebook))


def _render(staged: Path) -> Path:
    """Run the renderer, warnings as errors; raises GapbookError with its last lines."""
    program = tool_path("jupyter-book")
    if program is None:
        raise SetupError("jupyter-book is missing; run: make setup")
    command = [str(program), "build", str(staged), "-W", "-n", "--keep-going", "--quiet"]
    output = staged.parent
    done = subprocess.run(
        [*command, "--path-output", str(output)], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        log = output / "build.log"
        log.write_text(done.stdout + done.stderr)
        warnings = [
            line for line in (done.stdout + done.stderr).splitlines() if "WARNING" in line or "ERROR" in line
        ]
        raise GapbookError(
            f"book: the renderer failed: {'; '.join(warnings[:3]) or 'no warning'}; all of it: {log}"
        )
    return output / "_build" / "html"
