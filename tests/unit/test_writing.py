"""A checkout that may not be written, and what else the system refuses: one line each, before work begins."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from papermill.exceptions import PapermillExecutionError

from gapbook import cli, prerequisites
from gapbook.book import execute
from gapbook.errors import SetupError
from gapbook.paths import CHECKOUT
from gapbook.writing import refused_writing

_READ_ONLY = """
set -e
mount --bind "$0" "$0"
mount -o remount,bind,ro "$0"
exec "$@"
"""
_COMMANDS = """
import json, os, sys
from pathlib import Path
from gapbook import cli
from gapbook.paths import CHECKOUT

access = os.access
def pretended(path, mode, **named):
    shut = mode & os.W_OK and CHECKOUT in (Path(path), *Path(path).parents)
    return not shut and access(path, mode, **named)

if sys.argv[1] == "pretended":
    os.access = pretended
for variables, words in json.loads(sys.argv[2]):
    os.environ.update(variables)
    print(cli.main(words), flush=True)
"""
_LIVE = ["run", "calibration", "-p", "blocks=1"]


def _mounts() -> list[str]:
    """What starts a program that sees the checkout read-only; nothing where nobody here may mount."""
    command = ["unshare", "--map-root-user", "--mount", "/bin/sh", "-c", _READ_ONLY, str(CHECKOUT)]
    try:
        tried = subprocess.run([*command, "true"], capture_output=True, timeout=30, check=False)
    except FileNotFoundError:
        return []
    return [] if tried.returncode else command


def test_what_cannot_be_written_is_named_with_its_variable(tmp_path: Path) -> None:
    mounts = _mounts()
    commands: list[tuple[dict[str, str], list[str]]] = [
        ({}, ["book"]),
        ({}, ["run", "fair", "-p", "source=published"]),
        ({}, _LIVE),
        ({}, ["campaign", "calibration"]),
        ({"GAPBOOK_BUILD": str(tmp_path)}, _LIVE),
    ]
    named = {name: value for name, value in os.environ.items() if not name.startswith("GAPBOOK_")}
    words = ["mounted" if mounts else "pretended", json.dumps(commands)]
    ended = subprocess.run(
        [*mounts, sys.executable, "-c", _COMMANDS, *words],
        capture_output=True,
        cwd=CHECKOUT,
        env={**named, "PYTHONPATH": str(CHECKOUT)},
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert ended.stdout.split() == ["2"] * len(commands)
    shut = "gapbook: {} cannot be written; name another folder: {}=FOLDER"
    build, runs = (
        shut.format(CHECKOUT / "build", "GAPBOOK_BUILD"),
        shut.format(CHECKOUT / "runs", "GAPBOOK_RUNS"),
    )
    assert ended.stderr.splitlines() == [build] * 4 + [runs]


_PLACE = "/elsewhere/page"
_MESSAGES = [
    (
        OSError(errno.EROFS, "Read-only file system", _PLACE),
        f"{_PLACE}: Read-only file system; other folders",
    ),
    (PermissionError(errno.EACCES, "Permission denied", _PLACE), f"{_PLACE}: Permission denied; other"),
    (OSError(errno.ENOSPC, "No space left on device"), "No space left on device; other folders are named by"),
    (
        shutil.Error([("from", _PLACE, "[Errno 28] No space left on device: '/elsewhere/page'")]),
        f"{_PLACE}: No space left on device; other folders",
    ),
]


@pytest.mark.parametrize(("error", "says"), _MESSAGES)
def test_what_a_disk_refuses_is_one_line_of_a_command_and_of_a_kernel(
    error: OSError,
    says: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise error

    def fail_in_a_kernel(*_: Any, **__: Any) -> None:
        kind = "PermissionError" if isinstance(error, PermissionError) else type(error).__name__
        raise PapermillExecutionError(1, 1, "source", kind, str(error), ["a trace"])

    monkeypatch.setattr("gapbook.deploy.setup.set_up", fail)
    assert cli.main(["setup"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"gapbook: {says}")
    monkeypatch.setattr("papermill.execute_notebook", fail_in_a_kernel)
    with pytest.raises(SetupError, match=rf"\Achapter fair: {says}"):
        execute.execute_chapter("fair", {"source": "published"}, folder=tmp_path)


def test_an_error_that_no_disk_made_stays_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused")

    monkeypatch.setattr("gapbook.deploy.setup.set_up", fail)
    assert refused_writing("a text of no error") is None
    with pytest.raises(ConnectionRefusedError):
        cli.main(["setup"])


def test_no_environment_is_begun_in_a_checkout_that_is_shut(monkeypatch: pytest.MonkeyPatch) -> None:
    assert prerequisites.fault_of_checkout() == []
    monkeypatch.setattr(os, "access", lambda *_: False)
    (line,) = prerequisites.fault_of_checkout()
    assert line.startswith(f"{CHECKOUT} cannot be written, where the Python environment is made")
