"""The command line: run a chapter, build the book, set up, see what is missing."""

from __future__ import annotations

import argparse
import logging
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

# Jupyter's path library warns where no session directory exists; it then takes another and all is well.
warnings.filterwarnings("ignore", module="platformdirs")

from gapbook import book, setup  # noqa: E402
from gapbook.errors import GapbookError  # noqa: E402
from gapbook.parameters import PARAMETERS, parse_assignment  # noqa: E402

__all__ = ["main"]

_REFUSED, _INTERRUPTED = 2, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code: 0 done, 2 refused or failed with one line, 130 interrupted."""
    parser = _parser()
    chosen = parser.parse_args(arguments)
    try:
        return int(chosen.command(chosen) or 0)
    except GapbookError as error:
        print(f"gapbook: {error}", file=sys.stderr)
        return _REFUSED
    except KeyboardInterrupt:
        # The kernel ends with us: that a task of ours noticed its end is no news to the reader.
        logging.getLogger("asyncio").disabled = True
        print("gapbook: interrupted; trials finished so far are kept (-p source=resume)", file=sys.stderr)
        return _INTERRUPTED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="gapbook", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    run = commands.add_parser("run", help="execute a chapter live and render its page")
    run.add_argument("chapter", help=f"one of: {', '.join(book.chapters())}")
    parameters = "; ".join(f"{p.name}: {p.help}" for p in PARAMETERS.values())
    run.add_argument(
        "-p", dest="assignments", metavar="NAME=VALUE", action="append", default=[], help=parameters
    )
    run.add_argument("--no-page", action="store_true", help="measure only, do not render the book")
    run.set_defaults(command=_run)

    build = commands.add_parser("book", help="build the published book from stored runs (no server)")
    build.set_defaults(command=lambda chosen: _say_page(book.build_published()))

    commands.add_parser("setup", help="build clients, install servers").set_defaults(
        command=lambda chosen: setup.set_up()
    )
    commands.add_parser("doctor", help="what is here, what is missing, how to get it").set_defaults(
        command=lambda chosen: _doctor()
    )
    return parser


def _run(chosen: argparse.Namespace) -> None:
    parameters = dict(parse_assignment(text) for text in chosen.assignments)
    executed = book.execute_chapter(chosen.chapter, {"source": "live", **parameters})
    print(f"executed notebook: {executed}")
    if not chosen.no_page:
        _say_page(book.build_with(chosen.chapter, executed))


def _say_page(page: Path) -> None:
    print(f"page: {page}\nopen it with: xdg-open {page}   (or any browser)")


def _doctor() -> int:
    absent = 0
    for name, check, hint in setup.wanted():
        try:
            print(f"  here     {name}: {check()}")
        except GapbookError as error:
            absent += 1
            print(f"  MISSING  {name}: {error}; get it: {hint}")
    for name, check in setup.optional():
        try:
            print(f"  here     {name}: {check()}")
        except GapbookError as error:
            print(f"  optional {name}: {error}")
    print(f"{absent} missing" if absent else "nothing is missing")
    return min(absent, 1)
