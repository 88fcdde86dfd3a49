"""Text notebooks for papermill, which loads this module itself: nothing of ours may import it first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from papermill.iorw import LocalHandler

from gapbook.book.kernel import read_text_notebook

__all__ = ["TEXT_NOTEBOOKS"]


class _TextNotebookHandler(LocalHandler):  # type: ignore[misc]
    """Registered with papermill for paths under ``notebooks/`` (entry point ``papermill.io``)."""

    def read(self, path: str) -> Any:
        if Path(path).suffix == ".md" and Path(path).is_file():
            return read_text_notebook(Path(path))
        return super().read(path)


TEXT_NOTEBOOKS = _TextNotebookHandler()
