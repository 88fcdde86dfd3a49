"""The peers in Rust, minimal clients on the official SDKs: built once, run like a client."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

import msgspec

from bench.load import program_load
from bench.pairs import Case, Load
from bench.programs import Ended
from gapbook.deploy.deployment import Deployment
from gapbook.deploy.endpoint import Endpoint
from gapbook.deploy.toolchain import cargo_for_this_machine, require_tool, run_step
from gapbook.paths import CHECKOUT, cache_directory
from gapbook.prerequisites import CARGO_HINT

__all__ = ["built_peers", "peer_load"]

_WORKSPACE = CHECKOUT / "bench" / "rust"
_EXPECTED_S = 480.0


def built_peers() -> Path:
    """The folder of the peers' programs, built first where they are not up to date."""
    target = cache_directory() / "build" / "peers-target"
    cargo = require_tool("cargo", CARGO_HINT)
    options, built = cargo_for_this_machine(cargo, target)
    with contextlib.redirect_stdout(sys.stderr):  # the table has standard output for itself
        run_step(
            "SDK peers",
            [cargo, "build", "--release", "--locked", *options],
            expected_s=_EXPECTED_S,
            working_directory=_WORKSPACE,
        )
    return built


def peer_load(deployment: Deployment, program: Path, endpoint: Endpoint, case: Case) -> Load:
    """One run of a peer: goodput, and CPU a call, both inside its window."""
    return program_load(deployment, program, _read, endpoint, case)


class _Report(msgspec.Struct):
    goodput_per_s: float
    cpu_per_call_s: float
    committed: int


def _read(line: str, _ended: Ended) -> Load:
    report = msgspec.json.decode(line, type=_Report)
    return Load(report.goodput_per_s, report.cpu_per_call_s * 1e6, report.committed)
