"""A disk whose power is cut: what the harness can do with it, and that nothing stays mounted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import psycopg
import pytest

from gapbook.deploy.deployment import Deployment
from gapbook.deploy.power_cut import PowerCutDisk, power_cut_disk, require_power_cuts
from gapbook.deploy.stack import Stack, StackContext, stack_class
from gapbook.errors import SetupError, StackError
from gapbook.paths import CHECKOUT
from gapbook.record.durability import Durability
from tests.bank import balances_of, seed_bank

_ACCOUNTS = 10
_BALANCE = 1000
_GONE_WITHIN_S = 20.0


@pytest.fixture(autouse=True)
def _can_mount() -> None:
    try:
        require_power_cuts()
    except SetupError as error:
        pytest.skip(str(error))


@pytest.fixture(name="disk")
def _disk(deployment: Deployment) -> Iterator[PowerCutDisk]:
    with power_cut_disk(deployment) as disk:
        yield disk


def _mounts() -> list[str]:
    return [
        line.split(" ")[4] for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()
    ]


def _written(path: Path, text: str, *, sync: bool) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        if sync:
            os.fsync(file.fileno())


def test_a_cut_takes_what_was_not_synced_and_power_comes_back(disk: PowerCutDisk) -> None:
    _written(disk.folder / "synced", "kept", sync=True)
    _written(disk.folder / "unsynced", "lost", sync=False)
    assert disk.stats().unsynced_bytes == len("lost")
    assert [path.name for path in disk.durable.iterdir()] == ["synced"]
    report = disk.cut()
    assert report.bytes_dropped == len("lost")
    assert abs(report.at_ns - time.monotonic_ns()) < 60e9
    with pytest.raises(OSError, match="Input/output error"):
        _written(disk.folder / "late", "", sync=False)
    disk.restore()
    assert [path.name for path in disk.folder.iterdir()] == ["synced"]
    assert (disk.folder / "synced").read_text(encoding="utf-8") == "kept"


def test_an_orderly_restart_loses_nothing(disk: PowerCutDisk) -> None:
    _written(disk.folder / "unsynced", "kept", sync=False)
    disk.restore()
    assert (disk.folder / "unsynced").read_text(encoding="utf-8") == "kept"


def test_faults_of_the_disk_reach_who_writes(disk: PowerCutDisk) -> None:
    disk.fail_fsync(contains="log")
    _written(disk.folder / "other", "x", sync=True)
    with pytest.raises(OSError, match="Input/output error"):
        _written(disk.folder / "log", "x", sync=True)
    disk.fill(10)
    _written(disk.folder / "small", "0123456789", sync=True)
    with pytest.raises(OSError, match="No space left"):
        _written(disk.folder / "large", "0", sync=True)


def test_a_refused_command_and_a_dead_layer_are_said_in_one_line(disk: PowerCutDisk) -> None:
    disk.cut()
    with pytest.raises(StackError, match=r"power cuts of .*/disk: cut: the power is off"):
        disk.cut()
    disk.process.popen.kill()
    disk.process.popen.wait()
    with pytest.raises(StackError, match=r"power-cut ended with code -9|power cuts of .*: not ready"):
        disk.stats()


def test_a_layer_that_was_killed_can_be_mounted_again_with_what_was_durable(disk: PowerCutDisk) -> None:
    _written(disk.folder / "synced", "kept", sync=True)
    disk.process.popen.kill()
    disk.process.popen.wait()
    disk.restore()
    assert (disk.folder / "synced").read_text(encoding="utf-8") == "kept"
    _written(disk.folder / "later", "kept", sync=True)
    assert sorted(path.name for path in disk.durable.iterdir()) == ["later", "synced"]


def test_nothing_stays_mounted(deployment: Deployment) -> None:
    with power_cut_disk(deployment, name="in-order") as disk:
        assert str(disk.folder) in _mounts()
    assert str(disk.folder) not in _mounts()
    with power_cut_disk(deployment, name="killed") as disk:
        disk.process.popen.kill()
        disk.process.popen.wait()
        assert str(disk.folder) in _mounts()
    assert str(disk.folder) not in _mounts()
    with power_cut_disk(deployment, name="in-use") as disk:
        held = os.open(disk.folder / "held", os.O_CREAT | os.O_WRONLY)
        disk.cut()
        disk.switch_off()
        assert str(disk.folder) not in _mounts()
        with pytest.raises(OSError, match="not connected"):
            os.close(held)


_OWNER = """
import os, sys, time
from gapbook.deploy.deployment import Deployment
from gapbook.deploy.power_cut import power_cut_disk
with Deployment() as deployment, power_cut_disk(deployment) as disk:
    (disk.folder / "file").write_text("x")
    print(disk.folder, flush=True)
    time.sleep(600)
"""


@pytest.mark.parametrize("also", ["nothing else", "the layer too"])
def test_the_mount_goes_when_its_owner_is_killed(data_folder: Path, also: str) -> None:
    owner = subprocess.Popen(
        [sys.executable, "-c", _OWNER],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(CHECKOUT), "GAPBOOK_DATA": str(data_folder)},
        encoding="utf-8",
    )
    assert owner.stdout is not None
    folder = owner.stdout.readline().strip()
    assert folder in _mounts()
    if also == "the layer too":
        for pid in map(int, _children(owner.pid)):
            if b"--mount" in Path(f"/proc/{pid}/cmdline").read_bytes():
                os.kill(pid, signal.SIGKILL)
    owner.kill()
    owner.wait()
    owner.stdout.close()
    deadline = time.monotonic() + _GONE_WITHIN_S
    while (folder in _mounts() or Path(folder).parent.exists()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert folder not in _mounts()
    assert not Path(folder).parent.exists()


def _children(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8").split()


def _transfer(stack: Stack) -> None:
    at = stack.endpoint()
    with psycopg.connect(
        host=at["host"],
        port=at["port"],
        user=at["user"],
        password=at["password"],
        dbname=at["database"],
        autocommit=True,
    ) as client:
        assert client.execute("SELECT transfer(0, 1, 1)").fetchone() == (1,)


@pytest.mark.parametrize(
    ("durability", "survives"), [("fsync-per-commit", True), ("none", False)], ids=["on", "off"]
)
def test_postgres_loses_what_it_does_not_fsync_and_nothing_else(
    deployment: Deployment, disk: PowerCutDisk, durability: str, survives: bool
) -> None:
    context = StackContext(deployment, Durability(durability), storage=disk.folder)
    stack = stack_class("postgres")(context)
    stack.start()
    try:
        seed_bank(stack, _ACCOUNTS, _BALANCE)
        disk.sync()
        _transfer(stack)
        disk.cut()
        stack.kill()
        disk.restore()
        stack.recover()
        moved = 1 if survives else 0
        expected = np.full(_ACCOUNTS, _BALANCE)
        expected[:2] += [-moved, moved]
        assert balances_of(stack).tolist() == expected.tolist()
    finally:
        stack.stop()
