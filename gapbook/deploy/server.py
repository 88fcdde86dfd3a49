"""Server programs: what runs, and what the reader names in its place."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from gapbook.errors import ParameterError, cut

__all__ = ["Server", "ServerChoice", "built_note", "sha256_of"]

_BUILT_CHARACTERS = 300


@dataclass(frozen=True)
class Server:
    """The server program that runs: where it is, what it says it is, and its hash.

    ``built`` is how it was made, in the words of a file beside it: the binary's name with ``.built`` added.
    """

    path: str
    version: str
    sha256: str
    built: str | None = None


@dataclass(frozen=True)
class ServerChoice:
    """What the reader named for a stack: nothing, a server binary, or an endpoint's URL; a port or none.

    ``version`` is the one that a contestant asks for; None is whatever there is.
    """

    binary: Path | None = None
    endpoint: str | None = None
    port: int | None = None
    version: str | None = None

    @property
    def named(self) -> bool:
        return self.binary is not None or self.endpoint is not None

    @classmethod
    def parse(cls, text: str) -> ServerChoice:
        """A path to a server binary, or a URL of a running server on this machine."""
        if "://" in text:
            return cls(endpoint=text)
        path = Path(text).expanduser()
        if not path.is_file():
            raise ParameterError(
                f"servers: {cut(text)} is neither a server binary nor a URL; name an existing file"
            )
        return cls(binary=path.resolve())

    def without_password(self) -> str:
        """What was named, fit for a record: an endpoint loses its user and password."""
        if self.endpoint is None:
            return str(self.binary)
        parts = urlsplit(self.endpoint)
        return f"{parts.scheme}://{parts.hostname}{f':{parts.port}' if parts.port else ''}{parts.path}"


def built_note(binary: Path) -> str | None:
    """The first line of the file that says how a binary was made, if there is one beside it."""
    try:
        text = binary.with_name(f"{binary.name}.built").read_text(errors="replace").strip()
    except OSError:
        return None
    return text.partition("\n")[0][:_BUILT_CHARACTERS] or None


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
