"""Server programs: ours, compiled from its crate, one of its makers, and what any says of itself."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from gapbook.declared.reading import required
from gapbook.declared.stack import Native
from gapbook.deploy.installed import cargo_install
from gapbook.deploy.prebuilt import PrebuiltProgram
from gapbook.deploy.server import said_version
from gapbook.deploy.toolchain import require_uninterrupted
from gapbook.errors import SetupError
from gapbook.paths import cache_directory

__all__ = [
    "how_to_get",
    "install",
    "install_for",
    "own_binary",
    "program_files",
    "server_arguments",
    "version_of",
]

_SYSTEM = "spacetimedb"
_WHERE = "stacks/spacetimedb/stack.toml: native"


def install(native: Native) -> None:
    """Compile our own server, as stack.toml has it in ``native``, unless it is there."""
    cargo_install(
        required(native.crate, f"{_WHERE}.crate"),
        own_version(native),
        expected_s=required(native.expected_install_s, f"{_WHERE}.expected_install_s"),
        binary=own_binary(native, None),
    )


def install_for(native: Native, named: Collection[str] | None) -> None:
    """Fetch a newer server as its makers built it, and compile our own where none is had or a chapter needs it.

    A chapter needs it that names it, or that names no version at all; ``named`` are its words, None is no chapter.
    """
    newer = {native.newer_version, *(native.prebuilt.sha256 if native.prebuilt else ())}
    asks_for_newer = named is None or not newer.isdisjoint(named)
    had = asks_for_newer and _fetch(native)
    if not had or (named is not None and own_version(native) in named):
        install(native)


def _fetch(native: Native) -> bool:
    """Have the newest version that is pinned; a line says why where it is not had."""
    prebuilt = required(native.prebuilt, f"{_WHERE}.prebuilt")
    version = next(iter(prebuilt.sha256))
    try:
        PrebuiltProgram.of(_SYSTEM, prebuilt, version).install(version_of)
    except SetupError as error:
        require_uninterrupted(f"{_SYSTEM} {version}")
        own = f"{native.crate} {own_version(native)}"
        instead = "is here" if own_binary(native, None).is_file() else "is compiled"
        print(f"{error}; {own} {instead} in its place", flush=True)
        return False
    return True


def own_version(native: Native) -> str:
    """The version that we compile."""
    return required(native.version, f"{_WHERE}.version")


def own_binary(native: Native, version: str | None) -> Path:
    """Where a server of a version is, or would be: put there by the reader, else fetched; None is the version that
    we compile."""
    place = cache_directory() / "build" / f"{_SYSTEM}-{version or native.version}" / "bin" / _program(native)
    prebuilt = native.prebuilt
    if place.is_file() or version is None or prebuilt is None or version not in prebuilt.sha256:
        return place
    try:
        return PrebuiltProgram.of(_SYSTEM, prebuilt, version).path
    except SetupError:
        # Not for this machine.
        return place


def _program(native: Native) -> str:
    return required(native.binary, f"{_WHERE}.binary")


def how_to_get(native: Native, binary: Path, version: str | None) -> str:
    """One line for a reader who has no server of that version."""
    if version in (None, native.version):
        return f"spacetimedb: {binary} is missing; run: {native.install_hint}"
    if native.prebuilt and version in native.prebuilt.sha256:
        return (
            f"spacetimedb {version} is not on this machine; make setup fetches it ({native.prebuilt.remark})"
        )
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
