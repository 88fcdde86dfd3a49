"""The Rust HTTP client against wrk and against k6: same null server, same request, one thread each but k6,
which takes what it gets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from bench.load import BOUND_S, WINDOW_S, our_load, our_window_load
from bench.pairs import Bars, Case, Load, NotRun, Ratio, compare
from bench.programs import run_program
from gapbook.deploy.deployment import Deployment
from gapbook.deploy.endpoint import Endpoint
from gapbook.errors import ClientError, SetupError
from gapbook.load.client import find_client
from gapbook.load.null_server import null_server
from gapbook.paths import tool_path

__all__ = ["ratios"]

_CASES = (Case(50, 1),)
_WRK_BARS = Bars(goodput=None, cpu="<= 1.2")
_K6_BARS = Bars(goodput=None, cpu="<= 0.1")
_SCRIPT = """wrk.method = "POST"
wrk.body = '{"from":1234,"to":56789,"amount":500}'
wrk.headers["Content-Type"] = "application/json"
"""


def ratios(deployment: Deployment, pairs: int) -> Iterator[Ratio | NotRun]:
    with null_server(deployment, "http") as endpoint:
        yield from _against_wrk(deployment, endpoint, pairs)
        yield from _against_k6(deployment, endpoint, pairs)


def _against_wrk(deployment: Deployment, endpoint: Endpoint, pairs: int) -> Iterator[Ratio | NotRun]:
    name = "HTTP client ÷ wrk"
    # Not by its --version, after which it ends with code 1.
    wrk = tool_path("wrk")
    if wrk is None:
        yield NotRun(name, "wrk is missing; install it: apt-get install wrk")
        return
    ours = partial(our_load, deployment, "rust", endpoint)
    theirs = partial(_wrk_load, deployment, wrk, endpoint)
    yield from compare(name, _CASES, ours, theirs, pairs=pairs, bars=_WRK_BARS)


def _against_k6(deployment: Deployment, endpoint: Endpoint, pairs: int) -> Iterator[Ratio | NotRun]:
    name = "HTTP client ÷ k6"
    try:
        find_client("k6", "http").resolved_command()
    except SetupError as error:
        yield NotRun(name, str(error))
        return
    ours, theirs = (partial(our_window_load, deployment, language, endpoint) for language in ("rust", "k6"))
    yield from compare(name, _CASES, ours, theirs, pairs=pairs, bars=_K6_BARS)


def _wrk_load(deployment: Deployment, wrk: Path, endpoint: Endpoint, case: Case) -> Load:
    script = deployment.directory / "post.lua"
    script.write_text(_SCRIPT, encoding="utf-8")
    url = f"http://{endpoint['host']}:{endpoint['port']}/transfer"
    arguments = ["-t1", f"-c{case.connections}", f"-d{WINDOW_S:.0f}s", "-s", str(script), url]
    ended = run_program(deployment, [wrk, *arguments], name="wrk", bound_s=BOUND_S)
    done = re.search(r"(\d+) requests in", ended.text)
    rate = re.search(r"Requests/sec:\s+([\d.]+)", ended.text)
    if done is None or rate is None or int(done[1]) == 0 or "Non-2xx" in ended.text:
        raise ClientError(f"wrk: its output is not understood, or requests failed: {ended.last_line[-300:]}")
    return Load(float(rate[1]), ended.cpu_s / int(done[1]) * 1e6, int(done[1]))
