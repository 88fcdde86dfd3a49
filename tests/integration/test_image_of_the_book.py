"""The image that the Dockerfile at the top makes: built here on plain Debian, and a page made in it.

What measures in it, with its compilers, is built for readers alone. Where no engine answers, this is skipped, and
says why.
"""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from gapbook.deploy.engine import Engine
from gapbook.deploy.images import here, plain_debian
from gapbook.package_index import read_settings
from gapbook.paths import CHECKOUT

_IMAGE = "gapbook/book:tested"
_BASE = "gapbook/debian:of-the-house"
_CERTIFICATES = Path("/usr/local/share/ca-certificates")
_BUILD_WITHIN_S = 1_800
_CHAPTER = "trailbase-one-number"
_AS_A_READER = f"""
set -eu
test "$(id -un)" = reader
make --question .venv/.ready
gapbook doctor || test $? = 1
jupyter lab --version
gapbook run {_CHAPTER} -p source=published
"""


def _base_of_the_house(engine: Engine) -> str:
    """Plain Debian with the certificates that this machine's administrator added, as Dockerfile asks for them."""
    sent = io.BytesIO()
    with tarfile.open(fileobj=sent, mode="w") as archive:
        written = f"FROM {plain_debian(engine).reference}\nCOPY certificates {_CERTIFICATES}\n".encode()
        told = tarfile.TarInfo("Dockerfile")
        told.size = len(written)
        archive.addfile(told, io.BytesIO(written))
        archive.add(_CERTIFICATES, "certificates")
    sent.seek(0)
    engine.images.build(fileobj=sent, custom_context=True, tag=_BASE, rm=True, forcerm=True)
    return _BASE


def _of_this_machine() -> dict[str, str]:
    """The arguments of the build: where packages come from on this machine."""
    listed = subprocess.run(
        [sys.executable, "-I", "-m", "pip", "config", "list"],
        stdout=subprocess.PIPE,
        encoding="utf-8",
        check=True,
    ).stdout
    settings = read_settings(listed)
    indexes = {f"PIP_{name.upper().replace('-', '_')}": settings.get(name, "") for name in
               ("index-url", "extra-index-url", "trusted-host")}  # fmt: skip
    proxies = {name: os.environ.get(name, "") for name in ("http_proxy", "https_proxy", "no_proxy")}
    return {name: value for name, value in {**indexes, **proxies}.items() if value}


@pytest.fixture(name="image", scope="module")
def _image(engine_with_debian: Engine) -> str:
    """Layers are kept by the engine: what is not changed is not built again."""
    engine = engine_with_debian
    older = here(engine, _IMAGE)
    engine.images.build(
        path=str(CHECKOUT),
        target="pages",
        tag=_IMAGE,
        buildargs={"BASE": _base_of_the_house(engine), **_of_this_machine()},
        rm=True,
        forcerm=True,
        network_mode="host",
        timeout=_BUILD_WITHIN_S,
    )
    newer = here(engine, _IMAGE)
    assert newer is not None
    if older is not None and older.id != newer.id:
        engine.images.remove(older.id, force=True)
    return _IMAGE


def test_a_reader_in_the_container_sees_what_is_missing_and_makes_a_page_without_a_network(
    engine: Engine, image: str
) -> None:
    container = engine.containers.run(
        image, ["sh", "-c", _AS_A_READER], detach=True, network_mode="none", cap_drop=["ALL"], init=True
    )
    try:
        code = container.wait(timeout=_BUILD_WITHIN_S)["StatusCode"]
        said = container.logs().decode(errors="replace")
    finally:
        container.remove(v=True, force=True)
    assert code == 0, said
    assert re.search(r"^  here     server of postgres: postgres \(PostgreSQL\) \d", said, re.MULTILINE)
    assert "  MISSING  cargo: cargo is missing; install it: " in said
    assert f"\npage: /kept/build/yours/_build/html/notebooks/{_CHAPTER}.html\n" in said


def test_editors_open_the_same_image_as_the_same_user() -> None:
    written = json.loads((CHECKOUT / ".devcontainer" / "devcontainer.json").read_text(encoding="utf-8"))
    dockerfile = (CHECKOUT / ".devcontainer" / written["build"]["dockerfile"]).resolve()
    assert dockerfile == CHECKOUT / "Dockerfile"
    lines = dockerfile.read_text(encoding="utf-8").splitlines()
    assert lines[-1] == f"USER {written['remoteUser']}"
    assert f"WORKDIR {written['workspaceFolder']}" in lines
    assert any(mount.startswith("source=gapbook,target=/kept,") for mount in written["mounts"])
    assert "VOLUME /kept" in lines
