"""The Rust HTTP client against wrk: same null server, same body, one thread each."""

from __future__ import annotations

import re

from bench.load import WINDOW_S, our_load
from bench.pairs import Load, Ratio, alternate, run_accounted
from gapbook.deployment import Deployment
from gapbook.nullserver import null_server
from gapbook.toolchain import require_tool

__all__ = ["ratios"]

_CONNECTIONS = 50
_SCRIPT = """wrk.method = "POST"
wrk.body = '{"from":1234,"to":56789,"amount":500}'
wrk.headers["Content-Type"] = "application/json"
"""


def ratios(deployment: Deployment, pairs: int) -> list[Ratio]:
    wrk = require_tool("wrk", "apt-get install wrk")
    script = deployment.directory / "post.lua"
    script.write_text(_SCRIPT)
    with null_server(deployment, "http") as endpoint:
        url = f"http://{endpoint['host']}:{endpoint['port']}/transfer"

        def theirs() -> Load:
            text, cpu_s = run_accounted(
                [str(wrk), "-t1", f"-c{_CONNECTIONS}", f"-d{WINDOW_S:.0f}s", "-s", str(script), url]
            )
            done, rate = re.search(r"(\d+) requests in", text), re.search(r"Requests/sec:\s+([\d.]+)", text)
            if done is None or rate is None or "Non-2xx" in text:
                raise RuntimeError(f"wrk: its output is not understood, or requests failed: {text[-300:]}")
            return Load(float(rate[1]), cpu_s / int(done[1]) * 1e6)

        return alternate(
            f"HTTP client ÷ wrk, {_CONNECTIONS} connections",
            lambda: our_load(deployment, "rust", endpoint, connections=_CONNECTIONS, in_flight=1),
            theirs,
            pairs=pairs,
            goodput_bar="",
            cpu_bar="<= 1.2",
        )
