"""Server programs: ours, compiled from its crate, and what any says of itself."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gapbook.deploy.toolchain import require_tool, run_step
from gapbook.errors import SetupError
from gapbook.paths import cache_directory

__all__ = ["how_to_get", "install", "own_binary", "version_of"]

_ANSWER_TIMEOUT_S = 30.0


def install(native: Mapping[str, Any]) -> None:
    """Compile our own server, as stack.toml has it in ``native``, unless it is there."""
    binary = own_binary(native, None)
    if binary.is_file():
        return
    root = binary.parent.parent
    cargo = require_tool("cargo", "rustup (https://rustup.rs) or the cargo package of your system")
    # Kept until the build is through, so that an interrupted one goes on where it stopped.
    target = root.with_name(f"{root.name}-target")
    run_step(
        f"{native['crate']} {native['version']}",
        [cargo, "install", f"{native['crate']}@{native['version']}", "--locked", "--root", root],
        expected_s=native["expected_install_s"],
        environment={"CARGO_TARGET_DIR": str(target)},
    )
    shutil.rmtree(target, ignore_errors=True)


def own_binary(native: Mapping[str, Any], version: str | None) -> Path:
    """Where our own server of a version is, or would be; None is the version that we compile."""
    root = cache_directory() / "build" / f"spacetimedb-{version or native['version']}"
    return root / "bin" / str(native["binary"])


def how_to_get(native: Mapping[str, Any], binary: Path, version: str | None) -> str:
    """One line for a reader who has no server of that version."""
    if version in (None, native["version"]):
        return f"spacetimedb: {binary} is missing; run: {native['install_hint']}"
    return f"spacetimedb {version} is not on this machine; {native['other_versions_hint']}".replace(
        "VERSION", str(version)
    )


def version_of(binary: Path) -> str:
    """What the binary says of itself; raises SetupError for one that is no SpacetimeDB server."""
    try:
        printed = subprocess.run(
            [binary, "--version"], capture_output=True, text=True, check=False, timeout=_ANSWER_TIMEOUT_S
        ).stdout
    except (OSError, subprocess.TimeoutExpired, UnicodeDecodeError) as error:
        raise SetupError(f"spacetimedb: {binary} --version failed: {error}") from error
    version = re.search(r"spacetimedb tool version (\d+\.\d+\.\d+\S*?);", printed)
    if version is None:
        raise SetupError(f"spacetimedb: {binary} --version names no version; name a spacetimedb-standalone")
    return version[1]
