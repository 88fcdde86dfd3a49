"""Our Rust clients against an earlier build of themselves: same null server, same load."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from bench.load import program_load
from bench.pairs import Bars, Case, Load, NotRun, Ratio, compare
from bench.programs import Ended
from gapbook.deploy.deployment import Deployment
from gapbook.deploy.rust import rust_binary
from gapbook.load.client import find_client
from gapbook.load.null_server import null_server

__all__ = ["ratios"]

_VARIABLE = "BENCH_OLD_CLIENTS"
_CASES = {"postgres": (Case(50, 1), Case(50, 64)), "http": (Case(50, 1),)}
_BARS = Bars(goodput="0.97 to 1.03", cpu="0.97 to 1.03")


def ratios(deployment: Deployment, pairs: int) -> Iterator[Ratio | NotRun]:
    folder = os.environ.get(_VARIABLE)
    for protocol, cases in _CASES.items():
        program = find_client("rust", protocol).command[0]
        name = f"{program} ÷ its earlier build"
        if not folder or not (Path(folder) / program).is_file():
            why = f"holds no {program}" if folder else "is not set"
            yield NotRun(name, f"{_VARIABLE} {why}; name the folder of an earlier build's Rust clients")
            continue
        with null_server(deployment, protocol) as endpoint:
            ours, theirs = (
                partial(program_load, deployment, build, _read, endpoint)
                for build in (rust_binary(program, "client"), Path(folder).resolve() / program)
            )
            yield from compare(name, cases, ours, theirs, pairs=pairs, bars=_BARS)


def _read(report: dict[str, Any], ended: Ended) -> Load:
    """What both builds report; an earlier one says less than a trial needs."""
    goodput_per_s = report["window"]["goodput_per_s"]
    return Load(goodput_per_s, ended.cpu_s / report["attempted"] * 1e6, report["acknowledged"])
