"""``modules/**/program.wasm.toml``: how a committed program was built; its build writes it."""

from __future__ import annotations

from gapbook.declared.reading import Declared

__all__ = ["BuildDeclaration", "ProgramDeclaration"]


class BuildDeclaration(Declared, frozen=True, kw_only=True):
    """The compiler and the command."""

    target: str
    rustc: str
    cargo: str
    linker: str
    command: str
    rustflags: str


class ProgramDeclaration(Declared, frozen=True, kw_only=True):
    """The program's hash and size, and the hash of each of its sources."""

    wasm_sha256: str
    wasm_bytes: int
    source_sha256: dict[str, str]
    build: BuildDeclaration
