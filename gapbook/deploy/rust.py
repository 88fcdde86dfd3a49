"""Programs of the Rust workspace (clients, null servers, proxy, plant), kept in the cache by the hash of their sources."""

from __future__ import annotations

from pathlib import Path

from gapbook.errors import SetupError
from gapbook.paths import CHECKOUT, cache_directory, hash_files

__all__ = ["RUST_WORKSPACE", "rust_binaries_directory", "rust_binary", "rust_workspace_key"]

RUST_WORKSPACE = CHECKOUT / "clients" / "rust"


def rust_workspace_key() -> str:
    """Hash of what the Rust binaries are built from: what they are kept under. Tests are no part of it."""
    files = [
        *RUST_WORKSPACE.glob("*/src/**/*.rs"),
        *RUST_WORKSPACE.glob("*/Cargo.toml"),
        *RUST_WORKSPACE.glob("Cargo.*"),
    ]
    return hash_files(files, RUST_WORKSPACE)[:16]


def rust_binaries_directory() -> Path:
    """Where they are kept while the sources are these."""
    return cache_directory() / "clients" / rust_workspace_key() / "bin"


def rust_binary(program: str, kind: str) -> Path:
    """A program of the Rust workspace; raises SetupError, with its kind and name, when it is not built."""
    binary = rust_binaries_directory() / program
    if not binary.is_file():
        raise SetupError(f"{kind} {program} is not built; run: make setup")
    return binary
