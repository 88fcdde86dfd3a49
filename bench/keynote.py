"""The vendor's own TypeScript load, ``templates/keynote-2`` of a SpacetimeDB checkout that the person prepared."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

from bench.load import WINDOW_S
from bench.pairs import Load
from gapbook.errors import SetupError
from gapbook.toolchain import node_path

__all__ = ["CHECKOUT_VARIABLE", "checkout", "keynote_load"]

CHECKOUT_VARIABLE = "BENCH_KEYNOTE"
_START, _END = "Starting workers", "All workers finished"
_COUNTS = "completed within window = "
_TIMEOUT_S = 180.0
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def checkout() -> Path | None:
    """The prepared checkout; None where none was named. Raises SetupError where it is not prepared."""
    named = os.environ.get(CHECKOUT_VARIABLE)
    if not named:
        return None
    folder = Path(named)
    if not (folder / "src" / "cli.ts").is_file() or not (folder / "node_modules" / "tsx").is_dir():
        raise SetupError(
            f"{CHECKOUT_VARIABLE}={named} is no prepared checkout; name the folder templates/keynote-2 of "
            "SpacetimeDB after npm install in it"
        )
    return folder


def keynote_load(folder: Path, endpoint: dict[str, Any], *, connections: int, in_flight: int) -> Load:
    """One run of the vendor's load: what it completed in its window, and its CPU from its start to its end."""
    arguments = ["--seconds", f"{WINDOW_S:.0f}", "--concurrency", str(connections), "--alpha", "0"]
    process = subprocess.Popen(
        [
            str(node_path()),
            "--import",
            "tsx",
            "src/cli.ts",
            "test-1",
            *arguments,
            "--connectors",
            "spacetimedb",
        ],
        cwd=folder,
        env=os.environ
        | {
            "STDB_URL": f"ws://{endpoint['host']}:{endpoint['port']}",
            "STDB_MODULE": str(endpoint["database"]),
            "STDB_CONFIRMED_READS": "1" if endpoint.get("confirmed") else "0",
            "STDB_COMPRESSION": "none",
            "BENCH_PIPELINED": "1",
            "MAX_INFLIGHT_PER_WORKER": str(in_flight),
            "BENCH_PRECOMPUTED_TRANSFER_PAIRS": "1000000",
            "VERIFY": "0",
        },
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    cpu_s: dict[str, float] = {}
    counts = last = ""
    with process:
        for line in process.stdout or ():
            for moment in (_START, _END):
                if moment in line:
                    cpu_s[moment] = _cpu_s(process.pid)
            counts = line if _COUNTS in line else counts
            last = line.strip() or last
        process.wait(_TIMEOUT_S)
    if process.returncode != 0 or not counts or len(cpu_s) != 2:
        raise RuntimeError(f"keynote-2: ended with code {process.returncode}: {last[-300:]}")
    words = counts.split()
    within, total = (int(words[words.index("=", words.index(word)) + 1]) for word in ("within", "total"))
    return Load(within / WINDOW_S, (cpu_s[_END] - cpu_s[_START]) / total * 1e6)


def _cpu_s(pid: int) -> float:
    """User and system time of a running process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS_PER_S
