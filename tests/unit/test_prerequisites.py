"""What is looked at before the first install, and what of a reader's own settings installs may follow."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gapbook import package_index, prerequisites
from gapbook.deploy import setup, toolchain
from gapbook.deploy.rust import RUST_WORKSPACE
from gapbook.deploy.toolchain import cargo_for_this_machine, require_tool, run_step
from gapbook.errors import SetupError
from gapbook.package_index import command_of_packages, environment_of_packages, read_settings

_CONFIGURED = """
[build]
target = "wasm32-unknown-unknown"
target-dir = "elsewhere"
"""


def _tool(folder: Path, name: str, script: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    (folder / name).chmod(0o755)


def test_all_that_is_missing_is_said_at_once_before_there_is_an_environment(tmp_path: Path) -> None:
    _tool(tmp_path, "cargo", "echo 'error: rustup could not choose a version of cargo to run' >&2; exit 1")
    ended = subprocess.run(
        [sys.executable, "-I", prerequisites.__file__, "--build"],
        capture_output=True,
        env={"PATH": str(tmp_path), "GAPBOOK_CACHE": "/proc/nowhere"},
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    cargo, compiler, cache = ended.stderr.splitlines()
    assert ended.returncode == 2
    assert cargo.startswith("gapbook: cargo: ")
    assert cargo.endswith("mend it: rustup default stable")
    assert compiler.startswith("gapbook: cc is missing; install it: a C compiler, e.g. apt-get install gcc")
    assert cache.startswith("gapbook: /proc/nowhere ")
    assert "GAPBOOK_CACHE=FOLDER" in cache


@pytest.mark.parametrize(
    ("tool", "script", "says"),
    [
        ("cargo", "echo cargo 1.87.1", "cargo 1.88 or later is needed, 1.87 found; get it: https://rustup.rs"),
        ("cargo", "echo cargo 1.88.0", ""),
        ("cargo", "exit 0", ""),
        ("rustc", "exit 1", "rustc: "),
        ("cc", "test $# = 1 || { echo 'x.c:1: fatal error: stdio.h: none' >&2; exit 1; }", "cc: builds no program "
         "(x.c:1: fatal error: stdio.h: none); get what is missing: a C compiler, e.g. apt-get install gcc libc6-dev"),
    ],
)  # fmt: skip
def test_tools_that_are_there_and_build_nothing_are_told(
    tool: str, script: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("cargo", "rustc", "cc"):
        _tool(tmp_path, name, "exit 0")
    _tool(tmp_path, tool, script)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(prerequisites, "BUILD_NEEDS_BYTES", 0)
    assert "".join(prerequisites.missing_to_build(tmp_path)).startswith(says)
    assert bool(prerequisites.missing_to_build(tmp_path)) == bool(says)


def test_the_clients_are_locked_to_packages_that_the_oldest_cargo_allowed_builds() -> None:
    told = subprocess.run(
        ["cargo", "metadata", "--format-version=1", "--locked", "--filter-platform=x86_64-unknown-linux-gnu"],
        cwd=RUST_WORKSPACE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
        check=True,
    ).stdout
    asked = {
        package["name"]: tuple(map(int, package["rust_version"].split(".")[:2]))
        for package in json.loads(told)["packages"]
        if package["rust_version"]
    }
    assert asked["loadgen"] == prerequisites._CARGO
    assert {name: version for name, version in asked.items() if version > prerequisites._CARGO} == {}
    assert f"cargo and rustc {'.'.join(map(str, prerequisites._CARGO))} or later" in prerequisites.CARGO_HINT


def test_another_system_is_shown_the_way_into_a_container(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert prerequisites.missing_to_build(tmp_path) == []
    monkeypatch.setattr(platform, "system", lambda: "Darwin")
    (line,) = prerequisites.missing_to_build(tmp_path)
    assert line.startswith("Linux is needed, Darwin found; measure in a container")


def test_setup_begins_nothing_where_the_disk_has_no_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GAPBOOK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(prerequisites, "BUILD_NEEDS_BYTES", 1 << 60)
    with pytest.raises(SetupError, match=r"GiB of room, 1073741824 are needed"):
        setup.set_up()
    assert not (tmp_path / "cache").exists()


def test_cargo_builds_for_this_machine_whatever_readers_set_and_tells_the_count_of_its_crates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(toolchain, "_REPORT_EVERY_S", 0.1)
    (tmp_path / ".cargo").mkdir()
    (tmp_path / ".cargo" / "config.toml").write_text(_CONFIGURED, encoding="utf-8")
    (tmp_path / "Cargo.toml").write_text('[package]\nname = "tiny"\nversion = "0.1.0"\n', encoding="utf-8")
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "main.rs").write_text("fn main() {}\n", encoding="utf-8")
    # Cargo shows nothing of what is done within half a second.
    (tmp_path / "build.rs").write_text(
        "fn main() { std::thread::sleep(std::time::Duration::from_secs(1)) }\n", encoding="utf-8"
    )
    cargo = require_tool("cargo", prerequisites.CARGO_HINT)
    options, built = cargo_for_this_machine(cargo, tmp_path / "target")
    run_step(
        "tiny",
        [cargo, "build", "--release", "--offline", *options],
        expected_s=600,
        working_directory=tmp_path,
    )
    # The build script is compiled, then run, then the program is compiled.
    assert re.search(r"^tiny: [12] of 3 crates, ", capsys.readouterr().out, re.MULTILINE)
    subprocess.run([built / "tiny"], check=True)
    assert not (tmp_path / "elsewhere").exists()


def _run_with_packages(command: list[str], told: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run as the set-up runs pip and uv, for a reader who tells them nothing else."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "UV_", "SSL_"))}
    return subprocess.run(
        [sys.executable, "-I", package_index.__file__, *command],
        capture_output=True,
        env={**kept, **told},
        encoding="utf-8",
        check=False,
    )


def test_package_managers_follow_the_reader_to_an_index_and_nowhere_else(tmp_path: Path) -> None:
    configuration = tmp_path / "pip.conf"
    configuration.write_text(
        "[global]\nindex-url = https://house.invalid/a b\ntrusted-host = one\n two\n"
        "[install]\nuser = true\ntarget = /elsewhere\n",
        encoding="utf-8",
    )
    told = {
        "PIP_CONFIG_FILE": str(configuration),
        "PIP_USER": "1",
        "PIP_NO_BINARY": ":all:",
        "PIP_EXTRA_INDEX_URL": "https://b.invalid https://c.invalid",
        "UV_PYTHON": "/nowhere",
        "UV_HTTP_TIMEOUT": "7",
        "PIP_TIMEOUT": "9",
        "PIP_RETRIES": "2",
    }
    printed = _run_with_packages([str(shutil.which("env"))], told).stdout
    found = dict(line.partition("=")[::2] for line in printed.splitlines())
    assert {name: value for name, value in found.items() if name.startswith("UV_")} == {
        "UV_DEFAULT_INDEX": "https://house.invalid/a b",
        "UV_INDEX": "https://b.invalid https://c.invalid",
        "UV_INSECURE_HOST": "one two",
        "UV_INDEX_STRATEGY": "unsafe-best-match",
        "UV_HTTP_TIMEOUT": "7",
        "UV_HTTP_RETRIES": "2",
    }
    assert found["PIP_INDEX_URL"] == "https://house.invalid/a b"
    assert found["PIP_CONFIG_FILE"] == os.devnull
    assert not {"PIP_USER", "PIP_TARGET", "PIP_NO_BINARY"} & set(found)


def test_settings_that_pip_refuses_are_told_and_no_package_comes_from_elsewhere(tmp_path: Path) -> None:
    configuration = tmp_path / "pip.conf"
    configuration.write_text("index-url = https://house.invalid\n", encoding="utf-8")
    ended = _run_with_packages([str(shutil.which("env"))], {"PIP_CONFIG_FILE": str(configuration)})
    assert ended.returncode == 2
    assert not ended.stdout
    assert str(configuration) in ended.stderr
    assert ended.stderr.splitlines()[-1].startswith("gapbook: pip refuses its own settings")
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize(
    ("command", "value", "told"),
    [
        (["/a/uv", "pip", "sync", "-q", "b"], "true", ["/a/uv", "pip", "sync", "--no-index", "-q", "b"]),
        (["uv", "pip", "compile"], "1", ["uv", "pip", "compile", "--no-index"]),
        (["uv", "pip", "sync"], "false", ["uv", "pip", "sync"]),
        (["uv", "pip", "check"], "true", ["uv", "pip", "check"]),
        (["uv"], "true", ["uv"]),
        (["python", "-m", "pip", "install"], "true", ["python", "-m", "pip", "install"]),
    ],
)
def test_uv_asks_no_index_where_pip_was_told_to_ask_none(
    command: list[str], value: str, told: list[str]
) -> None:
    assert command_of_packages(command, {"no-index": value}) == told
    assert command_of_packages(command, {}) == command


def test_settings_of_a_command_go_before_general_ones() -> None:
    listed = "global.proxy='a'\ninstall.proxy='b'\nsearch.proxy='c'\n:env:.timeout='3'\nnonsense"
    assert read_settings(listed) == {"proxy": "b", "timeout": "3"}
    assert environment_of_packages({"ALL_PROXY": "mine"}, {"proxy": "b"})["ALL_PROXY"] == "mine"
