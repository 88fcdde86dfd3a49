"""Text notebooks for papermill, which loads this module itself: nothing of ours may import it first."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from click import ClickException
from papermill.iorw import LocalHandler, papermill_io

from gapbook.book.kernel import read_text_notebook
from gapbook.errors import nearest

__all__ = ["TEXT_NOTEBOOKS"]

_TEXT = ".md"


class _TextNotebookHandler(LocalHandler):  # type: ignore[misc]
    """Reads text notebooks beside all that papermill reads; what it refuses is one line of its command."""

    def read(self, path: str) -> Any:
        text = Path(self._cwd or ".", path)
        if text.suffix != _TEXT:
            return super().read(path)
        if not text.is_file():
            beside = [other.name for other in text.parent.glob(f"*{_TEXT}")]
            raise ClickException(f"{path}: no such notebook{nearest(text.name, beside)}")
        return read_text_notebook(text)

    def write(self, buf: str, path: str) -> None:
        if Path(path).suffix == _TEXT:
            raise ClickException(f"{path}: a text notebook cannot hold results; name the output NAME.ipynb")
        super().write(buf, path)


def _of_all_local_paths() -> LocalHandler:
    """The handler that papermill has for paths of no other scheme, made ours.

    It finds a handler by how a path begins, and the name of a file alone, an absolute path or one that begins with a
    dot have no beginning that could be registered.
    """
    handler = papermill_io.get_handler("local")
    handler.__class__ = _TextNotebookHandler
    # A text notebook is no mistake.
    warnings.filterwarnings("ignore", message=rf"The specified file \(.*\{_TEXT}\) does not end in one of")
    return handler


TEXT_NOTEBOOKS = _of_all_local_paths()
"""Registered with papermill for paths under ``notebooks/`` (entry point ``papermill.io``), so that it loads us."""
