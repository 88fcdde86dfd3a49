"""The vendor's own TypeScript load, ``templates/keynote-2`` of a SpacetimeDB checkout that the person prepared."""

from __future__ import annotations

import os
import re
from pathlib import Path

from bench.load import ACCOUNTS, BOUND_S, WINDOW_S
from bench.pairs import Case, Load
from bench.programs import run_program
from gapbook.deploy.deployment import Deployment
from gapbook.deploy.endpoint import Endpoint
from gapbook.deploy.toolchain import node_path
from gapbook.errors import ClientError, SetupError

__all__ = ["checkout", "keynote_load"]

_VARIABLE = "BENCH_KEYNOTE"
_WHAT = "the folder templates/keynote-2 of SpacetimeDB after npm install in it"
_START, _END = "Starting workers", "All workers finished"
_COUNTS = re.compile(r"completed within window = (\d+) total completed = (\d+)")
_PAIRS = 1_000_000
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def checkout() -> Path:
    """The prepared checkout; raises SetupError where none was named, or what was named is not prepared."""
    named = os.environ.get(_VARIABLE)
    if not named:
        raise SetupError(f"{_VARIABLE} is not set; name {_WHAT}")
    folder = Path(named).expanduser().resolve()
    if not (folder / "src" / "cli.ts").is_file() or not (folder / "node_modules" / "tsx").is_dir():
        raise SetupError(f"{_VARIABLE}={named} is no prepared checkout; name {_WHAT}")
    return folder


def keynote_load(deployment: Deployment, folder: Path, endpoint: Endpoint, case: Case) -> Load:
    """One run of the vendor's load: what it completed in its window, and its CPU from its start to its last answer."""
    cpu_s: dict[str, float] = {}

    def on_line(pid: int, line: str) -> None:
        for moment in (_START, _END):
            if moment in line:
                cpu_s[moment] = _cpu_s(pid)

    ended = run_program(
        deployment,
        [node_path(), "--import", "tsx", "src/cli.ts", "test-1", *_arguments(case)],
        name="keynote-2",
        bound_s=BOUND_S,
        environment=_environment(deployment, endpoint, case),
        working_directory=folder,
        on_line=on_line,
    )
    counts = _COUNTS.search(ended.text)
    if counts is None or len(cpu_s) != 2 or not int(counts[2]):
        raise ClientError(
            f"keynote-2: its output is not understood, or no call succeeded: {ended.last_line[-300:]}"
        )
    within, total = int(counts[1]), int(counts[2])
    return Load(within / WINDOW_S, (cpu_s[_END] - cpu_s[_START]) / total * 1e6, total)


def _arguments(case: Case) -> list[str]:
    load = ["--seconds", f"{WINDOW_S:.0f}", "--concurrency", str(case.connections)]
    return [*load, "--accounts", str(ACCOUNTS), "--alpha", "0", "--connectors", "spacetimedb"]


def _environment(deployment: Deployment, endpoint: Endpoint, case: Case) -> dict[str, str]:
    """With one in flight its workers await each answer: pipelined, they would poll for it with timers."""
    return {
        "STDB_URL": f"ws://{endpoint['host']}:{endpoint['port']}",
        "STDB_MODULE": str(endpoint["database"]),
        "STDB_CONFIRMED_READS": "1" if endpoint.get("confirmed") else "0",
        "STDB_COMPRESSION": "none",
        "BENCH_PIPELINED": "1" if case.in_flight > 1 else "0",
        "MAX_INFLIGHT_PER_WORKER": str(case.in_flight),
        "BENCH_PRECOMPUTED_TRANSFER_PAIRS": str(_PAIRS),
        "BENCH_RUNS_DIR": str(deployment.directory / "keynote-2"),
        "VERIFY": "0",
    }


def _cpu_s(pid: int) -> float:
    """User and system time of a running process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS_PER_S
