"""``make bench``: one table of ratios of alternating pairs, then the bars that published runs answer."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping

from bench import audit, decomposition, http, imports, page, postgres, spacetimedb, stored, unchanged
from bench.pairs import HEADER, NotRun, Ratio
from gapbook.deploy.deployment import Deployment
from gapbook.errors import GapbookError
from gapbook.streams import speak_in_what_streams_know

_PAIRED: Mapping[str, Callable[[Deployment, int], Iterator[Ratio | NotRun]]] = {
    "postgres": postgres.ratios,
    "http": http.ratios,
    "unchanged": unchanged.ratios,
    "spacetimedb": spacetimedb.ratios,
    "page": page.ratios,
}
_ALONE: Mapping[str, Callable[[], Iterator[str]]] = {
    "imports": imports.lines,
    "audit": audit.lines,
    "decomposition": decomposition.lines,
    "stored": stored.lines,
}


def main() -> int:
    speak_in_what_streams_know()
    names = [*_PAIRED, *_ALONE]
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("only", nargs="*", help=f"of: {', '.join(names)}; all when none is named")
    parser.add_argument(
        "--pairs", type=int, default=5, help="alternating pairs for each comparison (default 5)"
    )
    asked = parser.parse_args()
    if unknown := [name for name in asked.only if name not in names]:
        parser.error(f"{', '.join(unknown)}: no such comparison; there are: {', '.join(names)}")
    if asked.pairs < 1:
        parser.error(f"--pairs {asked.pairs} is refused; allowed: 1 or more")
    chosen = asked.only or names
    if any(name in _PAIRED for name in chosen):
        print(HEADER, flush=True)
    return max([_printed(name, asked.pairs) for name in names if name in chosen])


def _printed(name: str, pairs: int) -> int:
    """Print what a comparison finds as it finds it; 0, or 2 when it ends before its end."""
    try:
        if name in _ALONE:
            for line in _ALONE[name]():
                print(line, flush=True)
            return 0
        with Deployment() as deployment:
            for row in _PAIRED[name](deployment, pairs):
                print(row, flush=True)
        return 0
    except GapbookError as error:
        print(f"{name}: not measured: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
