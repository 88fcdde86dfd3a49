"""The Rust workspace where its content alone decides its place and its files' times, so that cargo finds what it built of
the same sources for another checkout: to cargo a newer file is a changed one, as each is that was just cloned."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from pathlib import Path

from gapbook.locks import taking_turns
from gapbook.paths import CHECKOUT, cache_directory

__all__ = ["kept_rust_workspace"]

_PARTS = (Path("clients") / "rust", Path("workloads"))
"""The workspace, and what its tests read beside it."""
_MADE = {"target", "__pycache__"}
"""Folders of what is made of sources: other in each checkout, and read by no test."""


def kept_rust_workspace() -> Path:
    """The workspace of a copy in the cache, made where there is none of this content.

    Where other content was built last, its files are newer than what was built: cargo must never take that for theirs.
    """
    files = [
        path.relative_to(CHECKOUT)
        for part in _PARTS
        for path in sorted((CHECKOUT / part).rglob("*"))
        if path.is_file() and not _MADE & {*path.parts}
    ]
    content = hashlib.sha256()
    for file in files:
        content.update(f"{file.as_posix()}\0".encode())
        content.update(hashlib.sha256((CHECKOUT / file).read_bytes()).digest())
    kept = cache_directory() / "build" / f"clients-sources-{content.hexdigest()[:16]}"
    if not kept.is_dir():
        kept.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=kept.parent, prefix="clients-sources-") as made:
            for file in files:
                target = Path(made) / "kept" / file
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(CHECKOUT / file, target)
            try:
                (Path(made) / "kept").rename(kept)
            except OSError:
                # Another process was quicker, with the same content.
                if not kept.is_dir():
                    raise
    built_last = cache_directory() / "build" / "clients-target" / "tested-sources"
    with taking_turns(kept):
        if not built_last.is_file() or built_last.read_text(encoding="utf-8") != kept.name:
            for file in files:
                (kept / file).touch()
            built_last.parent.mkdir(parents=True, exist_ok=True)
            built_last.write_text(kept.name, encoding="utf-8")
    return kept / _PARTS[0]
