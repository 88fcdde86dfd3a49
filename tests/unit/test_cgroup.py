"""What the kernel counts for a container is read the same from both versions of control groups."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gapbook.deploy import remove_containers
from gapbook.deploy.cgroup import ControlGroup, control_group


def test_both_versions_are_told_in_seconds_and_bytes(tmp_path: Path) -> None:
    (tmp_path / "cpu.stat").write_text("usage_usec 1500000\nuser_usec 1\n", encoding="utf-8")
    (tmp_path / "cpuacct.usage").write_text("1500000000\n", encoding="utf-8")
    unified = "anon 4096\nfile 999999\nfile_mapped 1024\n"
    older = "cache 999999\nrss 1\ntotal_rss 4096\ntotal_mapped_file 1024\n"
    for is_unified, memory in ((True, unified), (False, older)):
        (tmp_path / "memory.stat").write_text(memory, encoding="utf-8")
        group = ControlGroup(tmp_path, tmp_path, is_unified)
        assert group.cpu_s() == pytest.approx(1.5)
        assert group.memory_bytes() == 4096 + 1024


def test_a_process_outside_the_container_has_no_group_of_it() -> None:
    assert control_group(os.getpid(), "0" * 64) is None
    assert control_group(2**22 + 1, "0" * 64) is None


def test_only_a_label_of_ours_is_removed() -> None:
    ended = subprocess.run(
        [sys.executable, "-I", remove_containers.__file__, "x; rm", "unix:///nowhere"],
        capture_output=True,
        text=True,
        check=False,
        encoding="utf-8",
    )
    assert ended.returncode == 1
    assert ended.stderr.strip() == "'x; rm' is no label of ours"
