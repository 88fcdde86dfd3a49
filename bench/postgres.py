"""The Rust Postgres client against pgbench: same server, same procedure, prepared, one thread each."""

from __future__ import annotations

import re
from pathlib import Path

from bench.load import ACCOUNTS, WINDOW_S, our_load
from bench.pairs import Load, Ratio, alternate, run_accounted
from gapbook.deployment import Deployment
from gapbook.stacks import Durability, StackContext, stack_class

__all__ = ["ratios"]

_CASES = ((1, 1), (8, 1), (50, 1), (1, 64), (50, 64))
_CALL = f"""\\set source random(0, {ACCOUNTS - 1})
\\set destination (:source + random(1, {ACCOUNTS - 1})) % {ACCOUNTS}
\\set amount random(1, 1000)
SELECT transfer(:source, :destination, :amount);
"""


def ratios(deployment: Deployment, pairs: int) -> list[Ratio]:
    stack = stack_class("postgres")(StackContext(deployment, Durability("delayed", 500.0)))
    stack.start()
    stack.seed(ACCOUNTS, 10_000_000)
    endpoint = stack.endpoint()
    pgbench = Path(stack.locate(stack.context.choice).path).parent / "pgbench"

    def theirs(connections: int, in_flight: int) -> Load:
        script = deployment.directory / f"transfer-{in_flight}.sql"
        piped = "\\startpipeline\n" + (_CALL + "\\syncpipeline\n") * in_flight + "\\endpipeline\n"
        script.write_text(_CALL if in_flight == 1 else piped)
        arguments = ["-n", "-M", "prepared", "-j", "1", "-c", str(connections), "-T", f"{WINDOW_S:.0f}"]
        address = ["-h", endpoint["host"], "-p", str(endpoint["port"]), "-U", endpoint["user"]]
        text, cpu_s = run_accounted(
            [str(pgbench), *arguments, *address, "-f", str(script), endpoint["database"]],
            environment={"PGPASSWORD": endpoint["password"]},
        )
        done, rate = re.search(r"processed: (\d+)", text), re.search(r"tps = ([\d.]+)", text)
        failed = re.search(r"failed transactions: (\d+)", text)
        if done is None or rate is None or failed is None or int(failed[1]):
            raise RuntimeError(
                f"pgbench: its output is not understood, or transactions failed: {text[-300:]}"
            )
        return Load(float(rate[1]) * in_flight, cpu_s / (int(done[1]) * in_flight) * 1e6)

    found = []
    for connections, in_flight in _CASES:
        depth = f"{in_flight} in flight" if in_flight > 1 else "1 in flight"
        found += alternate(
            f"Postgres client ÷ pgbench, {connections} connections, {depth}",
            lambda c=connections, d=in_flight: our_load(
                deployment, "rust", endpoint, connections=c, in_flight=d
            ),  # type: ignore[misc]
            lambda c=connections, d=in_flight: theirs(c, d),  # type: ignore[misc]
            pairs=pairs,
            goodput_bar=">= 1.0",
            cpu_bar="<= 1.0",
        )
    stack.stop()
    return found
