"""An address that names no scheduler is told in a line, before Dask is loaded."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from gapbook import cli
from gapbook.errors import ParameterError, SetupError
from gapbook.paths import CHECKOUT
from gapbook.trial.load_hosts.named import LOAD_FROM, named_load_maker
from gapbook.trial.scheduler_address import require_scheduler_address

_REFUSED = """
import sys
from gapbook import cli

code = cli.main(sys.argv[1:])
assert not {"dask", "distributed"} & sys.modules.keys()
sys.exit(code)
"""


@pytest.mark.parametrize("address", ["tcp://10.0.0.1:8786", "tcp://scheduler.lan:1", "tcp://[fe80::1]:65535"])
def test_an_address_is_taken(address: str) -> None:
    require_scheduler_address(address)


@pytest.mark.parametrize(
    "address",
    [
        "",
        " ",
        "nope",
        "10.0.0.1:8786",
        "foo://x:1",
        "tcp://:8786",
        "tcp://x",
        "tcp://127.0.0.1:abc",
        "tcp://x:0",
        "tcp://x:65536",
        "tcp://x:1/y",
        "tcp://x:1\n",
        "x" * 5000,
    ],
)
def test_what_is_no_address_is_refused_with_the_form_of_one(address: str) -> None:
    with pytest.raises(ParameterError) as caught:
        require_scheduler_address(address)
    said = str(caught.value)
    assert "is no address; allowed: tcp://HOST:PORT or tls://HOST:PORT, as " in said
    assert len(said.splitlines()) == 1
    assert len(said) < 300


def test_tls_without_certificates_is_refused() -> None:
    from dask import config  # noqa: PLC0415 (others here are refused without it)

    with config.set({"distributed.comm.tls.ca-file": None}), pytest.raises(SetupError, match="certificates"):
        require_scheduler_address("tls://10.0.0.1:8786")
    with config.set({"distributed.comm.tls.ca-file": "ca.pem"}):
        require_scheduler_address("tls://10.0.0.1:8786")


def test_the_variable_is_read_as_the_option_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LOAD_FROM, "nope")
    with pytest.raises(ParameterError, match="'nope': is no address"), named_load_maker():
        pass


@pytest.mark.parametrize(
    "words",
    [
        ["worker", "nope"],
        ["load-host", "nope"],
        ["campaign", "fair", "--on", "nope"],
        ["run", "fair", "--load-from", "nope"],
    ],
)
def test_each_command_refuses_it_before_dask_is_loaded(words: list[str], runs_folder: Path) -> None:
    del runs_folder
    ended = subprocess.run(
        [sys.executable, "-c", _REFUSED, *words],
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=CHECKOUT,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 2
    assert ended.stderr.startswith("gapbook: scheduler 'nope': is no address; ")
    assert ended.stderr.count("\n") == 1


def test_a_blank_address_is_not_beside_the_server(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["run", "fair", "--load-from", ""]) == 2
    assert capsys.readouterr().err.startswith("gapbook: scheduler '': is no address; ")
