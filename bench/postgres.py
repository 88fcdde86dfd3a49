"""The Rust Postgres client against pgbench: same server, same procedure, prepared, one thread each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from bench.load import ACCOUNTS, BOUND_S, WINDOW_S, our_load
from bench.pairs import Bars, Case, Load, Ratio, compare
from bench.programs import run_program
from gapbook.deploy.deployment import Deployment
from gapbook.deploy.endpoint import Endpoint
from gapbook.deploy.stack import StackContext, stack_class
from gapbook.errors import ClientError
from gapbook.record.durability import Durability
from gapbook.trial.workloads import find_workload

__all__ = ["ratios"]

_CASES = (Case(1, 1), Case(8, 1), Case(50, 1), Case(1, 64), Case(50, 64))
_CALL = f"""\\set source random(0, {ACCOUNTS - 1})
\\set destination (:source + random(1, {ACCOUNTS - 1})) % {ACCOUNTS}
\\set amount random(1, 1000)
SELECT transfer(:source, :destination, :amount);
"""


def ratios(deployment: Deployment, pairs: int) -> Iterator[Ratio]:
    stack = stack_class("postgres")(StackContext(deployment, Durability("delayed", 500.0)))
    stack.start()
    stack.seed(find_workload("transfer", {"accounts": ACCOUNTS}))
    endpoint = stack.endpoint()
    pgbench = Path(stack.locate(stack.context.choice).path).parent / "pgbench"
    yield from compare(
        "Postgres client ÷ pgbench",
        _CASES,
        partial(our_load, deployment, "rust", endpoint),
        partial(_pgbench_load, deployment, pgbench, endpoint),
        pairs=pairs,
        bars=Bars(goodput=">= 1.0", cpu="<= 1.0"),
    )
    stack.stop()


def _pgbench_load(deployment: Deployment, pgbench: Path, endpoint: Endpoint, case: Case) -> Load:
    script = deployment.directory / f"transfer-{case.in_flight}.sql"
    piped = "\\startpipeline\n" + (_CALL + "\\syncpipeline\n") * case.in_flight + "\\endpipeline\n"
    script.write_text(_CALL if case.in_flight == 1 else piped, encoding="utf-8")
    arguments = ["-n", "-M", "prepared", "-j", "1", "-c", str(case.connections), "-T", f"{WINDOW_S:.0f}"]
    address = ["-h", endpoint["host"], "-p", str(endpoint["port"]), "-U", endpoint["user"]]
    ended = run_program(
        deployment,
        [pgbench, *arguments, *address, "-f", script, endpoint["database"]],
        name="pgbench",
        bound_s=BOUND_S,
        environment={"PGPASSWORD": endpoint["password"]},
    )
    done, rate = re.search(r"processed: (\d+)", ended.text), re.search(r"tps = ([\d.]+)", ended.text)
    failed = re.search(r"failed transactions: (\d+)", ended.text)
    if done is None or rate is None or failed is None or int(failed[1]):
        raise ClientError(
            f"pgbench: its output is not understood, or transactions failed: {ended.last_line[-300:]}"
        )
    calls = int(done[1]) * case.in_flight
    return Load(float(rate[1]) * case.in_flight, ended.cpu_s / calls * 1e6, calls)
