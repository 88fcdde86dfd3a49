"""Server programs: ours, compiled from its crate, and what any says of itself."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from gapbook.declared.reading import required
from gapbook.declared.stack import Native
from gapbook.deploy.installed import cargo_install
from gapbook.deploy.server import said_version
from gapbook.paths import cache_directory

__all__ = ["how_to_get", "install", "own_binary", "program_files", "server_arguments", "version_of"]

_WHERE = "stacks/spacetimedb/stack.toml: native"


def install(native: Native) -> None:
    """Compile our own server, as stack.toml has it in ``native``, unless it is there."""
    cargo_install(
        required(native.crate, f"{_WHERE}.crate"),
        required(native.version, f"{_WHERE}.version"),
        expected_s=required(native.expected_install_s, f"{_WHERE}.expected_install_s"),
        binary=own_binary(native, None),
    )


def own_binary(native: Native, version: str | None) -> Path:
    """Where our own server of a version is, or would be; None is the version that we compile."""
    root = cache_directory() / "build" / f"spacetimedb-{version or native.version}"
    return root / "bin" / _program(native)


def _program(native: Native) -> str:
    return required(native.binary, f"{_WHERE}.binary")


def how_to_get(native: Native, binary: Path, version: str | None) -> str:
    """One line for a reader who has no server of that version."""
    if version in (None, native.version):
        return f"spacetimedb: {binary} is missing; run: {native.install_hint}"
    return f"spacetimedb {version} is not on this machine; {native.other_versions_hint}".replace(
        "VERSION", str(version)
    )


def program_files(native: Native, binary: Path) -> Mapping[str, Path]:
    """What an image of ours must hold: the binary, by the name of our own, and the libraries that lie beside it."""
    return {_program(native): binary, **{path.name: path for path in binary.parent.glob("*.so")}}


def server_arguments(
    address: str, data: str | Path, public: str | Path, private: str | Path, *, in_memory: bool
) -> list[str]:
    """The command line of a server behind its program: where it listens, its data folder and its keys."""
    words = ["start", "--listen-addr", address, "--data-dir", str(data)]
    words += ["--jwt-pub-key-path", str(public), "--jwt-priv-key-path", str(private)]
    return [*words, "--in-memory"] if in_memory else words


def version_of(binary: Path) -> str:
    """What the binary says of itself; raises SetupError for one that is no SpacetimeDB server."""
    words = r"spacetimedb tool version (\d+\.\d+\.\d+\S*?);"
    return said_version("spacetimedb", binary, words, program="spacetimedb-standalone")
