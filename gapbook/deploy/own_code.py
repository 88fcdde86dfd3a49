"""Which code a machine has: sessions of two codes are never put into one run."""

from __future__ import annotations

from gapbook.paths import CHECKOUT, hash_files

__all__ = ["code_sha256"]

_SOURCES = (
    "requirements.txt",
    "gapbook/**/*.py",
    "gapbook/**/*.toml",
    "notebooks/*.md",
    "notebooks/*.plan.toml",
    "stacks/*/*.py",
    "stacks/*/stack.toml",
    "modules/**/*.toml",
    "modules/**/*.sql",
    "modules/**/src/**/*",
    "workloads/*/*.py",
    "workloads/*/workload.toml",
    "clients/**/client.toml",
    "clients/**/src/**/*",
)


def code_sha256() -> str:
    """Of all that decides what is measured and how; also of a checkout that was changed, which no revision tells."""
    found = {path for pattern in _SOURCES for path in CHECKOUT.glob(pattern)}
    kept = [
        path
        for path in found
        if path.is_file() and not {"node_modules", "target", "__pycache__"} & {*path.parts}
    ]
    return hash_files(kept, CHECKOUT)
