"""Text notebooks for papermill: MyST Markdown in, executed .ipynb out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jupytext
import nbformat
from papermill.iorw import LocalHandler

__all__ = ["TEXT_NOTEBOOKS", "read_text_notebook"]


def read_text_notebook(path: Path) -> str:
    """A MyST text notebook as the JSON of an .ipynb."""
    return str(nbformat.writes(jupytext.read(path)))


class _TextNotebookHandler(LocalHandler):  # type: ignore[misc]
    """Registered with papermill for paths under ``notebooks/`` (entry point ``papermill.io``)."""

    def read(self, path: str) -> Any:
        if Path(path).suffix == ".md" and Path(path).is_file():
            return read_text_notebook(Path(path))
        return super().read(path)


TEXT_NOTEBOOKS = _TextNotebookHandler()
