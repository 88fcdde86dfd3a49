"""Images: those of a system's makers, pulled by a pinned tag, and our own, built on plain Debian.

An image of ours holds the very program that runs natively, so that a container differs from a process in
nothing but the container. Images are kept, as all that is expensive to make.
"""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import docker.errors

from gapbook.deploy.deployment import Deployment
from gapbook.deploy.engine import ENGINE_FAULTS, Engine, engine_errors, one_line_reason
from gapbook.deploy.toolchain import require_tool, run_step
from gapbook.errors import SetupError
from gapbook.locks import taking_turns
from gapbook.paths import cache_directory, hash_files
from gapbook.streams import say

__all__ = ["Image", "built_image", "here", "plain_debian", "pulled_image"]

_BASE = "debian:bookworm-slim"
_OWN_BASE = "gapbook/debian:bookworm"
_BASE_EXPECTED_S = 90.0
_BUILT_FROM = "built from {base} with the program that runs natively"


@dataclass(frozen=True)
class Image:
    """An image of this engine. ``digest`` is what its registry calls it by, None for one that was built or loaded
    here; ``id`` is the hash of its content in either case. ``built`` says how an image of ours was made."""

    reference: str
    id: str
    digest: str | None = None
    built: str | None = None


def here(engine: Engine, reference: str) -> Image | None:
    """The image that the engine has by that name; None when it has none."""
    with engine_errors(f"docker: look for image {reference}"):
        try:
            found = engine.images.get(reference)
        except docker.errors.ImageNotFound:
            return None
    return _told(found, reference)


def pulled_image(engine: Engine, reference: str, *, title: str, otherwise: str) -> Image:
    """The image of that name, pulled unless it is here; raises SetupError where it cannot be, with what else can
    be done (``otherwise``)."""
    found = here(engine, reference)
    if found is not None:
        return found
    say(f"{title}: pulling image {reference}")
    try:
        return _told(engine.images.pull(reference), reference)
    except ENGINE_FAULTS as error:
        raise SetupError(
            f"{title}: image {reference} cannot be pulled on this machine ({one_line_reason(error)}); {otherwise}"
        ) from error


def built_image(engine: Engine, name: str, folder: Path, program: Mapping[str, Path]) -> Image:
    """The image of ours for a system: built from ``folder`` (its Dockerfile) with ``program``, files and folders
    by their names in the build, unless one of the same content is here. Raises SetupError."""
    base = plain_debian(engine)
    key = hashlib.sha256(base.id.encode() + _content(folder, program).encode()).hexdigest()[:12]
    reference, built = (
        f"gapbook/{name}:{key}",
        _BUILT_FROM.format(base=f"{base.reference} ({base.digest or base.id})"),
    )
    found = here(engine, reference)
    if found is None:
        say(f"{name}: building image {reference}")
        found = _built(engine, name, reference, base, _context(folder, program))
    return Image(reference, found.id, built=built)


def _built(engine: Engine, name: str, reference: str, base: Image, context: io.BytesIO) -> Image:
    try:
        made, _ = engine.images.build(
            fileobj=context,
            custom_context=True,
            tag=reference,
            buildargs={"BASE": base.reference},
            rm=True,
            forcerm=True,
            network_mode="host",
        )
    except ENGINE_FAULTS as error:
        raise SetupError(f"{name}: its image cannot be built ({one_line_reason(error)})") from error
    return _told(made, reference)


def _told(found: Any, reference: str) -> Image:
    digests = found.attrs.get("RepoDigests") or []
    return Image(reference, str(found.id), digests[0].partition("@")[2] if digests else None)


def _content(folder: Path, program: Mapping[str, Path]) -> str:
    """One hash over all that is built in."""
    parts = [hash_files((path for path in folder.rglob("*") if path.is_file()), folder)]
    for name, path in sorted(program.items()):
        files = [path] if path.is_file() else [inner for inner in path.rglob("*") if inner.is_file()]
        parts += [name, hash_files(files, path.parent)]
    return " ".join(parts)


def _context(folder: Path, program: Mapping[str, Path]) -> io.BytesIO:
    """What the engine is sent to build from."""
    sent = io.BytesIO()
    with tarfile.open(fileobj=sent, mode="w") as archive:
        for path in sorted(folder.iterdir()):
            archive.add(path, path.name)
        for name, path in program.items():
            archive.add(path, f"program/{name}")
    sent.seek(0)
    return sent


# --- plain Debian -----------------------------------------------------------------------------
def plain_debian(engine: Engine) -> Image:
    """Plain Debian: as its makers publish it, else put together from its packages. Raises SetupError."""
    # Two that want it at the same time make it once.
    with taking_turns(cache_directory() / "images"):
        for reference in (_BASE, _OWN_BASE):
            found = here(engine, reference)
            if found is not None:
                return found
        try:
            return pulled_image(engine, _BASE, title="plain Debian", otherwise="")
        except SetupError as error:
            return _bootstrapped(engine, str(error).rstrip("; "))


def _bootstrapped(engine: Engine, why: str) -> Image:
    if os.geteuid() != 0:
        raise SetupError(f"{why}; as root it is put together from Debian's packages instead")
    try:
        debootstrap = require_tool("debootstrap", "apt-get install debootstrap")
    except SetupError as error:
        raise SetupError(f"{why}; to put it together from its packages instead: {error}") from error
    with Deployment() as deployment:
        root, archive = deployment.directory / "debian", deployment.directory / "debian.tar"
        command: list[str | Path] = [debootstrap, "--variant=minbase", "bookworm", root]
        run_step("plain Debian from its packages", command, expected_s=_BASE_EXPECTED_S)
        deployment.run(["tar", "--numeric-owner", "-cf", archive, "-C", root, "."], name="tar", timeout_s=300)
        repository, _, tag = _OWN_BASE.partition(":")
        with engine_errors("plain Debian: import"):
            engine.api.import_image_from_file(str(archive), repository=repository, tag=tag)
    found = here(engine, _OWN_BASE)
    if found is None:
        raise SetupError(f"plain Debian: the engine did not keep image {_OWN_BASE} that it was given")
    return found
