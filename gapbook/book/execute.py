"""The notebooks there are, and their execution by papermill with parameters that say where trials come from."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import nbformat
import papermill
from nbclient.exceptions import DeadKernelError
from papermill.exceptions import PapermillExecutionError

from gapbook import errors
from gapbook.book.notebook import kernel_config, read_text_notebook
from gapbook.book.prose import require_no_typed_numbers
from gapbook.errors import GapbookError, ParameterError, cut
from gapbook.parameters import check_parameters
from gapbook.paths import CHECKOUT

__all__ = ["BUILD", "chapters", "declared_parameters", "execute_chapter", "overviews"]

BUILD = CHECKOUT / "build"
_PARAMETERS = re.compile(r"^:tags: \[.*\bparameters\b", re.MULTILINE)


def chapters() -> list[str]:
    """The chapters there are: one text notebook each, with parameters."""
    return sorted(path.stem for path in _notebooks() if _PARAMETERS.search(path.read_text()))


def overviews() -> list[str]:
    """The notebooks that measure nothing: they have no parameters, and read what chapters have published."""
    return sorted(path.stem for path in _notebooks() if not _PARAMETERS.search(path.read_text()))


def _notebooks() -> list[Path]:
    return sorted((CHECKOUT / "notebooks").glob("*.md"))


def declared_parameters(chapter: str) -> frozenset[str]:
    """Names in the cell tagged ``parameters`` of a chapter; none where there is no such cell."""
    if chapter in overviews():
        return frozenset()
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
    if chapter in overviews() and parameters:
        raise ParameterError(f"chapter {chapter}: measures nothing; see it with: gapbook book")
    if chapter not in [*chapters(), *overviews()]:
        raise ParameterError(f"chapter {cut(repr(chapter))}: unknown; allowed: {', '.join(chapters())}")
    check_parameters(parameters, declared_parameters(chapter))
    text = CHECKOUT / "notebooks" / f"{chapter}.md"
    require_no_typed_numbers(text)
    output = (folder or BUILD / "executed") / f"{chapter}.ipynb"
    output.parent.mkdir(parents=True, exist_ok=True)
    unexecuted = output.with_name(f"{chapter}.unexecuted.ipynb")
    unexecuted.write_text(read_text_notebook(text))
    try:
        with kernel_config() as config:
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
                config=config,
            )
    except PapermillExecutionError as error:
        kind = getattr(errors, error.ename, None)
        if isinstance(kind, type) and issubclass(kind, GapbookError):
            raise kind(error.evalue) from None
        if error.ename == "KeyboardInterrupt":
            raise _ended_from_outside(chapter, "interrupted") from None
        raise
    except DeadKernelError:
        raise _ended_from_outside(chapter, "ended") from None
    except RuntimeError as error:
        # What is said of a kernel that ends before its first cell has no type of its own.
        if "Kernel died" not in str(error):
            raise
        raise _ended_from_outside(chapter, "ended") from None
    finally:
        unexecuted.unlink(missing_ok=True)
    return output


def _ended_from_outside(chapter: str, how: str) -> GapbookError:
    return GapbookError(
        f"chapter {chapter}: its kernel was {how} from outside; trials finished so far are kept, "
        "use source=resume"
    )
