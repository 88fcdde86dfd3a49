"""The committed wasm programs and their sources belong together, and the check sees it when they do not."""

from __future__ import annotations

import runpy
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gapbook.paths import CHECKOUT

_MODULE = CHECKOUT / "modules" / "spacetimedb"
# run_path leaves no bytecode in the module's folder, whose files are hashed into every record.
_CHECK: dict[str, Any] = runpy.run_path(str(_MODULE / "check.py"))
_PROGRAMS: list[Path] = _CHECK["programs"]()


@pytest.fixture(name="drift")
def _drift(copy: Path) -> Callable[[], str | None]:
    """What the check says of the copy's program."""
    return lambda: _CHECK["drift"](copy / "transfer", copy)


@pytest.fixture(name="copy")
def _copy(tmp_path: Path) -> Path:
    return Path(shutil.copytree(_MODULE, tmp_path / "module", ignore=shutil.ignore_patterns("target")))


@pytest.mark.parametrize("program", _PROGRAMS, ids=lambda path: str(path.relative_to(_MODULE)))
def test_committed_program_has_not_drifted(program: Path) -> None:
    assert _CHECK["drift"](program) is None


def test_every_workload_has_its_program() -> None:
    assert {path.parent for path in _MODULE.glob("*/procedure.toml")} <= set(_PROGRAMS)


@pytest.mark.parametrize(
    "name",
    [
        "transfer/program.wasm",
        "transfer/src/lib.rs",
        "transfer/src/bank.rs",
        "transfer/Cargo.lock",
        "transfer/Cargo.toml",
        "build.sh",
    ],
)
def test_one_changed_byte_is_named(drift: Callable[[], str | None], copy: Path, name: str) -> None:
    content = bytearray((copy / name).read_bytes())
    content[len(content) // 2] ^= 1
    (copy / name).write_bytes(content)
    message = drift()
    assert message is not None
    assert message.startswith(f"{name}: sha256 is ")
    assert "build.sh transfer, or" in message
    assert "\n" not in message


def test_a_program_that_shares_a_source_drifts_with_it(copy: Path) -> None:
    assert _CHECK["drift"](copy / "transfer" / "hash", copy) is None
    with (copy / "transfer" / "src" / "bank.rs").open("a", encoding="utf-8") as shared:
        shared.write("\n")
    message = _CHECK["drift"](copy / "transfer" / "hash", copy)
    assert message.startswith("transfer/src/bank.rs: sha256 is ")


def test_new_source_file_is_named(drift: Callable[[], str | None], copy: Path) -> None:
    (copy / "transfer" / "src" / "fees.rs").write_text("pub const FEE: u32 = 1;\n", encoding="utf-8")
    message = drift()
    assert message is not None
    assert "transfer/src/fees.rs" in message


def test_missing_file_is_named(drift: Callable[[], str | None], copy: Path) -> None:
    (copy / "transfer" / "program.wasm").unlink()
    message = drift()
    assert message is not None
    assert message.startswith("transfer/program.wasm: sha256 is missing")


def test_checksum_file_must_agree(drift: Callable[[], str | None], copy: Path) -> None:
    (copy / "transfer" / "program.wasm.sha256").write_text(f"{'0' * 64}  program.wasm\n", encoding="utf-8")
    message = drift()
    assert message is not None
    assert message.startswith("transfer/program.wasm.sha256: ")


def test_broken_record_is_one_line(drift: Callable[[], str | None], copy: Path) -> None:
    (copy / "transfer" / "program.wasm.toml").write_text("wasm_sha256 =\n", encoding="utf-8")
    message = drift()
    assert message is not None
    assert "build record cannot be read" in message
    assert "\n" not in message


@pytest.mark.parametrize("program", _PROGRAMS, ids=lambda path: str(path.relative_to(_MODULE)))
def test_binary_holds_no_path_of_the_machine_that_built_it(program: Path) -> None:
    wasm = (program / "program.wasm").read_bytes()
    for trace in (b"/home/", b"/root/", b"/Users/", b"/tmp/", b".cargo", b"registry/src"):
        assert trace not in wasm
