"""What a chapter states, heard before a kernel starts: its own cells as far as the run that it asks for.

Who may be measured is what the code of a chapter says, often by a loop and with a reader's parameters. So that code is
asked: what it refuses here is what it would refuse in its kernel many seconds later.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Any

from gapbook.book.chapters import own_parameters
from gapbook.errors import ParameterError
from gapbook.notebook_text import code_cells

if TYPE_CHECKING:
    from gapbook.trial.asked import Asked

__all__ = ["require_stated", "stated"]

_ASKS = ".measure("


def require_stated(chapter: str, parameters: Mapping[str, Any]) -> None:
    """Raise the ParameterError with which a chapter refuses these parameters, be it a contestant that it has not or a
    level that does not exist. Whatever else is wrong with it, its kernel tells."""
    if parameters.keys() - {"source"}:
        stated(chapter, parameters)


def stated(chapter: str, parameters: Mapping[str, Any]) -> Asked | None:
    """What a chapter would measure with these parameters; None for one that measures nothing, or whose code is wrong,
    which its kernel tells. Raises the ParameterError with which the chapter refuses them."""
    cells = code_cells(chapter, without_parameters=True)
    asking = next((number for number, cell in enumerate(cells) if _ASKS in cell), None)
    if asking is None:
        return None
    from gapbook.chapter import StatedError, only_stated  # noqa: PLC0415 (a second, of use to a reader's own run alone)

    namespace = {"__name__": "__main__", **own_parameters(chapter), **parameters}
    try:
        with only_stated(), redirect_stdout(io.StringIO()):
            for cell in cells[: asking + 1]:
                exec(compile(cell, f"{chapter}.md", "exec"), namespace)
    except StatedError as said:
        return said.asked
    except ParameterError:
        raise
    except Exception:  # the kernel meets it too, and shows where
        return None
    return None
