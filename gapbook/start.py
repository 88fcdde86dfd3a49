"""The start of the command ``gapbook``, before anything is imported that a folder of the reader's could hide."""

from __future__ import annotations

import os
import sys

__all__ = ["main"]

# -I: nothing but the standard library and what this environment has installed.
_OF_THIS_ENVIRONMENT = ("-I", "-c", "import sys; from gapbook.cli import main; sys.exit(main())")


def main() -> int:
    """Run :func:`gapbook.cli.main` with modules of this environment alone; returns its exit code.

    ``PYTHONPATH`` names folders that come before them, for this process and all that it starts: a ``random.py`` or
    an older ``gapbook`` in one of them would be taken for the real one. The variable is dropped, and a process that
    has read it begins again.
    """
    if os.environ.pop("PYTHONPATH", "") and not sys.flags.isolated:
        os.execv(sys.executable, [sys.executable, *_OF_THIS_ENVIRONMENT, *sys.argv[1:]])

    from gapbook.cli import main as command

    return command()
