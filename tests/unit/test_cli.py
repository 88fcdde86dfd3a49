"""The command line as a process: streams that nobody reads, tools that do not run, folders that are shared."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import polars as pl
import pytest

from gapbook import cli
from gapbook.deploy.toolchain import require_tool
from gapbook.errors import GapbookError, SetupError
from gapbook.locks import own_folder, taking_turns
from gapbook.pages.refused import mostly_refused
from gapbook.paths import CHECKOUT

_SPEAKS = """
import sys, time
from gapbook import cli
from gapbook.deploy import setup

def command(chosen):
    print("first", flush=True)
    time.sleep(float(sys.argv[1]))
    for _ in range(1000):
        print("x" * 1000)
    open(sys.argv[2], "w").write("done")

setup.set_up = lambda *_, **__: command(None)
sys.exit(cli.main(["setup"]))
"""


def _speaking(wait_s: float, mark: Path, shell: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/sh", "-c", shell, "sh", sys.executable, "-c", _SPEAKS, str(wait_s), str(mark)],
        capture_output=True,
        text=True,
        cwd=CHECKOUT,
        env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
        timeout=120,
        check=False,
        encoding="utf-8",
    )


@pytest.mark.parametrize("shell", ['"$@" | head -1', '"$@" >&-'])
def test_command_that_nobody_listens_to_goes_on(shell: str, tmp_path: Path) -> None:
    ended = _speaking(0.2, tmp_path / "mark", shell)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert (tmp_path / "mark").read_text(encoding="utf-8") == "done"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signal_ends_a_command_in_one_line(number: int, tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", _SPEAKS, "60", str(tmp_path / "mark")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=CHECKOUT,
        env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
        encoding="utf-8",
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "first\n"
    process.send_signal(number)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 128 + number
    assert errors == "gapbook: interrupted; what is done is kept; give the same command again to go on\n"


def test_command_line_leaves_the_callers_signal_handlers(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise GapbookError("no")

    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)]
    monkeypatch.setattr("gapbook.deploy.setup.set_up", fail)
    assert cli.main(["setup"]) == 2
    assert [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)] == before


@pytest.mark.parametrize(
    ("script", "says"),
    [
        (
            "echo 'error: rustup could not choose a version of cargo to run' >&2; echo help >&2; exit 1",
            r"cargo: .*/cargo does not run \(error: rustup could not choose .*\); mend it: rustup default stable",
        ),
        ("exit 3", r"cargo: .*/cargo does not run \(it says nothing\); mend it: the hint"),
    ],
)
def test_tool_that_does_not_run_is_said_in_one_line(
    script: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cargo").write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    (tmp_path / "cargo").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SetupError, match=rf"\A{says}\Z"):
        require_tool("cargo", "the hint")


def test_commands_at_once_have_folders_of_their_own(tmp_path: Path) -> None:
    with own_folder(tmp_path / "yours") as first, own_folder(tmp_path / "yours") as second:
        assert (first.name, second.name) == ("yours", "yours-2")
    with own_folder(tmp_path / "yours") as again:
        assert again == first


def test_second_command_in_a_shared_folder_waits_and_says_so(tmp_path: Path) -> None:
    said, entered = list[str](), list[str]()

    def second() -> None:
        with taking_turns(tmp_path, said.append):
            entered.append("second")

    with taking_turns(tmp_path, said.append):
        thread = threading.Thread(target=second)
        thread.start()
        deadline = time.monotonic() + 10
        while not said and time.monotonic() < deadline:
            time.sleep(0.01)
        assert (said, entered) == ([f"waiting for another command that writes to {tmp_path}"], [])
    thread.join()
    assert entered == ["second"]


class _Stored:
    """As much of a run as is read here."""

    def __init__(self, *refused_because: str | None) -> None:
        self.trials = pl.DataFrame(
            {
                "valid": [because is None for because in refused_because],
                "refused_because": pl.Series(refused_because, dtype=pl.String),
            }
        )


def test_run_of_which_most_trials_were_refused_says_how_many_why_and_what_to_do() -> None:
    assert mostly_refused(_Stored(None, None, "steady: it fell")) is None  # type: ignore[arg-type]
    assert mostly_refused(_Stored("steady: it fell", None)) is None  # type: ignore[arg-type]
    both = "quiet machine: 12 % of the processors; steady: it fell"
    broke = "postgres ended with code -9: it was killed"
    line = mostly_refused(_Stored(None, both, both, "steady: it fell", broke))  # type: ignore[arg-type]
    assert line is not None
    assert line.startswith("4 of 5 trials were refused, by steady (3), quiet machine (2), ")
    assert "postgres ended with code -9 (1)" in line
    assert "warm up longer (warmup_s)" in line
    assert "\n" not in line


@pytest.mark.parametrize("module", ["gapbook", "gapbook.cli"])
def test_the_command_is_also_a_module(module: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", module, "run", "fiar"],
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=CHECKOUT,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 2
    assert ended.stderr.startswith("gapbook: chapter 'fiar': unknown; allowed: ")
    assert ended.stderr.endswith("; did you mean fair?\n")


@pytest.mark.parametrize(
    ("words", "nearest"),
    [
        (["rum", "fair"], "run"),
        (["capmaign"], "campaign"),
        (["campaign", "fiar"], "fair"),
        (["setup", "both-optimised"], "both-optimized"),
        (["run", "fair", "-p", "conections=5"], "connections"),
        (["run", "fair", "-p", "durability=delyed"], "delayed"),
        (["run", "fair", "-p", "backend=dokcer"], "docker"),
    ],
)
def test_a_mistyped_word_is_told_the_nearest(
    words: list[str], nearest: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        code = cli.main(words)
    except SystemExit as ended:
        code = int(str(ended.code))
    assert code == 2
    assert capsys.readouterr().err.endswith(f"; did you mean {nearest}?\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["setup", "--all", "fair"], "setup: --all installs for every chapter; leave it out, or 'fair'"),
        (
            ["compare", "fair", "nope", "--export"],
            "compare: --export writes one run; leave it out, or 'nope' beside it",
        ),
        (
            ["campaign", "--show", "--budget", "2h"],
            "campaign: --show measures nothing; leave it out, or --budget",
        ),
        (
            ["campaign", "--show", "--on", "tcp://10.0.0.1:8786"],
            "campaign: --show measures nothing; leave it out, or --on",
        ),
    ],
)
def test_a_word_that_would_be_ignored_is_refused(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gapbook.deploy.setup.set_up", lambda *_, **__: None)
    assert cli.main(words) == 2
    assert capsys.readouterr().err == f"gapbook: {said}\n"
