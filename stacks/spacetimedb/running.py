"""A SpacetimeDB server that runs on this machine, asked through /proc: ours, or one that the reader named."""

from __future__ import annotations

import contextlib
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from gapbook.deploy.file_system import file_system
from gapbook.deploy.server import Server, built_note, sha256_of
from gapbook.errors import StackError

__all__ = ["Running", "host_and_port"]

_DEFAULT_PORT = 3000


@dataclass(frozen=True)
class Running:
    """A server process of this machine, asked through /proc: what it is, not what we believe we started."""

    pid: int

    @classmethod
    def listening_at(cls, host: str, port: int) -> Running:
        """The process that listens there; raises StackError when it cannot be looked into."""
        for pid in _listening_processes(port):
            running = cls(pid)
            with contextlib.suppress(OSError):
                if running.argument("--data-dir"):
                    return running
        raise StackError(
            f"spacetimedb: no SpacetimeDB process that we may look into listens on {host}:{port}; run it on "
            "this machine as this user (a container: with the host's network, and gapbook as root)"
        )

    @property
    def arguments(self) -> list[str]:
        return Path(f"/proc/{self.pid}/cmdline").read_bytes().decode(errors="replace").split("\0")[:-1]

    def argument(self, name: str) -> str | None:
        words = self.arguments
        for word, following in zip(words, [*words[1:], ""], strict=True):
            if word == name:
                return following
            if word.startswith(f"{name}="):
                return word.partition("=")[2]
        return None

    @property
    def in_memory(self) -> bool:
        return "--in-memory" in self.arguments

    @property
    def data_directory(self) -> Path:
        """As seen from here, also when the process lives in a container."""
        named = Path(f"/proc/{self.pid}/cwd").readlink() / (self.argument("--data-dir") or "")
        return Path(f"/proc/{self.pid}/root{named}")

    @property
    def file_system(self) -> str:
        """Type of the file system under the data directory."""
        return file_system(self.data_directory, seen_by=self.pid)

    @property
    def version(self) -> str:
        """What the server wrote into its own data directory when it started."""
        return str(self.toml("metadata.toml")["version"])

    def toml(self, name: str) -> dict[str, Any]:
        try:
            return tomllib.loads((self.data_directory / name).read_text(encoding="utf-8"))
        except (OSError, tomllib.TOMLDecodeError) as error:
            raise StackError(f"spacetimedb: {name} of the running server cannot be read ({error})") from error

    def log_files(self) -> list[Path]:
        return list(self.data_directory.glob("replicas/*/clog/*.stdb.log"))

    def server(self) -> Server:
        program = Path(f"/proc/{self.pid}/exe")
        path = program.readlink()
        return Server(str(path), self.version, sha256_of(program), built_note(path))


def _listening_processes(port: int) -> Iterator[int]:
    """Processes whose open files hold a TCP socket that listens on the port."""
    sockets = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with contextlib.suppress(OSError):
            for line in Path(table).read_text(encoding="utf-8").splitlines()[1:]:
                fields = line.split()
                if fields[3] == "0A" and int(fields[1].rpartition(":")[2], 16) == port:
                    sockets.add(f"socket:[{fields[9]}]")
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if any(str(handle.readlink()) in sockets for handle in (entry / "fd").iterdir()):
                    yield int(entry.name)


def host_and_port(url: str) -> tuple[str, int]:
    """Where a server that the reader named listens; raises StackError for another scheme, such as https."""
    parts = urlsplit(url)
    if parts.scheme != "http" or not parts.hostname:
        raise StackError(
            f"spacetimedb: {parts.scheme}:// is not how load clients call; name http://HOST:PORT, elsewhere with a token as "
            "http://gapbook:TOKEN@HOST:PORT"
        )
    return parts.hostname, parts.port or _DEFAULT_PORT
