"""The server that its makers compiled: fetched by its hash from wherever it is, unpacked whole or not at all."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import signal
import ssl
import subprocess
import sys
import tarfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from faults.surroundings import fill, no_small_disk, small_disk
from gapbook.deploy import download, prebuilt, setup
from gapbook.deploy.server import ServerChoice
from gapbook.deploy.stack import Stack, stack_class
from gapbook.errors import SetupError
from tests.release_host import Host, archive_of, release_host, server_program

VERSION = "2.10.1"
ASSET = "spacetime-x86_64-unknown-linux-gnu.tar.gz"
SERVER, COMMAND = "spacetimedb-standalone", "spacetimedb-cli"
# As its makers pack it: two programs side by side. Random bytes, so that it is larger than one packet.
ARCHIVE = archive_of((COMMAND, os.urandom(300_000)), (SERVER, server_program(VERSION)))
_TLS = ssl.create_default_context()
FIRST, MIRROR = f"download/v{VERSION}/{ASSET}", f"refs/tags/v{VERSION}/{ASSET}"


class _Machine:
    """A cache, two addresses of the makers on loopback, and what would have been compiled."""

    def __init__(self, host: Host, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.host, self.cache, self._patch = host, cache, monkeypatch
        self.compiled: list[str] = []
        self.stack: type[Stack] = stack_class("spacetimedb")
        self.pin(ARCHIVE)
        module = sys.modules["gapbook_stack_spacetimedb.programs"]
        monkeypatch.setattr(
            module, "cargo_install", lambda crate, version, **_how: self.compiled.append(f"{crate} {version}")
        )

    def pin(self, archive: bytes) -> None:
        """What stack.toml says, with the hash of this archive and addresses on loopback."""
        facts = self.stack.facts
        native: Any = facts.native
        prebuilt = msgspec.structs.replace(
            native.prebuilt,
            sha256={VERSION: {"x86_64": hashlib.sha256(archive).hexdigest()}},
            addresses=(self.host.at("download/vVERSION/ASSET"), self.host.at("refs/tags/vVERSION/ASSET")),
        )
        changed = msgspec.structs.replace(facts, native=msgspec.structs.replace(native, prebuilt=prebuilt))
        self._patch.setattr(self.stack, "facts", changed)

    def install(self) -> None:
        self.stack.install_for(None)

    @property
    def installed(self) -> list[str]:
        """What is in the cache besides downloads, by name."""
        return sorted(path.name for path in (self.cache / "build").glob("*"))

    def require_fetched(self) -> None:
        server = self.stack.located(ServerChoice(version=VERSION))
        assert (server.version, self.compiled) == (VERSION, [])
        assert server.sha256 == hashlib.sha256(server_program(VERSION)).hexdigest()
        built = server.built or ""
        assert built.startswith(f"prebuilt by its makers: {ASSET} of v{VERSION}, sha256 ")
        assert self.downloads == []

    @property
    def downloads(self) -> list[str]:
        return sorted(path.name for path in (self.cache / "downloads").glob("[!.]*"))


@pytest.fixture(name="host")
def _host() -> Iterator[Host]:
    with release_host() as host:
        yield host


@pytest.fixture(name="machine")
def _machine(host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> _Machine:
    for name in (
        download.DOWNLOADS,
        "HTTP_PROXY",
        "http_proxy",
        "ALL_PROXY",
        "all_proxy",
        "NO_PROXY",
        "no_proxy",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GAPBOOK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(os, "confstr", lambda _name: "glibc 2.36")
    # Certificates, read once for all tests: nobody here speaks TLS.
    monkeypatch.setattr(ssl, "create_default_context", lambda **_: _TLS)
    return _Machine(host, tmp_path / "cache", monkeypatch)


# --- where it is had --------------------------------------------------------------------------
def _at_the_mirror(host: Host, _folder: Path) -> None:
    host.holds(MIRROR, ARCHIVE)


def _behind_a_redirect(host: Host, _folder: Path) -> None:
    host.redirects(FIRST, host.at("elsewhere"))
    host.holds("elsewhere", ARCHIVE)


def _replaced_at_the_first(host: Host, _folder: Path) -> None:
    host.holds(FIRST, b"another file under the same name")
    host.holds(MIRROR, ARCHIVE)


def _in_pieces(host: Host, _folder: Path) -> None:
    host.gives_pieces(FIRST, ARCHIVE, len(ARCHIVE) // 3 + 1)


def _whole_again(host: Host, _folder: Path) -> None:
    host.ignores_ranges(FIRST, ARCHIVE, cut_first_after=1000)


def _beside_other_versions(_host: Host, folder: Path) -> None:
    (folder / f"v{VERSION}").mkdir()
    (folder / f"v{VERSION}" / ASSET).write_bytes(ARCHIVE)
    (folder / ASSET).write_bytes(b"of another version")


def _in_the_folder(_host: Host, folder: Path) -> None:
    (folder / ASSET).write_bytes(ARCHIVE)


@pytest.mark.parametrize(
    ("had", "asks"),
    [
        (lambda host, _: host.holds(FIRST, ARCHIVE), [FIRST]),
        (_at_the_mirror, [FIRST, MIRROR]),
        (_behind_a_redirect, [FIRST, "elsewhere"]),
        (_replaced_at_the_first, [FIRST, MIRROR]),
        (_in_pieces, [FIRST] * 3),
        (_whole_again, [FIRST] * 2),
        (_beside_other_versions, []),
        (_in_the_folder, []),
    ],
    ids=[
        "address",
        "mirror",
        "redirect",
        "replaced",
        "pieces",
        "no ranges",
        "folder of the version",
        "folder",
    ],
)
def test_the_archive_is_had_by_its_hash_from_wherever_it_is(
    had: Callable[[Host, Path], None],
    asks: list[str],
    machine: _Machine,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = tmp_path / "named"
    folder.mkdir()
    monkeypatch.setenv(download.DOWNLOADS, str(folder))
    had(machine.host, folder)
    machine.install()
    kept = [name for name in machine.downloads if ".refused-" in name]
    assert len(kept) == (had is _replaced_at_the_first)
    for name in kept:
        assert (machine.cache / "downloads" / name).read_bytes() == b"another file under the same name"
        (machine.cache / "downloads" / name).unlink()
    machine.require_fetched()
    assert [path for path, _ in machine.host.asked] == [f"/{path}" for path in asks]
    machine.install()
    assert len(machine.host.asked) == len(asks)


@pytest.mark.parametrize(("path", "asks"), [(f"v{VERSION}/{ASSET}", 1), (ASSET, 2)])
def test_an_address_of_the_reader_is_asked_first(
    path: str, asks: int, machine: _Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(download.DOWNLOADS, machine.host.at("named/"))
    machine.host.holds(f"named/{path}", ARCHIVE)
    machine.host.holds(FIRST, ARCHIVE)
    machine.install()
    machine.require_fetched()
    assert [asked.startswith("/named/") for asked, _ in machine.host.asked] == [True] * asks


def test_a_proxy_of_the_shell_is_gone_through(machine: _Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", machine.host.at(""))
    monkeypatch.setenv(download.DOWNLOADS, "http://reader:secret@house.invalid/mirror")
    machine.host.answers[f"http://house.invalid/mirror/v{VERSION}/{ASSET}"] = lambda asked: asked.give(
        ARCHIVE
    )
    machine.install()
    machine.require_fetched()


@pytest.mark.parametrize(
    "before",
    [ARCHIVE[:70_000], os.urandom(5000), ARCHIVE + b"more", ARCHIVE],
    ids=["cut", "foreign", "longer", "whole"],
)
def test_what_an_earlier_set_up_left_is_gone_on_with(before: bytes, machine: _Machine) -> None:
    machine.host.holds(FIRST, ARCHIVE)
    part = machine.cache / "downloads" / f"{ASSET}.{hashlib.sha256(ARCHIVE).hexdigest()[:16]}.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(before)
    machine.install()
    machine.require_fetched()
    went_on = [asked for _, asked in machine.host.asked]
    assert went_on[:1] == ([] if before is ARCHIVE else [f"bytes={len(before)}-"])


# --- what is refused --------------------------------------------------------------------------
def _nothing(_host: Host, _patch: pytest.MonkeyPatch) -> None:
    """Both addresses answer 404."""


def _nobody_listens(host: Host, _patch: pytest.MonkeyPatch) -> None:
    for path in (FIRST, MIRROR):
        host.redirects(path, "http://127.0.0.1:1/nobody")


def _replaced_at_both(host: Host, _patch: pytest.MonkeyPatch) -> None:
    host.holds(FIRST, b"replaced")
    host.holds(MIRROR, b"replaced")


def _too_slow(host: Host, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(download, "_LEAST_WITHIN_S", 0.2)
    host.drips(FIRST, pause_s=0.02)


def _stalls(host: Host, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(download, "_STALLED_S", 0.1)
    host.drips(FIRST, pause_s=5.0)


def _has_no_end(host: Host, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(download, "_MOST_BYTES", 100_000)
    host.holds(FIRST, ARCHIVE)


def _always_cut(host: Host, _patch: pytest.MonkeyPatch) -> None:
    host.gives_pieces(FIRST, ARCHIVE, 100)


def _goes_round(host: Host, _patch: pytest.MonkeyPatch) -> None:
    host.redirects(FIRST, host.at(FIRST))


def _named(place: str) -> Callable[[Host, pytest.MonkeyPatch], None]:
    return lambda _host, patch: patch.setenv(download.DOWNLOADS, place)


def _no_proxy(_host: Host, patch: pytest.MonkeyPatch) -> None:
    patch.setenv("all_proxy", "nonsense://proxy")


@pytest.mark.parametrize(
    ("badly", "says"),
    [
        (_nothing, "127.0.0.1: answers 404"),
        (_nobody_listens, "127.0.0.1: not reached"),
        (_replaced_at_both, "refused, its sha256 is "),
        (_too_slow, "too slow, "),
        (_stalls, "127.0.0.1: not reached"),
        (_has_no_end, "sends more than 0.1 MB"),
        (_always_cut, "cut off 5 times; what came is kept"),
        (_goes_round, "127.0.0.1: not reached"),
        (_named("/nowhere/at/all"), f"/nowhere/at/all/{ASSET}: is not there"),
        (_named("http://[broken"), "no address: not reached"),
        (_named("gopher://old.invalid"), "old.invalid: not reached"),
        (_no_proxy, "proxy or certificates of this shell: "),
    ],
    ids=lambda each: getattr(each, "__name__", None),
)
def test_where_it_cannot_be_had_one_line_says_so_and_the_crate_is_compiled(
    badly: Callable[[Host, pytest.MonkeyPatch], None],
    says: str,
    machine: _Machine,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    badly(machine.host, monkeypatch)
    machine.install()
    (line,) = (each for each in capsys.readouterr().out.splitlines() if "could not be had" in each)
    assert says in line
    assert line.startswith(f"spacetimedb {VERSION}: {ASSET} could not be had (")
    assert line.endswith("named by GAPBOOK_DOWNLOADS; spacetimedb-standalone 1.2.0 is compiled in its place")
    assert machine.compiled == ["spacetimedb-standalone 1.2.0"]
    assert machine.installed == []


@pytest.mark.parametrize(
    ("processor", "library", "says"),
    [("aarch64", "glibc 2.36", "no archive for aarch64 is pinned"), ("x86_64", None, "compile it for glibc")],
)
def test_a_machine_that_it_is_not_made_for_asks_nobody(
    processor: str,
    library: str | None,
    says: str,
    machine: _Machine,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: processor)
    monkeypatch.setattr(os, "confstr", lambda _name: library)
    machine.install()
    assert says in capsys.readouterr().out
    assert (machine.compiled, machine.host.asked) == (["spacetimedb-standalone 1.2.0"], [])


def _link(name: str, to: str, kind: bytes = tarfile.SYMTYPE) -> tuple[tarfile.TarInfo, bytes]:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, to
    return member, b""


_GOOD = (SERVER, server_program(VERSION))
_HOSTILE: Mapping[str, tuple[bytes, str]] = {
    "leaves its folder": (archive_of(("../../escaped", b"x"), _GOOD), "a file '../../escaped'"),
    "from the root": (
        archive_of(("/tmp/escaped-of-gapbook", b"x"), _GOOD),
        "a file '/tmp/escaped-of-gapbook'",
    ),
    "link": (archive_of(_link(SERVER, "/bin/sh")), f"a link '{SERVER}'"),
    "link, then a file": (archive_of(_link(COMMAND, "/tmp"), (f"{COMMAND}/x", b"x")), f"a link '{COMMAND}'"),
    "hard link": (archive_of(_link(SERVER, "/etc/passwd", tarfile.LNKTYPE)), f"a link '{SERVER}'"),
    "device": (archive_of(_link(SERVER, "", tarfile.CHRTYPE)), f"what is no file, '{SERVER}'"),
    "folder": (archive_of(_link("inner", "", tarfile.DIRTYPE), _GOOD), "what is no file, 'inner'"),
    "another file": (archive_of(("libc.so.6", b"x"), _GOOD), "a file 'libc.so.6'"),
    "twice": (archive_of(_GOOD, (SERVER, b"#!/bin/sh\n")), f"a file '{SERVER}'"),
    "nothing": (archive_of(), f"it lacks {COMMAND}, {SERVER}"),
    "no archive": (b"<html>not found</html>", "was not unpacked: "),
    "cut": (ARCHIVE[: len(ARCHIVE) // 2], "was not unpacked: "),
    "damaged": (ARCHIVE[:100] + bytes(1000) + ARCHIVE[1100:], "was not unpacked: "),
    "another version": (
        archive_of((COMMAND, b""), (SERVER, server_program("2.10.0"))),
        f"the program in {ASSET} says that it is 2.10.0",
    ),
    "does not run": (archive_of((COMMAND, b""), (SERVER, b"#!/no/loader\n")), "--version failed"),
}


@pytest.mark.parametrize(("archive", "says"), _HOSTILE.values(), ids=_HOSTILE)
def test_an_archive_that_holds_what_it_should_not_is_not_unpacked(
    archive: bytes, says: str, machine: _Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.pin(archive)
    machine.host.holds(FIRST, archive)
    machine.install()
    (line,) = (each for each in capsys.readouterr().out.splitlines() if "in its place" in each)
    assert says in line
    assert (machine.compiled, machine.installed) == (["spacetimedb-standalone 1.2.0"], [])
    assert not list(machine.cache.parent.rglob("escaped"))
    assert not Path("/tmp/escaped-of-gapbook").exists()


# --- which version a set-up brings ------------------------------------------------------------
@pytest.mark.parametrize(
    ("words", "fetched", "compiled"),
    [
        (None, True, False),
        ({"spacetimedb", "2.8.3"}, True, False),
        ({"spacetimedb", "1.2.0", "2.8.3"}, True, True),
        ({"spacetimedb", "1.2.0"}, False, True),
        ({"spacetimedb"}, False, True),
    ],
    ids=["plain", "newer", "both", "own", "no version"],
)
def test_a_chapter_gets_the_versions_that_it_names(
    words: set[str] | None, fetched: bool, compiled: bool, machine: _Machine
) -> None:
    machine.host.holds(FIRST, ARCHIVE)
    machine.stack.install_for(words)
    assert bool(machine.host.asked) is machine.stack.is_here(VERSION) is fetched
    assert bool(machine.compiled) is compiled


def test_doctor_takes_a_fetched_server_for_the_usual_one_and_says_that_it_is_unverified(
    machine: _Machine,
) -> None:
    machine.host.holds(FIRST, ARCHIVE)
    usual = dict(setup.wanted())["server of spacetimedb"]
    with pytest.raises(SetupError, match="run: gapbook setup CHAPTER"):
        usual()
    machine.install()
    assert f"bin/{SERVER} (unverified: no published run" in str(usual())
    optional = dict(setup.optional())
    assert optional[f"server of spacetimedb {VERSION}"]() == usual()
    with pytest.raises(SetupError, match="run: gapbook setup CHAPTER"):
        optional["server of spacetimedb 1.2.0"]()


def test_an_interrupt_ends_a_fetch_and_nothing_is_compiled(
    machine: _Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.host.drips(FIRST, pause_s=0.02)
    interrupted = threading.Event()
    monkeypatch.setattr("gapbook.deploy.toolchain._interrupted", interrupted)
    threading.Timer(0.3, interrupted.set).start()
    with pytest.raises(SetupError, match=r"interrupted; what it has so far is kept"):
        machine.install()
    assert (machine.compiled, machine.installed) == ([], [])
    assert machine.downloads


# --- faults -----------------------------------------------------------------------------------
@pytest.fixture(name="only_servers")
def _only_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    """A set-up of this system's server, and of nothing else."""
    monkeypatch.setattr(setup, "_require_what_builds", lambda: None)
    monkeypatch.setattr(setup, "_require_folders_of_packages", lambda _named: None)
    monkeypatch.setattr(setup, "node_packages", lambda _stacks: [])
    monkeypatch.setattr(setup, "build_rust_clients", lambda: None)
    monkeypatch.setattr(setup, "systems_of", lambda _named: ["spacetimedb"])


