"""A SpacetimeDB that the reader named: whatever ends a run on it, everything there is as it was."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

from gapbook.deploy import warden
from gapbook.deploy.deployment import Deployment
from gapbook.deploy.server import ServerChoice
from gapbook.deploy.stack import Stack, StackContext, stack_class
from gapbook.errors import SetupError
from gapbook.record.durability import Durability
from tests.bank import seed_bank
from tests.newer import newer_version
from tests.running import environment_with, eventually

_RUN = """
import json, sys
from gapbook.load import null_server
from gapbook.trial.campaign import measurement_of
from gapbook.trial.servers import parse_choices
from gapbook.trial.scenario import Scenario
from gapbook.trial.contestant import Contestant
from gapbook.record.durability import Durability
from tests.bank import alphas, bank

if __name__ == "__main__":
    servers, window_s = sys.argv[1:]
    null_server.CEILING_WINDOW_S = 0.2
    scenario = Scenario(
        chapter="test", contestants=(Contestant("bank", "spacetimedb", "reducer", "direct", "rust", 1),),
        workload=bank(1000), treatment=alphas(0.5), connections=4, window_s=float(window_s), warmup_s=0.2,
        durability=Durability.parse("delayed"), seed=1,
    )
    run = measurement_of(scenario, blocks=2, choices=parse_choices(servers)).run("live")
    print(json.dumps(run.trials.select("acknowledged", "committed").to_dicts()))
"""


class _Reader(NamedTuple):
    """The reader's server with a database named bank."""

    stack: Stack
    version: str

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.stack.endpoint()['port']}"

    def content(self) -> list[Any]:
        """All that the database holds, what it is, whose it is, and what was written to it since the start."""
        token = self.stack.endpoint()["token"]
        described = httpx.get(f"{self.url}/v1/database/bank", trust_env=False).json()
        rows = httpx.post(
            f"{self.url}/v1/database/bank/sql",
            content="SELECT * FROM accounts",
            headers={"Authorization": f"Bearer {token}"},
            trust_env=False,
        ).json()
        return [described, sorted(rows[0]["rows"]), self.stack.committed_operations()]

    def has(self, database: str) -> bool:
        return httpx.get(f"{self.url}/v1/database/{database}", trust_env=False).status_code == 200


@pytest.fixture(name="reader", scope="module", params=["1.2.0", newer_version("spacetimedb")])
def _reader(request: pytest.FixtureRequest) -> Iterator[_Reader]:
    choice = ServerChoice(version=request.param)
    try:
        stack_class("spacetimedb").located(choice)
    except SetupError as error:
        pytest.skip(str(error))
    with Deployment() as deployment:
        stack = stack_class("spacetimedb")(StackContext(deployment, Durability("delayed"), choice))
        stack.start()
        seed_bank(stack, 7, 123_456)
        assert stack.endpoint()["database"] == "bank"
        yield _Reader(stack, request.param)
        stack.stop()


@pytest.fixture(name="folders")
def _folders(tmp_path: Path) -> dict[str, Path]:
    folders = {"GAPBOOK_DATA": tmp_path / "data", "GAPBOOK_RUNS": tmp_path / "runs"}
    for folder in folders.values():
        folder.mkdir()
    return folders


def _start(reader: _Reader, folders: dict[str, Path], window_s: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", _RUN, f"spacetimedb={reader.url}", window_s],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment_with(folders),
        encoding="utf-8",
    )


def test_run_to_its_end_leaves_the_server_as_it_was(reader: _Reader, folders: dict[str, Path]) -> None:
    before = reader.content()
    printed, errors = _start(reader, folders, "0.5").communicate(timeout=120)
    assert printed, errors
    assert printed.splitlines()[-1].startswith("["), printed + errors
    trials = json.loads(printed.splitlines()[-1])
    assert len(trials) == 2, errors
    assert all(trial["acknowledged"] == trial["committed"] > 0 for trial in trials)
    (database,) = set(re.findall(r"gapbook-[0-9a-f]{16}", printed))
    assert not reader.has(database)
    assert reader.content() == before


@pytest.mark.parametrize("victim", ["run", "run and warden"])
def test_run_killed_half_way_leaves_the_server_as_it_was(
    victim: str, reader: _Reader, folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = reader.content()
    running = _start(reader, folders, "20")
    try:
        assert eventually(lambda: bool(_clients(running.pid)), 60), running.communicate()
        (step,) = folders["GAPBOOK_DATA"].glob(f"*/{warden.UNDO_FOLDER}/*.json")
        database = json.loads(step.read_text(encoding="utf-8"))["command"][-1]
        assert step.stat().st_mode & 0o077 == 0
        assert reader.has(database)
        for pid in (*(_wardens(running.pid) if victim == "run and warden" else ()), running.pid):
            os.kill(pid, signal.SIGKILL)
        running.communicate(timeout=30)
        if victim == "run and warden":
            assert reader.has(database)
            monkeypatch.setenv("GAPBOOK_DATA", str(folders["GAPBOOK_DATA"]))
            with Deployment():  # any next start
                pass
        assert eventually(lambda: not reader.has(database))
        assert eventually(lambda: not list(folders["GAPBOOK_DATA"].iterdir()))
        assert reader.content() == before
    finally:
        running.kill()
        running.communicate()


def _clients(pid: int) -> list[int]:
    return [child for child in warden.descendants([pid]) if b"/gap-" in _command(child)]


def _wardens(pid: int) -> list[int]:
    return [child for child in warden.descendants([pid]) if warden.__file__.encode() in _command(child)]


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def test_removal_takes_no_name_but_ours(reader: _Reader) -> None:
    before = reader.content()
    for name in ("bank", "gapbook-", "gapbook-0123456789abcdef/x", "gapbook-0123456789abcdeF"):
        done = _remove(reader, name, reader.stack.endpoint()["token"])
        assert (done.returncode, done.stderr.strip()) == (1, f"{name!r} is no name of ours")
    absent = _remove(reader, "gapbook-0123456789abcdef", reader.stack.endpoint()["token"])
    assert (absent.returncode, absent.stderr) == (0, "")
    assert reader.content() == before


def test_removal_without_the_right_says_so_in_one_line(reader: _Reader) -> None:
    done = _remove(reader, "gapbook-0123456789abcdef", "no token")
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("the server answered 4")


def _remove(reader: _Reader, name: str, token: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-I", stack_class("spacetimedb").folder / "drop_database.py", reader.url, name],
        env={"GAPBOOK_SPACETIMEDB_TOKEN": token},
        capture_output=True,
        text=True,
        check=False,
        encoding="utf-8",
    )
