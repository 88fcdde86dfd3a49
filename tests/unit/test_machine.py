"""What a run says of the machine that it was measured on."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from gapbook.deploy.fsync_test import fsync_test
from gapbook.errors import RecordError
from gapbook.pages.proof.on_what import machine_table
from gapbook.record.kind import kind_of, kind_words, other_kind
from gapbook.record.machine import Machine, Usable
from gapbook.trial.facts import code_version, deployed, machine, processor_of, require_same_kind
from tests.unit import stored_runs as runs

_ZEN_1 = "processor\t: 0\ncpu family\t: 23\nmodel\t\t: 1\nmodel name\t: AMD EPYC\nflags\t\t: fpu"
_ZEN_3 = _ZEN_1.replace("23", "25")


def test_generations_that_a_hypervisor_gives_one_name_are_told_apart() -> None:
    assert processor_of(_ZEN_1) == "AMD EPYC (family 23, model 1)"
    assert processor_of(f"{_ZEN_3}\n\n{_ZEN_1}") == "AMD EPYC (family 25, model 1)"
    here = machine()
    with pytest.raises(
        RecordError, match=r"processor AMD EPYC \(family 25, model 1\), not AMD EPYC \(family 23"
    ):
        require_same_kind(
            replace(here, processor=processor_of(_ZEN_1)), replace(here, processor=processor_of(_ZEN_3))
        )


def test_a_processor_without_family_keeps_its_name_and_one_without_name_has_none() -> None:
    assert processor_of("processor\t: 0\nmodel name\t: ARMv7") == "ARMv7"
    assert processor_of("processor\t: 0\nCPU part\t: 0xd0c") is None


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"processors": (1,)}, "allowed processors 1, not 0, 1"),
        ({"quota_cores": 0.5}, "quota in cores 0.5, not none"),
        ({"memory_bytes": 2**30}, "memory limit in bytes 1,073,741,824, not none"),
    ],
)
def test_a_run_goes_on_only_where_it_may_use_the_same(changed: dict[str, Any], named: str) -> None:
    usable = Usable((0, 1), None, None)
    before = replace(machine(), usable=usable)
    require_same_kind(before, before)
    assert kind_of(before) == kind_of(replace(before, kernel="another"))
    assert msgspec.json.decode(msgspec.json.encode(machine()), type=Machine) == machine()
    there = replace(before, usable=replace(usable, **changed))
    with pytest.raises(RecordError, match=rf"another kind of machine \({named} here\)"):
        require_same_kind(before, there)
    assert kind_of(before) != kind_of(there)
    # What was not recorded is told from what is known.
    assert kind_of(replace(before, usable=None)) != kind_of(before)


def test_memory_that_a_kernel_keeps_for_itself_makes_no_other_kind() -> None:
    gibibyte = 2**30
    here = replace(machine(), memory_bytes=round(7.6 * gibibyte))
    for same in (7.1, 7.8, 8.0):
        assert kind_of(replace(here, memory_bytes=round(same * gibibyte))) == kind_of(here)
    for other in (6.9, 8.2, 15.5):
        assert kind_of(replace(here, memory_bytes=round(other * gibibyte))) != kind_of(here)
    assert other_kind(here, replace(here, memory_bytes=16 * gibibyte)) == "memory 16 GiB, not 8 GiB"


def test_a_kind_is_said_in_words() -> None:
    usable = Usable((1,), None, None)
    here = replace(
        machine(),
        processor="AMD EPYC (family 25, model 1)",
        processors=2,
        memory_bytes=2**33,
        file_system="ext4",
    )
    assert kind_words(replace(here, usable=None)) == "2 cores of AMD EPYC (family 25, model 1), 8 GiB, ext4"
    assert kind_words(replace(here, usable=usable)).startswith("1 of 2 cores of AMD EPYC ")


def test_a_boot_is_told_apart_by_a_hash_that_names_nothing() -> None:
    boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()
    told = machine()
    assert told.boot_sha256 == machine().boot_sha256
    assert boot not in str(told)


def test_a_session_records_how_fast_the_disk_is_and_the_page_says_so(tmp_path: Path) -> None:
    test = fsync_test(tmp_path)
    assert test is not None
    assert 0 < test.median_s <= test.p99_s
    assert list(tmp_path.iterdir()) == []
    # Where no server could write either, the servers tell it.
    assert fsync_test(tmp_path / "nowhere") is None
    begun = {"session": 0, "started_unix_s": 1.0, "clock_mhz": 2300.0, "fsync": msgspec.to_builtins(test)}
    begun["tier_programs"] = {"node": "v24.11.1", "bun": "1.4.5"}
    older = machine_table(runs.store(tmp_path / "older", runs.whole())).html
    newer = machine_table(runs.store(tmp_path / "newer", runs.whole(), deployments=[begun])).html
    assert older.count("not recorded") - newer.count("not recorded") == 3
    assert f"{test.median_s * 1e3:.2g} ms for 8,192 bytes" in newer
    assert "2,300 MHz" in newer
    assert "bun 1.4.5; node v24.11.1" in newer


def test_a_session_names_what_could_make_another_machine_differ() -> None:
    begun = deployed(3, machine(), {"node": "v24.11.1"})
    assert begun.session == 3
    assert begun.machine == machine()
    assert begun.fsync is not None
    assert begun.tier_programs == {"node": "v24.11.1"}
    enabled = Path("/proc/sys/kernel/sched_autogroup_enabled")
    if enabled.exists():
        assert begun.machine.autogroup is (enabled.read_text("ascii").strip() == "1")
    assert (
        begun.machine.clock_source
        == Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")
        .read_text(encoding="utf-8")
        .strip()
    )


# --- the code ---------------------------------------------------------------------------------
def _repository(folder: Path) -> Path:
    """A repository with one commit and nothing changed."""
    folder.mkdir()
    (folder / "file").touch()
    author = ["-c", "user.name=a", "-c", "user.email=a@localhost"]
    for words in (["init", "-q"], ["add", "."], [*author, "commit", "-qm", "first"]):
        subprocess.run(["git", "-C", str(folder), *words], check=True)
    return folder


def test_the_revision_is_that_of_this_checkout_or_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, theirs = _repository(tmp_path / "ours"), _repository(tmp_path / "theirs")
    inner = theirs / "unpacked"
    inner.mkdir()
    monkeypatch.setenv("GIT_DIR", str(theirs / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(theirs))
    for checkout, known in ((ours, True), (inner, False), (tmp_path, False)):
        monkeypatch.setattr("gapbook.trial.facts.CHECKOUT", checkout)
        found = code_version()
        assert (found.revision != "unknown") is known
        assert found.changed is False
    (ours / "file").write_text("changed", encoding="utf-8")
    monkeypatch.setattr("gapbook.trial.facts.CHECKOUT", ours)
    assert code_version().changed is True


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give a folder away")
def test_a_checkout_of_another_owner_has_a_revision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = _repository(tmp_path / "ours")
    for path in (ours, ours / ".git"):
        os.chown(path, 65534, 65534)
    monkeypatch.setattr("gapbook.trial.facts.CHECKOUT", ours)
    assert code_version().revision != "unknown"
    assert code_version().changed is False
