"""An extension of Sphinx that refuses to render the checkout itself: its notebooks were not executed there."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from gapbook.paths import CHECKOUT

__all__ = ["setup"]

_REFUSED = 2


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx; ends the process in one line where its source is the checkout.

    :mod:`gapbook.book.build` executes the chapters and renders them in a folder of their own. A book made of the
    sources as they are would have no number and no picture, and would look like a success.
    """
    if Path(app.srcdir).resolve() == CHECKOUT:
        print("gapbook: the book is built from executed chapters; run: make book", file=sys.stderr)
        # An exception of another kind would be printed with its trace.
        raise SystemExit(_REFUSED)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
