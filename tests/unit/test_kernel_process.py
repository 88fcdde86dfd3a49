"""A chapter runs in our own interpreter, and a kernel that ends says by what and why."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from gapbook.book import execute
from gapbook.book.kernel_process import KernelProcess
from gapbook.errors import GapbookError


def test_no_kernelspec_of_the_machine_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = tmp_path / "kernels" / "python3" / "kernel.json"
    spec.parent.mkdir(parents=True)
    spec.write_text(
        json.dumps({"argv": ["/bin/false"], "display_name": "x", "language": "python"}), encoding="utf-8"
    )
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    manager = KernelProcess(tmp_path / "log").manager(kernel_name="python3")
    manager._launch_args = {}
    assert manager.format_kernel_cmd()[0] == sys.executable


@pytest.mark.parametrize(
    ("script", "told"),
    [
        (
            "echo noise >&2; echo \"ModuleNotFoundError: No module named 'x'\" >&2; exit 1",
            "ended with code 1: noise | ",
        ),
        ("exit 3", "ended with code 3: (empty log)"),
        ("kill -TERM $$", "was ended from outside by signal 15 (SIGTERM)"),
        ("kill -KILL $$", "was ended from outside by signal 9 (SIGKILL, as where memory is short)"),
        (
            "echo 'Fatal Python error: Segmentation fault' >&2; kill -SEGV $$",
            "ended by signal 11 (SIGSEGV), the crash of a library: Fatal Python error: Segmentation fault",
        ),
        ("kill -40 $$", "ended by signal 40: (empty log)"),
    ],
)
def test_the_end_of_a_kernel_is_told_by_code_or_signal_and_its_last_line(
    script: str, told: str, tmp_path: Path
) -> None:
    process = KernelProcess(tmp_path / "log")
    assert process.ending() == "is not there any more"
    with process.log.open("wb") as log:
        process.popen = subprocess.Popen(["/bin/sh", "-c", script], stderr=log)
    process.popen.wait(10)
    assert process.ending().startswith(told)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (
            {"source": "live", "servers": "postgres=postgresql://u@192.0.2.1/d"},
            "servers: 192.0.2.1 is not this machine",
        ),
        ({"source": "live", "servers": "postgres="}, "servers: 'postgres=' is not of the form"),
        ({"source": "publishd"}, r"source: no run 'publishd' of fair; .*; did you mean published\?"),
    ],
)
def test_what_no_run_can_have_is_refused_before_a_kernel_starts(
    given: dict[str, str], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def started() -> None:
        raise AssertionError("a kernel was started")

    monkeypatch.setattr(execute, "kernel_config", started)
    with pytest.raises(GapbookError, match=f"^{told}"):
        execute.execute_chapter("fair", given)
