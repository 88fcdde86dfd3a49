"""The Rust HTTP client against wrk: same null server, same body, one thread each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from bench.load import BOUND_S, WINDOW_S, our_load
from bench.pairs import Bars, Case, Load, Ratio, compare
from bench.programs import run_program
from gapbook.deploy.deployment import Deployment
from gapbook.deploy.toolchain import require_tool
from gapbook.errors import ClientError
from gapbook.load.null_server import null_server

__all__ = ["ratios"]

_SCRIPT = """wrk.method = "POST"
wrk.body = '{"from":1234,"to":56789,"amount":500}'
wrk.headers["Content-Type"] = "application/json"
"""


def ratios(deployment: Deployment, pairs: int) -> Iterator[Ratio]:
    wrk = require_tool("wrk", "apt-get install wrk")
    script = deployment.directory / "post.lua"
    script.write_text(_SCRIPT)
    with null_server(deployment, "http") as endpoint:
        url = f"http://{endpoint['host']}:{endpoint['port']}/transfer"

        def theirs(case: Case) -> Load:
            arguments = ["-t1", f"-c{case.connections}", f"-d{WINDOW_S:.0f}s", "-s", str(script), url]
            ended = run_program(deployment, [wrk, *arguments], name="wrk", bound_s=BOUND_S)
            done = re.search(r"(\d+) requests in", ended.text)
            rate = re.search(r"Requests/sec:\s+([\d.]+)", ended.text)
            if done is None or rate is None or "Non-2xx" in ended.text:
                raise ClientError(
                    f"wrk: its output is not understood, or requests failed: {ended.last_line[-300:]}"
                )
            return Load(float(rate[1]), ended.cpu_s / int(done[1]) * 1e6, int(done[1]))

        yield from compare(
            "HTTP client ÷ wrk",
            [Case(50, 1)],
            partial(our_load, deployment, "rust", endpoint),
            theirs,
            pairs=pairs,
            bars=Bars(goodput=None, cpu="<= 1.2"),
        )
