"""Programs compiled from package registries, each of a pinned version and kept in the cache under it."""

from __future__ import annotations

import shutil
from pathlib import Path

from gapbook.deploy.server import built_file
from gapbook.deploy.to_be_made import to_be_made
from gapbook.deploy.toolchain import cargo_for_this_machine, require_tool, run_step
from gapbook.errors import SetupError
from gapbook.paths import cache_directory, tool_path
from gapbook.prerequisites import CARGO_HINT
from gapbook.writing import can_be_written

__all__ = ["cargo_install", "go_install", "installed_binary"]

_GO_HINT = "https://go.dev/dl, or the golang package of your system"


def installed_binary(name: str, version: str) -> Path:
    """Where a program of that version is, or would be."""
    return cache_directory() / "build" / f"{name}-{version}" / "bin" / name


def cargo_install(crate: str, version: str, *, expected_s: float, binary: Path | None = None) -> None:
    """Compile a crate as its own lock file has it, unless it is there; ``binary``: where, if not where it would be."""
    binary = binary or installed_binary(crate, version)
    with to_be_made(f"{crate}-{version}", binary.is_file) as absent:
        if absent:
            _compile(crate, version, binary, expected_s)
        _note(binary, crate, version)


def _compile(crate: str, version: str, binary: Path, expected_s: float) -> None:
    cargo = require_tool("cargo", CARGO_HINT)
    root = binary.parent.parent
    # Kept until the build is through, so that an interrupted one goes on where it stopped.
    target = root.with_name(f"{root.name}-target")
    options, _ = cargo_for_this_machine(cargo, target)
    run_step(
        f"{crate} {version}",
        [cargo, "install", f"{crate}@{version}", "--locked", "--root", root, *options],
        expected_s=expected_s,
    )
    shutil.rmtree(target, ignore_errors=True)


def _note(binary: Path, crate: str, version: str) -> None:
    """Say beside a binary how it was made, for :func:`gapbook.deploy.server.built_note`."""
    note = built_file(binary)
    if not note.is_file() and can_be_written(note.parent):
        note.write_text(f"compiled here by cargo from the crate {crate} {version}\n", encoding="utf-8")


def go_install(name: str, module: str, version: str, *, expected_s: float) -> None:
    """Compile a program of a Go module with the versions that the module asks for, unless it is there."""
    binary = installed_binary(name, version)
    with to_be_made(f"{name}-{version}", binary.is_file) as absent:
        if not absent:
            return
        go, own = _go(), cache_directory() / "go"
        # In one step, so that a copy that was cut off is never taken for the program.
        partial = binary.parent.with_name("bin.partial")
        run_step(
            f"{name} {version}",
            [go, "install", f"{module}@v{version}"],
            expected_s=expected_s,
            # Modules and what is built of them stay in the cache, and can be removed with it.
            environment={
                "GOBIN": str(partial),
                "GOPATH": str(own),
                "GOCACHE": str(own / "build"),
                "GOFLAGS": "-trimpath -modcacherw",
            },
        )
        partial.rename(binary.parent)


def _go() -> Path:
    """The Go tool; raises SetupError with how to get it."""
    found = tool_path("go")
    if found is None:
        raise SetupError(f"go is missing; install it: {_GO_HINT}")
    return found