@pytest.mark.usefixtures("only_servers")
@pytest.mark.parametrize("room", [0, 200_000, 350_000], ids=["none", "half an archive", "no room to unpack"])
def test_a_full_disk_is_one_line_and_with_room_the_set_up_goes_on(room: int, machine: _Machine) -> None:
    if why := no_small_disk():
        pytest.skip(why)
    machine.host.holds(FIRST, ARCHIVE)
    program = server_program(VERSION) + bytes(300_000)
    archive = archive_of((COMMAND, os.urandom(300_000)), (SERVER, program))
    machine.pin(archive)
    machine.host.holds(FIRST, archive)
    machine.cache.mkdir()
    with small_disk(machine.cache, 2):
        filler = fill(machine.cache)
        os.truncate(filler, filler.stat().st_size - room)
        with pytest.raises(SetupError, match=r"No space left on device.*GAPBOOK_CACHE") as caught:
            setup.set_up()
        assert "\n" not in str(caught.value)
        assert (machine.installed, machine.compiled) == ([], [])
        assert not machine.stack.is_here(VERSION)
        filler.unlink()
        setup.set_up()
        assert machine.stack.is_here(VERSION)
        assert machine.downloads == []
        assert machine.compiled == []


@pytest.mark.usefixtures("only_servers")
def test_a_cache_that_may_not_be_written_is_one_line_and_nobody_is_asked(machine: _Machine) -> None:
    if why := no_small_disk():
        pytest.skip(why)
    machine.host.holds(FIRST, ARCHIVE)
    machine.cache.mkdir()
    with small_disk(machine.cache, 2):
        subprocess.run(["mount", "-o", "remount,ro", machine.cache], check=True)
        with pytest.raises(SetupError, match=r"Read-only file system.*GAPBOOK_CACHE") as caught:
            setup.set_up()
    assert "\n" not in str(caught.value)
    assert machine.host.asked == []


