"""What a chapter installs: the systems that its code names, those on demand among them."""

from __future__ import annotations

import hashlib
import json
import platform
import zipfile
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gapbook import cli
from gapbook.book.chapters import chapters, words_of_code
from gapbook.declared.stack import WheelTool
from gapbook.deploy import setup, wheels
from gapbook.deploy.on_demand import systems_on_demand
from gapbook.deploy.stack import Stack, discover_stacks
from gapbook.deploy.toolchain import node_path
from gapbook.deploy.wheels import WheelProgram
from gapbook.errors import SetupError


def test_a_chapter_names_its_systems() -> None:
    assert {"trailbase", "pocketbase", "payload", "sqlite"} <= words_of_code("trailbase-family")
    assert "trailbase" not in words_of_code("convex-vs-spacetimedb")
    assert all(words_of_code(chapter) & set(discover_stacks()) for chapter in chapters())


class _Installed:
    """Stacks and steps that write down what would be installed, into a cache of their own."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
        monkeypatch.setenv("GAPBOOK_CACHE", str(cache))
        self.systems: list[str] = []
        self.folders: list[str] = []
        for name, stack in discover_stacks().items():
            monkeypatch.setattr(stack, "install_for", self._installer(name))
        monkeypatch.setattr(setup, "build_rust_clients", lambda: None)
        monkeypatch.setattr(
            setup,
            "install_node_packages",
            lambda folder: self.folders.append(folder.parent.name + "/" + folder.name),
        )

    def _installer(self, name: str) -> Any:
        return classmethod(lambda _cls, _named: self.systems.append(name))


def test_a_plain_setup_installs_nothing_that_is_on_demand(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    installed = _Installed(monkeypatch, tmp_path)
    setup.set_up()
    on_demand = {name for name, stack in discover_stacks().items() if stack.facts.on_demand}
    assert on_demand == systems_on_demand()
    assert on_demand
    assert set(installed.systems) == set(discover_stacks()) - on_demand
    assert "modules/payload" not in installed.folders
    assert "modules/postgres" in installed.folders


def test_a_chapter_installs_what_it_names_and_no_other_system(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    installed = _Installed(monkeypatch, tmp_path)
    setup.set_up(named={"payload", "sqlite", "no system"})
    assert sorted(installed.systems) == ["payload", "sqlite"]
    assert {"modules/payload", "modules/sqlite", "clients/node"} <= set(installed.folders)
    assert "modules/postgres" not in installed.folders


def test_packages_that_cannot_be_put_beside_their_code_are_told_before_anything_is_installed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    installed = _Installed(monkeypatch, tmp_path)
    monkeypatch.setattr(setup, "can_be_written", lambda _folder: False)
    monkeypatch.setattr(setup, "_node_packages_installed", lambda folder: folder.name != "payload")
    setup.set_up(named={"sqlite"})
    with pytest.raises(
        SetupError, match=r"Node packages are missing and cannot be written in modules/payload of "
    ):
        setup.set_up(named={"sqlite", "payload"})
    assert installed.systems == ["sqlite"]


def test_what_is_missing_and_costs_are_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _Installed(monkeypatch, tmp_path)

    def absent(_cls: type[Stack], _choice: object) -> None:
        raise SetupError("not here")

    for name in ("pocketbase", "postgres"):
        monkeypatch.setattr(discover_stacks()[name], "locate", classmethod(absent))
    assert setup.absent_on_demand({"pocketbase", "postgres"}) == ["pocketbase"]
    setup.set_up(named={"pocketbase"})
    assert "PocketBase: three wheels are fetched, 43 MB" in capsys.readouterr().out


def test_what_node_packages_run_finds_the_node_of_the_environment_on_a_machine_without_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    package = {"name": "asks", "version": "1.0.0"}
    scripts = {"postinstall": "node --print process.execPath > said.txt"}
    (tmp_path / "package.json").write_text(json.dumps({**package, "scripts": scripts}), encoding="utf-8")
    lock = {**package, "lockfileVersion": 3, "packages": {"": {**package, "hasInstallScript": True}}}
    (tmp_path / "package-lock.json").write_text(json.dumps(lock), encoding="utf-8")
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "sh").symlink_to("/bin/sh")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("GAPBOOK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(setup, "CHECKOUT", tmp_path)
    setup.install_node_packages(tmp_path)
    assert (tmp_path / "said.txt").read_text(encoding="utf-8").strip() == str(node_path())


def test_doctor_says_once_how_to_get_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("GAPBOOK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(setup, "_node_packages_installed", lambda _folder: False)
    monkeypatch.setattr(setup, "optional", list)
    assert cli.main(["doctor"]) == 1
    missing = [line for line in capsys.readouterr().out.splitlines() if line.startswith("  MISSING")]
    assert len(missing) > 5
    remedies = ("run: ", "install it", "https://", "get it")
    for line in missing:
        assert any(remedy in line for remedy in remedies), line
        assert "get it: " not in line
        assert line.count("make setup") < 2


# --- programs of wheels -----------------------------------------------------------------------
def _native(content: bytes, machine: str = "x86_64") -> WheelTool:
    wheel = {"sha256": hashlib.sha256(content).hexdigest(), "megabytes": 1}
    return msgspec.convert(
        {"package": "tool-bin", "program": "tool", "wheels": {"1.0": {machine: wheel}}}, WheelTool
    )


def test_a_wheel_is_unpacked_and_its_program_can_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GAPBOOK_CACHE", str(tmp_path))
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    program = WheelProgram.of(_native(b"a wheel"), "1.0")

    def fetched(_title: str, command: list[Any], **_settings: Any) -> None:
        folder = Path(command[command.index("--dest") + 1])
        wanted = Path(command[command.index("--requirement") + 1])
        assert wanted.read_text(encoding="utf-8") == f"tool-bin==1.0 --hash=sha256:{program.sha256}\n"
        with zipfile.ZipFile(folder / "tool_bin-1.0-py3-none-any.whl", "w") as archive:
            archive.writestr("tool_bin-1.0.data/scripts/tool", "#!/bin/sh\n")

    monkeypatch.setattr(wheels, "run_step", fetched)
    assert not program.path.is_file()
    program.install()
    assert program.path.stat().st_mode & 0o111
    monkeypatch.setattr(wheels, "run_step", lambda *_: pytest.fail("fetched again"))
    program.install()


@pytest.mark.parametrize(
    ("version", "machine", "words"),
    [
        ("2.0", "x86_64", "no wheel of 2.0; there are: 1.0"),
        ("1.0", "sparc", "no wheel for sparc; there are: x86_64"),
    ],
)
def test_a_wheel_that_is_not_there_is_refused_by_name(
    version: str, machine: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: machine)
    with pytest.raises(SetupError, match=words):
        WheelProgram.of(_native(b"a wheel"), version)
