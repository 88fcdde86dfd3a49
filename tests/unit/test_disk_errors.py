"""What a disk refuses is said with the place that could not be written and the reason."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

import pytest

from gapbook.errors import StackError
from gapbook.trial.disk_errors import disk_errors


def test_file_that_cannot_be_made_is_said_with_its_reason(tmp_path: Path) -> None:
    wanted = tmp_path / "gone" / "log"
    with pytest.raises(StackError) as caught, disk_errors():
        wanted.touch()
    assert str(caught.value).startswith(f"run: {wanted}: No such file or directory; servers write to ")


def test_copy_of_a_folder_that_fails_names_where_it_was_written(tmp_path: Path) -> None:
    source, copy = tmp_path / "source", tmp_path / "copy"
    source.mkdir()
    (source / "gone").symlink_to(tmp_path / "nowhere")
    with pytest.raises(StackError) as caught, disk_errors():
        shutil.copytree(source, copy)
    assert str(caught.value).startswith(f"run: {copy / 'gone'}: No such file or directory; servers write to ")


def test_error_of_a_disk_without_a_place_is_said_alone() -> None:
    with pytest.raises(StackError) as caught, disk_errors():
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert str(caught.value).startswith("run: No space left on device; servers write to ")