_KILLED = """
import os, shutil, signal, ssl, subprocess, sys
from pathlib import Path
import gapbook.deploy.download, gapbook.deploy.prebuilt
from gapbook.deploy.prebuilt import PrebuiltProgram
from gapbook.deploy.download import Published

address, sha256, every, server = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
archive = Published("spacetimedb 2.10.1", address.rpartition("/")[2], "2.10.1", sha256, (address,))
program = PrebuiltProgram(archive, "spacetimedb", frozenset({server, "spacetimedb-cli"}), server)
# Certificates, read once for all children.
context = ssl.create_default_context()
ssl.create_default_context = lambda **_: context
watched = {gapbook.deploy.download.__file__, gapbook.deploy.prebuilt.__file__}


def install():
    program.install(lambda path: "2.10.1" if path.read_bytes()[:2] == b"#!" else "none")


def in_a_child(work):
    child = os.fork()
    if child == 0:
        work()
        os._exit(0)
    return os.waitpid(child, 0)[1]


def killed_at(line):
    left = line

    def trace(frame, event, argument):
        nonlocal left
        if frame.f_code.co_filename not in watched:
            return None
        if event == "line":
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
        return trace

    def work():
        sys.settrace(trace)
        install()

    return in_a_child(work) == signal.SIGKILL


sys.stdout = open(os.devnull, "w")
half = line = 0
while killed_at(line := line + every):
    # There whole or not at all, and the next start goes on.
    if program.path.exists():
        assert program.path.with_name(f"{server}.built").read_text().endswith(f"sha256 {sha256}\\n"), line
        assert subprocess.run([program.path]).returncode == 0, line
    else:
        half += 1
        assert in_a_child(install) == 0, line
        assert program.path.exists(), line
    assert [path.name for path in program.folder.parent.glob("*")] == [program.folder.name], line
    shutil.rmtree(program.folder)
    assert line < 10_000
print(half, file=sys.stderr)
"""


