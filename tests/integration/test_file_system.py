"""The file system under a folder, told of real mounts."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from gapbook.deploy.file_system import file_system, size_unless_gone
from tests.running import mounted


@pytest.fixture(name="layered")
def _layered(tmp_path: Path) -> Iterator[Path]:
    """A folder whose writes go to memory, as the layer of a container whose engine keeps its images there."""
    place = tmp_path / "layered"
    with tempfile.TemporaryDirectory(dir="/dev/shm") as memory:
        parts = {name: Path(memory, name) for name in ("lowerdir", "upperdir", "workdir")}
        for folder in parts.values():
            folder.mkdir()
        options = ",".join(f"{name}={folder}" for name, folder in parts.items())
        with mounted("overlay", options, place):
            yield place


def test_what_an_overlay_keeps_in_memory_is_memory(layered: Path) -> None:
    assert file_system(layered) == file_system(Path("/dev/shm")) == "tmpfs"


def test_a_file_that_is_gone_has_no_size(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"abc")
    assert size_unless_gone(tmp_path / "log") == 3
    assert size_unless_gone(tmp_path / "journal") == 0
