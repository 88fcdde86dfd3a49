"""Who made a report."""

from __future__ import annotations

import hashlib
import platform
from importlib.metadata import version
from pathlib import Path

from gap_python import NAME, VERSION

DESCRIPTION = {"name": NAME, "language": "python", "version": VERSION}
_LIBRARIES = (
    "psycopg",
    "psycopg-binary",
    "httpx",
    "httpcore",
    "websockets",
    "msgspec",
    "numpy",
    "hdrhistogram",
)


def identity() -> dict[str, str]:
    """The build is the client's sources, the versions of its libraries and of Python."""
    digest = hashlib.sha256(platform.python_version().encode())
    for library in _LIBRARIES:
        digest.update(f"{library}=={version(library)}\0".encode())
    folder = Path(__file__).parent
    for path in sorted(folder.rglob("*.py")):
        digest.update(f"{path.relative_to(folder)}\0".encode() + path.read_bytes() + b"\0")
    return {**DESCRIPTION, "build_id": digest.hexdigest()}
