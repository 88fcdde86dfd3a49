"""Fails with one line when a program.wasm is not what its build record says, or a source has moved on since.

A check without a wasm compiler: it compares hashes. Rebuilding (``build.sh``) and comparing the
result is the stronger proof, where a compiler of the recorded version is at hand.
"""

from __future__ import annotations

import hashlib
import sys
import tomllib
from pathlib import Path

__all__ = ["drift", "programs"]

_MODULES = Path(__file__).resolve().parent
_WASM = "program.wasm"


def programs(modules: Path = _MODULES) -> list[Path]:
    """The folders of all programs."""
    return sorted(path.parent for path in modules.rglob("Cargo.toml") if "target" not in path.parts)


def drift(program: Path, modules: Path = _MODULES) -> str | None:
    """The first difference between a program and its build record, as one line; None if there is none."""
    named = program.resolve().relative_to(modules.resolve())
    rebuild = f"rebuild it with modules/spacetimedb/build.sh {named}, or restore the committed files"
    try:
        record = tomllib.loads((program / f"{_WASM}.toml").read_text(encoding="utf-8"))
        wasm_sha256, sources = str(record["wasm_sha256"]), dict(record["source_sha256"])
        checksum_file = (program / f"{_WASM}.sha256").read_text(encoding="utf-8").split()
    except (OSError, KeyError, tomllib.TOMLDecodeError) as error:
        return f"{named}/{_WASM}: its build record cannot be read ({error}); {rebuild}"
    present = {str(path.relative_to(modules)) for path in (program / "src").rglob("*.rs")}
    if absent := present - sources.keys():
        return f"{named}/{_WASM}: its build record does not name {', '.join(sorted(absent))}; {rebuild}"
    for name, recorded in {f"{named}/{_WASM}": wasm_sha256, **sources}.items():
        actual = _sha256(modules / name)
        if actual != recorded:
            return f"{name}: sha256 is {actual[:12]}, built as {str(recorded)[:12]}; {rebuild}"
    if checksum_file != [wasm_sha256, _WASM]:
        return f"{named}/{_WASM}.sha256: does not name {wasm_sha256[:12]} of {_WASM}.toml; {rebuild}"
    return None


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "missing"


if __name__ == "__main__":
    sys.exit("\n".join(filter(None, map(drift, programs()))) or 0)
