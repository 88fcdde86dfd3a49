"""Our Rust clients against an earlier build of themselves: same null server, same load."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import msgspec

from bench.load import program_load
from bench.older import described_contract
from bench.pairs import Bars, Case, Load, NotRun, Ratio, compare
from bench.programs import Ended
from gapbook.deploy.deployment import Deployment
from gapbook.deploy.rust import rust_binary
from gapbook.errors import ClientError
from gapbook.load.client import find_client
from gapbook.load.contract import CONTRACT_VERSION
from gapbook.load.null_server import null_server

__all__ = ["ratios"]

_VARIABLE = "BENCH_OLD_CLIENTS"
_CASES = {
    "postgres": (Case(50, 1), Case(50, 64)),
    "http": (Case(50, 1),),
    "spacetimedb": (Case(50, 1), Case(50, 40)),
}
_BARS = Bars(goodput=">= 0.97", cpu="<= 1.03")


def ratios(deployment: Deployment, pairs: int) -> Iterator[Ratio | NotRun]:
    for protocol, cases in _CASES.items():
        program = find_client("rust", protocol).command[0]
        name = f"{program} ÷ its earlier build"
        try:
            earlier, contract = _earlier(program)
        except ClientError as error:
            yield NotRun(name, str(error))
            continue
        today = rust_binary(program, "client")
        with null_server(deployment, protocol) as endpoint:
            ours, theirs = (
                partial(program_load, deployment, build, _read, endpoint, contract=spoken)
                for build, spoken in ((today, CONTRACT_VERSION), (earlier, contract))
            )
            yield from compare(name, cases, ours, theirs, pairs=pairs, bars=_BARS)


def _earlier(program: str) -> tuple[Path, int]:
    """The earlier build of a client and the contract that it speaks; raises ClientError saying what is missing."""
    folder = os.environ.get(_VARIABLE)
    build = Path(folder or "").expanduser().resolve() / program
    if not folder or not build.is_file():
        why = f"holds no {program}" if folder else "is not set"
        raise ClientError(f"{_VARIABLE} {why}; name the folder of an earlier build's Rust clients")
    return build, described_contract(build)


class _Window(msgspec.Struct):
    goodput_per_s: float


class _Report(msgspec.Struct):
    """What both builds report; an earlier one says less than a trial needs."""

    window: _Window
    attempted: int
    acknowledged: int


def _read(line: str, ended: Ended) -> Load:
    report = msgspec.json.decode(line, type=_Report)
    return Load(report.window.goodput_per_s, ended.cpu_s / report.attempted * 1e6, report.acknowledged)