def test_whenever_it_is_killed_it_is_there_whole_or_not_at_all_and_the_next_start_goes_on(
    machine: _Machine,
) -> None:
    """At every 25th line of the code that fetches and unpacks."""
    machine.host.holds(FIRST, ARCHIVE)
    words = [machine.host.at(FIRST), hashlib.sha256(ARCHIVE).hexdigest(), "25", SERVER]
    done = subprocess.run(
        [sys.executable, "-c", _KILLED, *words],
        capture_output=True,
        text=True,
        check=False,
        encoding="utf-8",
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stderr) > 3
    assert any(asked for _, asked in machine.host.asked), "none went on where one was killed"


def test_two_at_once_fetch_it_once(machine: _Machine) -> None:
    machine.host.holds(FIRST, ARCHIVE)
    both = [threading.Thread(target=machine.install) for _ in range(2)]
    for one in both:
        one.start()
    for one in both:
        one.join()
    machine.require_fetched()
    assert len(machine.host.asked) == 1


def test_a_process_forked_while_the_program_is_unpacked_does_not_keep_it_from_running(
    machine: _Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    forked: list[int] = []

    def copied_beside_a_fork(*given: Any) -> None:
        shutil.copyfileobj(*given)
        child = os.fork()
        if child == 0:
            time.sleep(60)
            os._exit(0)
        forked.append(child)

    machine.host.holds(FIRST, ARCHIVE)
    monkeypatch.setattr(
        prebuilt, "shutil", SimpleNamespace(rmtree=shutil.rmtree, copyfileobj=copied_beside_a_fork)
    )
    try:
        machine.install()
        machine.require_fetched()
    finally:
        for child in forked:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    assert forked
