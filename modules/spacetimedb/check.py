"""Fails with one line when bank.wasm is not what bank.wasm.toml says, or the source has moved on since.

A check without a wasm compiler: it compares hashes. Rebuilding (``build.sh``) and comparing the
result is the stronger proof, where a compiler of the recorded version is at hand.
"""

from __future__ import annotations

import hashlib
import sys
import tomllib
from pathlib import Path

__all__ = ["drift"]

_REBUILD = "rebuild it with modules/spacetimedb/build.sh, or restore the committed files"
_SOURCES = ("Cargo.lock", "Cargo.toml", "build.sh", "src/lib.rs")


def drift(folder: Path) -> str | None:
    """The first difference between a module folder and its build record, as one line; None if there is none."""
    try:
        record = tomllib.loads((folder / "bank.wasm.toml").read_text())
        wasm_sha256, sources = str(record["wasm_sha256"]), dict(record["source_sha256"])
        checksum_file = (folder / "bank.wasm.sha256").read_text().split()
    except (OSError, KeyError, tomllib.TOMLDecodeError) as error:
        return f"bank.wasm: its build record cannot be read ({error}); {_REBUILD}"
    found = {*_SOURCES, *(str(path.relative_to(folder)) for path in folder.glob("src/**/*.rs"))}
    if set(sources) != found:
        names = ", ".join(sorted(set(sources) ^ found))
        return f"bank.wasm: its build record and the folder name different sources ({names}); {_REBUILD}"
    for name, recorded in {"bank.wasm": wasm_sha256, **sources}.items():
        actual = _sha256(folder / name)
        if actual != recorded:
            return f"{name}: sha256 is {actual[:12]}, built as {str(recorded)[:12]}; {_REBUILD}"
    if checksum_file != [wasm_sha256, "bank.wasm"]:
        return f"bank.wasm.sha256: does not name {wasm_sha256[:12]} of bank.wasm.toml; {_REBUILD}"
    return None


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "missing"


if __name__ == "__main__":
    sys.exit(drift(Path(__file__).resolve().parent))
