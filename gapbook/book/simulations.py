"""Writes ``results/simulated.json`` anew: ``python -m gapbook.book.simulations``, after a change of what simulates.

Each chapter that shows a simulation is executed with nothing known, so that what is written is what the code comes to.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import msgspec

from gapbook.book.chapters import chapters
from gapbook.book.execute import execute_chapter
from gapbook.errors import GapbookError
from gapbook.notebook_text import code_of
from gapbook.pages.simulated import KNOWN
from gapbook.paths import CHECKOUT

__all__ = ["main"]

_SHOWS_ONE = "import simulated"


def main() -> int:
    """Returns the exit code: 2, and the file as it was, where a chapter cannot be executed."""
    before = KNOWN.read_bytes() if KNOWN.is_file() else b"{}\n"
    KNOWN.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(prefix="gapbook-simulations-") as folder:
        os.environ["GAPBOOK_CACHE"] = folder
        try:
            for chapter in chapters():
                if _SHOWS_ONE in code_of(chapter):
                    execute_chapter(chapter, {"source": "published"}, folder=Path(folder))
        except GapbookError as error:
            KNOWN.write_bytes(before)
            print(error, file=sys.stderr)
            return 2
        made = sorted((Path(folder) / "simulated").glob("*.json"))
        outcomes = {file.stem: msgspec.json.decode(file.read_bytes()) for file in made}
    KNOWN.write_bytes(msgspec.json.format(msgspec.json.encode(outcomes), indent=1) + b"\n")
    print(f"{KNOWN.relative_to(CHECKOUT)}: {len(outcomes)} simulations")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
