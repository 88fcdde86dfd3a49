"""The committed wasm module and its source belong together, and the check sees it when they do not."""

from __future__ import annotations

import runpy
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from gapbook.paths import CHECKOUT

_MODULE = CHECKOUT / "modules" / "spacetimedb"


@pytest.fixture(name="drift")
def _drift() -> Callable[[Path], str | None]:
    # run_path leaves no bytecode in the module's folder, whose files are hashed into every record.
    check: Callable[[Path], str | None] = runpy.run_path(str(_MODULE / "check.py"))["drift"]
    return check


@pytest.fixture(name="copy")
def _copy(tmp_path: Path) -> Path:
    return Path(shutil.copytree(_MODULE, tmp_path / "module", ignore=shutil.ignore_patterns("target")))


@pytest.mark.parametrize("program", ["", "hash"])
def test_committed_module_has_not_drifted(drift: Callable[[Path], str | None], program: str) -> None:
    assert drift(_MODULE / program) is None


@pytest.mark.parametrize("name", ["bank.wasm", "src/lib.rs", "Cargo.lock", "Cargo.toml", "build.sh"])
def test_one_changed_byte_is_named(drift: Callable[[Path], str | None], copy: Path, name: str) -> None:
    content = bytearray((copy / name).read_bytes())
    content[len(content) // 2] ^= 1
    (copy / name).write_bytes(content)

    message = drift(copy)

    assert message is not None
    assert message.startswith(f"{name}: sha256 is ")
    assert "build.sh" in message
    assert "\n" not in message


def test_new_source_file_is_named(drift: Callable[[Path], str | None], copy: Path) -> None:
    (copy / "src" / "fees.rs").write_text("pub const FEE: u32 = 1;\n")
    message = drift(copy)
    assert message is not None
    assert "src/fees.rs" in message


def test_missing_file_is_named(drift: Callable[[Path], str | None], copy: Path) -> None:
    (copy / "bank.wasm").unlink()
    message = drift(copy)
    assert message is not None
    assert message.startswith("bank.wasm: sha256 is missing")


def test_checksum_file_must_agree(drift: Callable[[Path], str | None], copy: Path) -> None:
    (copy / "bank.wasm.sha256").write_text(f"{'0' * 64}  bank.wasm\n")
    message = drift(copy)
    assert message is not None
    assert message.startswith("bank.wasm.sha256: ")


def test_broken_record_is_one_line(drift: Callable[[Path], str | None], copy: Path) -> None:
    (copy / "bank.wasm.toml").write_text("wasm_sha256 =\n")
    message = drift(copy)
    assert message is not None
    assert "build record cannot be read" in message
    assert "\n" not in message


def test_binary_holds_no_path_of_the_machine_that_built_it() -> None:
    program = (_MODULE / "bank.wasm").read_bytes()
    for trace in (b"/home/", b"/root/", b"/Users/", b"/tmp/", b".cargo", b"registry/src"):
        assert trace not in program
