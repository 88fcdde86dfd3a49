"""Server programs that their makers compiled: fetched by hash, looked at, unpacked, kept by version and hash."""

from __future__ import annotations

import gzip
import os
import platform
import shutil
import subprocess
import tarfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from gapbook.declared.stack import Prebuilt
from gapbook.deploy.download import Published, fetched
from gapbook.deploy.server import built_file
from gapbook.deploy.to_be_made import to_be_made
from gapbook.deploy.warden import bare_environment
from gapbook.errors import SetupError
from gapbook.paths import cache_directory
from gapbook.streams import say

__all__ = ["PrebuiltProgram"]

_HASH_CHARACTERS = 16
_MOST_BYTES = 4 * 1000**3
_MAY_RUN = 0o755


@dataclass(frozen=True)
class PrebuiltProgram:
    """The server program of one archive, for the processor of this machine."""

    archive: Published
    system: str
    members: frozenset[str]
    program: str

    @classmethod
    def of(cls, system: str, prebuilt: Prebuilt, version: str) -> Self:
        """The program of a version as a stack.toml declares it under ``native.prebuilt``; raises SetupError where
        there is none for this version, this processor or this C library."""
        title = f"{system} {version}"
        if version not in prebuilt.sha256:
            raise SetupError(
                f"{title}: no archive of it is pinned by its hash; there are: {', '.join(prebuilt.sha256)}"
            )
        machine = platform.machine()
        hashes = {str(processor): sha256 for processor, sha256 in prebuilt.sha256[version].items()}
        if machine not in hashes:
            raise SetupError(f"{title}: no archive for {machine} is pinned by its hash")
        if not _is_glibc():
            raise SetupError(f"{title}: its makers compile it for glibc, which is not the C library here")
        asset = {str(processor): name for processor, name in prebuilt.asset.items()}[machine]
        addresses = tuple(
            address.replace("VERSION", version).replace("ASSET", asset) for address in prebuilt.addresses
        )
        return cls(
            Published(title, asset, version, hashes[machine], addresses),
            system,
            frozenset(prebuilt.members),
            prebuilt.program,
        )

    @property
    def folder(self) -> Path:
        """Where the program's folder is, or would be."""
        name = f"{self.system}-{self.archive.version}-{self.archive.sha256[:_HASH_CHARACTERS]}"
        return cache_directory() / "build" / name

    @property
    def path(self) -> Path:
        """Where the program is, or would be."""
        return self.folder / "bin" / self.program

    def install(self, version_of: Callable[[Path], str]) -> None:
        """Fetch and unpack it, unless it is there; ``version_of`` asks the program itself before it is used.

        It is there whole or not at all, whatever ends this. Raises SetupError where it cannot be had, where the
        archive holds what it should not, or where the program does not run here; OSError of a disk that is full.
        """
        # Archives of all versions have one name.
        with to_be_made("downloads", self.path.is_file) as absent:
            if not absent:
                return
            archive = fetched(self.archive, cache_directory() / "downloads")
            partial = self.folder.with_name(f"{self.folder.name}.partial")
            shutil.rmtree(partial, ignore_errors=True)
            try:
                program = partial / "bin" / self.program
                program.parent.mkdir(parents=True)
                self._unpack(archive, program)
                self._require_version(version_of(program))
                built_file(program).write_text(f"{self._built()}\n", encoding="utf-8")
                # A folder without its program is of no use to anybody.
                shutil.rmtree(self.folder, ignore_errors=True)
                partial.rename(self.folder)
            finally:
                shutil.rmtree(partial, ignore_errors=True)
            archive.unlink()
        say(f"{self.archive.title}: done, {self.path}")

    def _built(self) -> str:
        return f"prebuilt by its makers: {self.archive.name} of v{self.archive.version}, sha256 {self.archive.sha256}"

    def _require_version(self, said: str) -> None:
        if said != self.archive.version:
            raise SetupError(
                f"{self.archive.title}: the program in {self.archive.name} says that it is {said}"
            )

    def _unpack(self, archive: Path, program: Path) -> None:
        """Write the program out of the archive; raises SetupError where this holds anything but the files that it
        should, each once and beside the others."""
        seen: set[str] = set()
        try:
            with tarfile.open(archive, "r:gz") as opened:
                for member in opened:
                    if member.name in seen or member.name not in self.members or not member.isreg():
                        raise self._refused(f"it holds {_kind(member)} {member.name[:80]!r}")
                    if member.size > _MOST_BYTES:
                        raise self._refused(f"{member.name} has {member.size / 1e9:.1f} GB")
                    seen.add(member.name)
                    if member.name == self.program:
                        self._write(opened, member, program)
        except (tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError) as error:
            raise self._refused(str(error) or type(error).__name__) from error
        if seen != self.members:
            raise self._refused(f"it lacks {', '.join(sorted(self.members - seen))}")

    def _write(self, opened: tarfile.TarFile, member: tarfile.TarInfo, program: Path) -> None:
        source = opened.extractfile(member)
        if source is None:
            raise tarfile.ReadError(f"{member.name} has no content")
        unpacked = program.with_name(f"{program.name}.unpacked")
        with source, unpacked.open("xb") as file:
            shutil.copyfileobj(source, file, 1 << 20)
        self._copy(unpacked, program)
        unpacked.unlink()
        program.chmod(_MAY_RUN)

    def _copy(self, unpacked: Path, program: Path) -> None:
        """Write a program in a process of its own.

        Processes that are forked here meanwhile, as those that execute the book's pages, keep what is open for writing, and
        Linux executes no such file as long as they live (execve(2), ETXTBSY).
        """
        copied = subprocess.run(
            ["cp", "--", unpacked, program],
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            errors="replace",
            env=bare_environment(),
            check=False,
        )
        if copied.returncode:
            raise self._refused(copied.stderr.strip().partition("\n")[0])
        with program.open("rb") as written:
            # A power cut after the rename leaves no empty program.
            os.fsync(written.fileno())

    def _refused(self, why: str) -> SetupError:
        return SetupError(f"{self.archive.title}: {self.archive.name} was not unpacked: {why}")


def _kind(member: tarfile.TarInfo) -> str:
    if member.issym() or member.islnk():
        return "a link"
    return "a file" if member.isreg() else "what is no file,"


def _is_glibc() -> bool:
    try:
        return "glibc" in (os.confstr("CS_GNU_LIBC_VERSION") or "")
    except (ValueError, OSError):
        return False
