"""Where no disk can be mounted, one line says what is missing, and rounds of cuts have a row with it."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from gapbook.deploy import power_cut
from gapbook.deploy.deployment import Deployment
from gapbook.deploy.power_cut import require_power_cuts
from gapbook.deploy.stack import Stack
from gapbook.errors import SetupError
from gapbook.record.durability import Durability
from gapbook.trial.contestant import Contestant
from gapbook.trial.cut_check import cut_check
from gapbook.trial.scenario import Scenario
from tests.bank import alphas, bank

_LAYER = """#!/bin/sh
[ "$1" = --unmount ] && exit
echo 'mount: Operation not permitted' >&2
exit 1
"""


@pytest.fixture(name="as_root", autouse=True)
def _as_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)


def test_a_device_that_is_not_there_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(power_cut, "_DEVICE", tmp_path / "fuse")
    with pytest.raises(SetupError) as caught:
        require_power_cuts()
    assert str(caught.value).startswith(f"power cuts: {tmp_path}/fuse: No such file or directory; they need")
    assert "\n" not in str(caught.value)


def test_a_device_that_may_not_be_opened_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_arguments: object) -> int:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", refuse)
        with pytest.raises(SetupError) as caught:
            require_power_cuts()
    assert str(caught.value).startswith("power cuts: /dev/fuse: Operation not permitted; they need a kernel")
    assert "the capability SYS_ADMIN" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_who_is_not_root_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(SetupError, match=r"^power cuts: only root may mount; run gapbook as root$"):
        require_power_cuts()


def test_a_mount_that_is_refused_is_a_row_with_the_reason(
    tmp_path: Path, data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    layer = tmp_path / "layer"
    layer.write_text(_LAYER, encoding="utf-8")
    layer.chmod(0o755)
    monkeypatch.setattr(power_cut, "require_power_cuts", lambda: None)
    monkeypatch.setattr(power_cut, "rust_binary", lambda program, kind: layer)
    contestant = Contestant("sqlite", "sqlite", "sql", "in-process", "rust", 1)
    scenario = Scenario(
        chapter="cut",
        contestants=(contestant,),
        workload=bank(100),
        treatment=alphas(0.5),
        connections=2,
        window_s=1.0,
        warmup_s=0.2,
        durability=Durability("fsync-per-commit"),
        seed=1,
    )

    def start(disk: power_cut.PowerCutDisk) -> Stack:
        raise AssertionError(f"{disk.folder} was mounted")

    with Deployment() as deployment:
        (row,) = cut_check(contestant, scenario, deployment, start, rounds=(0, 1))
        assert not [path for path in deployment.directory.iterdir() if path.name.startswith("disk")]
    assert (row.round, row.load_s, row.left, row.verdict) == (0, None, "unknown", "not resolved")
    assert row.note is not None
    assert "disk: not ready: mount: Operation not permitted" in row.note
    assert "\n" not in row.note
    assert not list(data_folder.iterdir())
