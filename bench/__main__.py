"""``make bench``: medians and ranges of alternating pairs, then the bars that published runs answer."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

from bench import decomposition, http, postgres, spacetimedb, stored
from bench.pairs import Ratio
from gapbook.deployment import Deployment
from gapbook.errors import GapbookError

_BENCHES: dict[str, Callable[[Deployment, int], list[Ratio]]] = {
    "postgres": postgres.ratios,
    "http": http.ratios,
    "spacetimedb": spacetimedb.ratios,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument(
        "only", nargs="*", help=f"of: {', '.join(_BENCHES)}, decomposition, stored; all when none is named"
    )
    parser.add_argument(
        "--pairs", type=int, default=5, help="alternating pairs for each comparison (default 5)"
    )
    chosen = parser.parse_args()
    missed = 0
    for name, bench in _BENCHES.items():
        if chosen.only and name not in chosen.only:
            continue
        try:
            with Deployment() as deployment:
                print(*bench(deployment, chosen.pairs), sep="\n", flush=True)
        except GapbookError as error:
            missed = 2
            print(f"{name}: not measured: {error}", file=sys.stderr)
    if not chosen.only or "decomposition" in chosen.only:
        for line in decomposition.lines():
            print(line, flush=True)
    if not chosen.only or "stored" in chosen.only:
        print(*stored.lines(), sep="\n")
    return missed


if __name__ == "__main__":
    sys.exit(main())
