"""What a variable of the shell reaches: no program of a deployment, no kernel, no compiler's flags; and it is told."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from gapbook.book.kernel import kernel_config
from gapbook.deploy.deployment import Deployment
from gapbook.deploy.environment import (
    build_environment,
    described_environment,
    kernel_environment,
    without_variables,
)
from gapbook.deploy.server import ServerChoice
from gapbook.deploy.warden import TOKEN_VARIABLE
from gapbook.errors import ParameterError
from gapbook.paths import build_directory, cache_directory, deployments_directory, runs_directory
from gapbook.trial.ceilings import ceiling_key
from gapbook.trial.servers import require_used
from tests.hostile import HOSTILE, hostile_names, hostile_shell
from tests.unit.test_scenario import DELAYED, postgres, scenario


@pytest.fixture(autouse=True)
def _hostile() -> Iterator[None]:
    with hostile_shell():
        yield


def _seen(told: bytes) -> dict[str, str]:
    pairs = (word.partition("=") for word in told.decode().split("\0") if word)
    return {name: value for name, _, value in pairs}


def test_programs_of_a_deployment_see_what_is_allowed_and_declared_and_no_more(tmp_path: Path) -> None:
    with Deployment(tmp_path) as deployment:
        declared = {"PGPASSWORD": "declared"}
        process = deployment.start(["env", "-0"], name="env", stdout=True, environment=declared)
        assert _seen(process.stdout.read()) == {
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "HOME": str(deployment.directory / "home"),
            "TMPDIR": str(deployment.directory),
            "PGPASSWORD": "declared",
            TOKEN_VARIABLE: deployment.token,
        }
        assert (deployment.directory / "home").is_dir()
        seen_of = [hostile_names(child.pid) for child in psutil.Process().children()]
        assert not [names for names in seen_of if names - declared.keys()]


def test_what_a_contestant_declares_goes_to_all_that_is_started_for_it_and_to_nothing_else(
    tmp_path: Path,
) -> None:
    with Deployment(tmp_path) as deployment:

        def seen() -> dict[str, str]:
            started = deployment.start(
                ["env", "-0"], name="env", stdout=True, environment={"GOGC": "1", "GODEBUG": "x"}
            )
            return _seen(started.stdout.read())

        with deployment.declaring({"GOGC": "off", "PGOPTIONS": "-c jit=off"}):
            during = seen()
        assert (during["GOGC"], during["GODEBUG"], during["PGOPTIONS"]) == ("off", "x", "-c jit=off")
        assert seen()["GOGC"] == "1"


def test_two_environments_are_two_servers_two_levels_and_two_ceilings() -> None:
    usual, own = postgres("a"), postgres("b", environment={"UV_THREADPOOL_SIZE": "1"})
    assert own.variant(DELAYED).label(DELAYED) == "postgres (UV_THREADPOOL_SIZE=1)"
    assert usual.variant(DELAYED) != own.variant(DELAYED)
    both = scenario(usual, own)
    recorded = both.recorded().contestants
    assert recorded[0].differs_in(recorded[1]) == recorded[1].differs_in(recorded[0]) == {"environment"}
    assert "environment" not in scenario(usual).recorded().contestants[0].levels
    assert "UV_THREADPOOL_SIZE=1" in own.detail_label.split(" · ")
    assert own.settings.environment == {"UV_THREADPOOL_SIZE": "1"}
    assert "environment" not in json.dumps(scenario(usual).as_dict())
    assert ceiling_key(usual, {}, both, 0.5) != ceiling_key(own, {}, both, 0.5)
    running = {"postgres": ServerChoice(endpoint="postgresql://a@127.0.0.1/b")}
    with pytest.raises(ParameterError, match="runs already, so that it cannot get the environment of b"):
        require_used(running, [own], DELAYED)


@pytest.mark.parametrize(
    "environment",
    [
        {"HOME": "/"},
        {"GAPBOOK_DEPLOYMENT": "x"},
        {"A=B": "x"},
        {"": "x"},
        {"A": 1},
        {"A": "a\nb"},
        {"A": "x" * 2000},
    ],
)
def test_what_no_contestant_can_declare_is_refused_in_a_line(environment: dict[str, str]) -> None:
    with pytest.raises(ParameterError, match=r"^environment: .*allowed: [^\n]*$"):
        postgres(environment=environment)


def test_what_takes_a_change_back_sees_what_it_was_given_and_no_more(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    with Deployment(tmp_path) as deployment:
        deployment.on_abandon(
            ["sh", "-c", 'env -0 > "$0"', seen], what="a file", environment={"GAPBOOK_POSTGRES": "there"}
        )
    assert _seen(seen.read_bytes()).keys() - {"PWD", "SHLVL", "_"} == {"PATH", "LANG", "GAPBOOK_POSTGRES"}


def test_a_kernel_gets_none_of_them_and_knows_their_names_and_all_are_back_afterwards() -> None:
    before = dict(os.environ)
    with kernel_config():
        assert not HOSTILE.keys() & os.environ.keys()
        assert os.environ["HOME"] == before["HOME"]
        told = described_environment()
    assert dict(os.environ) == before
    assert told == described_environment()
    assert set(HOSTILE) <= set(told.ignored)
    assert not [value for value in HOSTILE.values() if len(value) > 4 and value in str(told)]


def test_a_kernel_works_elsewhere_and_has_the_folders_that_its_command_was_given(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    given = {
        "GAPBOOK_BUILD": "pages",
        "GAPBOOK_RUNS": "a/runs",
        "GAPBOOK_CACHE": "/cache",
        "GAPBOOK_DATA": "",
    }
    for name, folder in given.items():
        monkeypatch.setenv(name, folder)
    wanted = {"GAPBOOK_BUILD": f"{tmp_path}/pages", "GAPBOOK_RUNS": f"{tmp_path}/a/runs"}
    assert given | wanted == {name: kernel_environment()[name] for name in given}
    assert (str(build_directory()), str(runs_directory())) == tuple(wanted.values())
    assert (cache_directory(), deployments_directory()) == (Path("/cache"), Path("/var/tmp"))


def test_a_build_keeps_the_way_to_the_network_and_none_of_the_flags(monkeypatch: pytest.MonkeyPatch) -> None:
    flags = (
        "RUSTFLAGS",
        "CARGO_BUILD_RUSTFLAGS",
        "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUSTFLAGS",
        "CARGO_PROFILE_RELEASE_OPT_LEVEL",
        "CARGO_BUILD_TARGET",
        "CFLAGS",
        "CFLAGS_x86_64_unknown_linux_gnu",
        "CXXFLAGS",
        "LDFLAGS",
        "GOFLAGS",
        "GOAMD64",
        "CGO_CFLAGS",
        "NODE_ENV",
    )
    kept = ("CARGO_HOME", "RUSTUP_TOOLCHAIN", "HTTPS_PROXY", "SSL_CERT_FILE", "CC", "npm_config_registry")
    for name in (*flags, *kept):
        monkeypatch.setenv(name, "set")
    monkeypatch.setenv("CARGO_ENCODED_RUSTFLAGS", "-Copt-level=0")
    built = build_environment()
    assert not {*flags, "NODE_OPTIONS", "LD_PRELOAD"} & built.keys()
    assert set(kept) <= built.keys()
    assert built["CARGO_ENCODED_RUSTFLAGS"] == ""


def test_variables_of_one_library_are_gone_for_a_while_but_those_that_are_meant() -> None:
    before = dict(os.environ)
    with without_variables("PG", {"PGOPTIONS": "-c work_mem=1MB", "NODE": "x"}):
        assert {name for name in os.environ if name.startswith("PG")} == {"PGOPTIONS"}
        assert os.environ["PGOPTIONS"] == "-c work_mem=1MB"
    assert dict(os.environ) == before


def test_threads_that_take_variables_away_at_once_do_not_disturb_each_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As connections that are opened side by side do."""
    for number in range(20):
        monkeypatch.setenv(f"PGHOSTILE{number}", "set")
    before = dict(os.environ)

    def seen_by(thread: int) -> list[set[str]]:
        seen = []
        for _ in range(50):
            with without_variables("PG", {"PGAPPNAME": f"{thread}"}):
                time.sleep(0)
                seen.append(
                    {f"{key}={value}" for key, value in dict(os.environ).items() if key.startswith("PG")}
                )
        return seen

    with ThreadPoolExecutor(8) as threads:
        for thread, seen in enumerate(threads.map(seen_by, range(8))):
            assert all(names == {f"PGAPPNAME={thread}"} for names in seen)
    assert dict(os.environ) == before
