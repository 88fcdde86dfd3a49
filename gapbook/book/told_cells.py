"""What a notebook that is executed says of its way to the last cell."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from traitlets.config import Config

from gapbook.notebook_text import code_cells

__all__ = ["CellsTold"]

_HEADING = re.compile(r"^#+ +(.+)$", re.MULTILINE)
_MEASURES = ".measure("


class CellsTold:
    """A line when the trials of a chapter are done, and one for each of its sections from then on.

    A chapter that measures nothing says each of its sections.
    """

    def __init__(self, chapter: str, parameters: Mapping[str, Any], say: Callable[[str], None]) -> None:
        sources = code_cells(chapter)
        self._chapter = chapter
        self._say = say
        self._cells = len(sources) + bool(parameters)  # which are set in a cell of their own
        self._begun = 0
        self._measured = not any(_MEASURES in source for source in sources)
        self._heading = self._said = ""

    def configure(self, config: Config) -> None:
        """Have the library that executes the notebook tell of its cells."""
        # Functions, for the library copies its configuration, and a method with the object that it belongs to.
        config.NotebookClient.on_cell_start = lambda **told: self._starts(**told)
        config.NotebookClient.on_cell_executed = lambda **told: self._is_executed(**told)

    def _starts(self, *, cell: Mapping[str, Any], **_: object) -> None:
        if cell["cell_type"] != "code":
            self._heading = next(iter(_HEADING.findall(cell["source"])[-1:]), self._heading)
            return
        self._begun += 1
        if self._measured and self._heading != self._said:
            self._said = self._heading
            self._say(f"{self._chapter}: cell {self._begun} of {self._cells}: {self._heading}")

    def _is_executed(self, *, cell: Mapping[str, Any], execute_reply: Mapping[str, Any], **_: object) -> None:
        # The library tells of a cell that failed too.
        if _MEASURES in cell["source"] and execute_reply["content"]["status"] == "ok":
            self._measured, self._said = True, self._heading
            self._say(
                f"{self._chapter}: the trials are done; from them the page is computed, "
                f"{self._cells - self._begun} cells"
            )
