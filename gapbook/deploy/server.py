"""Server programs: what runs, and what the reader names in its place."""

from __future__ import annotations

import hashlib
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from gapbook.deploy.named_server import is_elsewhere, require_this_machine, url_in_variable
from gapbook.deploy.warden import bare_environment
from gapbook.errors import ParameterError, SetupError, cut
from gapbook.record.placement import NATIVE, Placement

__all__ = ["Server", "ServerChoice", "built_file", "built_note", "said_version", "sha256_of"]

_BUILT_CHARACTERS = 300
_IMAGE = "image:"
_VARIABLE = "env:"
_ANSWER_TIMEOUT_S = 30.0


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
    """What the reader named for a stack: nothing, a server binary, an endpoint's URL or an image; a port or none.

    ``version`` is the one that a contestant asks for; None is whatever there is. ``placement`` is where the
    server is to run, and ``variable`` the variable of the environment that held the endpoint.
    """

    binary: Path | None = None
    endpoint: str | None = None
    port: int | None = None
    version: str | None = None
    image: str | None = None
    placement: Placement = NATIVE
    variable: str | None = None

    def __post_init__(self) -> None:
        """Raises ParameterError for an endpoint on another machine that no variable held."""
        if self.endpoint is not None and self.variable is None:
            require_this_machine(self.endpoint)

    @property
    def elsewhere(self) -> bool:
        """Whether it is a server on another machine, of which only what it says over the network can be read."""
        return self.endpoint is not None and is_elsewhere(self.endpoint)

    @property
    def named(self) -> bool:
        return self.binary is not None or self.endpoint is not None or self.image is not None

    @classmethod
    def parse(cls, text: str) -> ServerChoice:
        """A path to a server binary, a URL of a running server on this machine, ``env:`` and the variable that holds
        one of any machine, or ``image:`` and an image's name. Raises ParameterError."""
        if text.startswith(_IMAGE):
            return cls(image=text.removeprefix(_IMAGE))
        if text.startswith(_VARIABLE):
            name = text.removeprefix(_VARIABLE)
            return cls(endpoint=url_in_variable(name), variable=name)
        if "://" in text:
            return cls(endpoint=text)
        path = Path(text).expanduser()
        if not path.is_file():
            raise ParameterError(
                f"servers: {cut(text)} is neither a server binary nor a URL; name an existing file, or an image as "
                f"{_IMAGE}NAME"
            )
        return cls(binary=path.resolve())

    def without_password(self) -> str:
        """What was named, fit for a record: an endpoint loses its user and password, and its address where a variable
        held it."""
        if self.image is not None:
            return f"{_IMAGE}{self.image}"
        if self.variable is not None:
            return f"{_VARIABLE}{self.variable}"
        if self.endpoint is None:
            return str(self.binary)
        parts = urlsplit(self.endpoint)
        return f"{parts.scheme}://{parts.hostname}{f':{parts.port}' if parts.port else ''}{parts.path}"


def built_file(binary: Path) -> Path:
    """The file beside a binary that says how it was made; it need not be there."""
    return binary.with_name(f"{binary.name}.built")


def built_note(binary: Path) -> str | None:
    """The first line of the file that says how a binary was made, if there is one beside it."""
    try:
        text = built_file(binary).read_text(errors="replace", encoding="utf-8").strip()
    except OSError:
        return None
    return text.partition("\n")[0][:_BUILT_CHARACTERS] or None


def said_version(
    system: str, binary: Path, words: str, *, argument: str = "--version", program: str | None = None
) -> str:
    """What a binary says of its version when it is run with ``argument``: the group of ``words``, a regular
    expression that is searched in what it prints.

    Raises SetupError for one that does not run or says nothing of the kind: it is no ``program``, which is called
    as its system unless it is named.
    """
    try:
        printed = subprocess.run(
            [binary, argument],
            capture_output=True,
            text=True,
            check=False,
            timeout=_ANSWER_TIMEOUT_S,
            encoding="utf-8",
            env=bare_environment(),
        ).stdout
    except (OSError, subprocess.TimeoutExpired, UnicodeDecodeError) as error:
        raise SetupError(f"{system}: {binary} {argument} failed: {error}") from error
    version = re.search(words, printed)
    if version is None:
        raise SetupError(
            f"{system}: {binary} {argument} names no version; name a {program or system} program"
        )
    return version[1]


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
