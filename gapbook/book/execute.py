"""Execution of notebooks by papermill, with parameters that say where trials come from."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import papermill
from nbclient.exceptions import DeadKernelError
from papermill.exceptions import PapermillExecutionError

from gapbook import errors
from gapbook.book.chapters import own_parameters, require_executable
from gapbook.book.kernel import SharedKernel, kernel_config, read_text_notebook
from gapbook.book.prose import require_no_typed_numbers
from gapbook.book.stated import require_stated
from gapbook.book.told_cells import CellsTold
from gapbook.errors import GapbookError, SetupError
from gapbook.notebook_text import notebook_path
from gapbook.parameters import MEASURING
from gapbook.paths import CHECKOUT, build_directory
from gapbook.record.run import run_folder
from gapbook.trial.servers import parse_choices
from gapbook.writing import refused_writing

__all__ = ["execute_chapter"]

_RAISED_TOO = ("starting new kernel client", "Kernel died while waiting for execute reply")
"""What the library logs of a kernel that ended, before it raises the same."""
_OF_THE_SYSTEM = frozenset({"OSError", "PermissionError", "Error"})
"""The names of the types of what a kernel raises that may not write, or has no room to (``Error`` is shutil's)."""
_KERNEL_STARTS_WITHIN_S = 300


def execute_chapter(
    chapter: str,
    parameters: Mapping[str, Any],
    *,
    folder: Path | None = None,
    say: Callable[[str], None] | None = None,
    kernel: SharedKernel | None = None,
) -> Path:
    """Execute a chapter in a kernel of its own, or in one that executed others before; return the executed notebook.
    ``say`` hears how far it is.

    Raises ParameterError or RecordError before a kernel starts when a parameter is not allowed, the chapter has no
    such contestant or there is no such run, and the GapbookError that the chapter itself raised.
    """
    require_executable(chapter, parameters)
    parse_choices(str(parameters.get("servers", "")))
    # What measures nothing has no such parameter, and reads published runs.
    source = parameters.get("source", own_parameters(chapter).get("source", "published"))
    measures = source in MEASURING
    if not measures and source != "published":
        run_folder(chapter, source)
    require_stated(chapter, parameters)
    text = notebook_path(chapter)
    require_no_typed_numbers(text)
    output = (folder or build_directory() / "executed") / f"{chapter}.ipynb"
    output.parent.mkdir(parents=True, exist_ok=True)
    unexecuted = output.with_name(f"{chapter}.unexecuted.ipynb")
    unexecuted.write_text(read_text_notebook(text), encoding="utf-8")
    logging.getLogger("papermill").addFilter(_says_more)
    try:
        shared = kernel and nullcontext((kernel.config, kernel.process))
        with shared or kernel_config() as (config, process):
            if say is not None:
                CellsTold(chapter, parameters, say).configure(config)
            try:
                if kernel is not None:
                    kernel.forget()
                papermill.execute_notebook(
                    unexecuted,
                    output,
                    parameters=dict(parameters),
                    kernel_name="python3",
                    cwd=str(CHECKOUT),
                    progress_bar=False,
                    log_output=True,
                    # What measures for minutes is kept cell by cell; to write a page from a stored run so often takes a
                    # tenth of its time.
                    request_save_on_cell_execute=kernel is None,
                    stdout_file=sys.stdout,
                    stderr_file=sys.stderr,
                    config=config,
                    **({} if kernel is None else {"km": kernel.manager}),
                    start_timeout=_KERNEL_STARTS_WITHIN_S,
                )
            except DeadKernelError:
                raise _ended(chapter, process.ending(), measures=measures) from None
            except RuntimeError as error:
                # What is said of a kernel that ends before its first cell has no type of its own.
                if "Kernel died" not in str(error):
                    raise
                raise GapbookError(
                    f"chapter {chapter}: its kernel did not start: it {process.ending()}"
                ) from None
    except PapermillExecutionError as error:
        kind = getattr(errors, error.ename, None)
        if isinstance(kind, type) and issubclass(kind, GapbookError):
            raise kind(error.evalue) from None
        if error.ename == "KeyboardInterrupt":
            raise _ended(chapter, "was interrupted from outside", measures=measures) from None
        if error.ename == "MemoryError":
            raise _ended(chapter, "was refused more memory (MemoryError)", measures=measures) from None
        if error.ename in _OF_THE_SYSTEM and (line := refused_writing(error.evalue)):
            raise SetupError(f"chapter {chapter}: {line}") from None
        raise
    finally:
        unexecuted.unlink(missing_ok=True)
    return output


def _says_more(record: logging.LogRecord) -> bool:
    """Whether a line of the library's is more than what it raises too, and we say in a line of our own."""
    return not any(words in record.getMessage() for words in _RAISED_TOO)


def _ended(chapter: str, how: str, *, measures: bool) -> GapbookError:
    kept = "; trials finished so far are kept, use source=resume" if measures else ""
    return GapbookError(f"chapter {chapter}: its kernel {how}{kept}")
