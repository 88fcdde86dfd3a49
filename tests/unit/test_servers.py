"""Which server each contestant gets: by its system and version, named or our own, or none on this machine."""

from __future__ import annotations

import resource
import socket
import subprocess
from pathlib import Path

import pytest

from gapbook.book.chapters import own_parameters
from gapbook.chapter import Chapter
from gapbook.deploy.server import ServerChoice
from gapbook.deploy.stack import stack_class
from gapbook.deploy.toolchain import node_path
from gapbook.errors import ParameterError, SetupError, StackError
from gapbook.record.durability import Durability
from gapbook.trial.contestant import Contestant
from gapbook.trial.facts import machine
from gapbook.trial.servers import (
    absent_tiers,
    absent_versions,
    choice_of,
    parse_choices,
    require_connections,
    require_kept,
    require_open_files,
    require_servers,
    require_used,
    tier_versions,
)
from tests.unit.test_scenario import DELAYED, postgres, scenario, spacetimedb

NEW, FETCHED = "2.8.3", "2.10.1"


@pytest.fixture
def binaries(tmp_path: Path) -> dict[str, Path]:
    """Programs that say that they are a SpacetimeDB server of a version, and nothing else."""
    made = {}
    for version in ("1.2.0", "2.0.1", NEW, FETCHED, "2.11.0", "1.1.0"):
        path = tmp_path / f"server-{version}"
        path.write_text(
            f"#!/bin/sh\necho 'spacetimedb tool version {version}; spacetimedb-lib version {version};'\n",
            encoding="utf-8",
        )
        path.chmod(0o755)
        made[version] = path
    return made


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GAPBOOK_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_several_servers_are_named_by_system_and_version(binaries: dict[str, Path]) -> None:
    chosen = parse_choices(f"spacetimedb@{NEW}={binaries[NEW]}, spacetimedb={binaries['1.2.0']},")
    assert chosen == {
        f"spacetimedb@{NEW}": ServerChoice(binary=binaries[NEW], version=NEW),
        "spacetimedb": ServerChoice(binary=binaries["1.2.0"]),
    }
    url = parse_choices("spacetimedb@2.8.3=http://127.0.0.1:3000")["spacetimedb@2.8.3"]
    assert url.endpoint == "http://127.0.0.1:3000"


@pytest.mark.parametrize("text", ["spacetimedb", "spacetimedb@=/bin/sh", "@2.8.3=/bin/sh", "=/bin/sh"])
def test_what_is_not_of_the_form_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(ParameterError, match=r"is not of the form STACK=BINARY, STACK=URL or STACK@VERSION"):
        parse_choices(text)


def test_one_server_named_twice_is_refused() -> None:
    with pytest.raises(ParameterError, match="spacetimedb is named twice"):
        parse_choices("spacetimedb=/bin/sh,spacetimedb=/bin/sh")


def test_each_contestant_gets_the_server_of_its_version(binaries: dict[str, Path]) -> None:
    chosen = parse_choices(f"spacetimedb@{NEW}={binaries[NEW]},spacetimedb={binaries['1.2.0']}")
    assert choice_of(chosen, spacetimedb(version=NEW)).binary == binaries[NEW]
    assert choice_of(chosen, spacetimedb()).binary == binaries["1.2.0"]
    own = spacetimedb(version=stack_class("spacetimedb").own_version())
    assert choice_of(chosen, own).binary == binaries["1.2.0"]
    assert not choice_of(chosen, spacetimedb(version="2.0.1")).named
    assert not choice_of(chosen, postgres()).named


def test_a_server_for_nobody_is_refused(binaries: dict[str, Path]) -> None:
    chosen = parse_choices(f"spacetimedb@{NEW}={binaries[NEW]}")
    require_used(chosen, [spacetimedb(version=NEW)], DELAYED)
    with pytest.raises(ParameterError, match=rf"'spacetimedb@{NEW}' is for the version {NEW} of spacetimedb"):
        require_used(chosen, [spacetimedb()], DELAYED)
    with pytest.raises(ParameterError, match="is for the system 'postgres', which no contestant has"):
        require_used(parse_choices("postgres=/bin/sh"), [spacetimedb()], DELAYED)


def test_one_running_server_cannot_have_two_settings() -> None:
    chosen = parse_choices("spacetimedb=http://127.0.0.1:3000")
    both = [spacetimedb(), spacetimedb("flushed", durability="none")]
    with pytest.raises(ParameterError, match="several settings here, which one running server cannot"):
        require_used(chosen, both, DELAYED)
    require_used(chosen, [both[0], spacetimedb("deep")], DELAYED)


def test_a_binary_of_another_version_is_refused_in_one_line(binaries: dict[str, Path]) -> None:
    chosen = parse_choices(f"spacetimedb@{NEW}={binaries['2.0.1']}")
    with pytest.raises(SetupError, match=rf"is version 2\.0\.1, not {NEW}; name one that is: servers="):
        require_servers(chosen, [spacetimedb(version=NEW)], Durability("delayed"))
    with pytest.raises(SetupError, match="--version names no version"):
        require_servers(parse_choices("spacetimedb=/bin/true"), [spacetimedb()], DELAYED)


@pytest.mark.parametrize(
    ("program", "says"),
    [
        ("no program at all\n", "Exec format error"),
        ("#!/nowhere/shell\n", "No such file or directory"),
        ("#!/bin/sh\nprintf '\\377\\376'\n", "can't decode byte 0xff"),
        ("#!/bin/sh\nexec sleep 600\n", "timed out after 2.0 seconds"),
        (
            "#!/bin/sh\nprintf 'postgres (PostgreSQL)\\n18.6\\n'\n",
            "names no version; name a spacetimedb-standalone",
        ),
        ("#!/bin/sh\nkill -9 $$\n", "names no version; name a spacetimedb-standalone"),
    ],
    ids=["text", "no interpreter", "bytes", "mute", "another program", "ended"],
)
def test_a_binary_that_is_no_server_is_refused_in_one_line(
    program: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "server"
    path.write_text(program, encoding="utf-8")
    path.chmod(0o755)
    monkeypatch.setattr("gapbook.deploy.server._ANSWER_TIMEOUT_S", 2.0)
    with pytest.raises(SetupError) as caught:
        require_servers(parse_choices(f"spacetimedb={path}"), [spacetimedb()], DELAYED)
    assert str(caught.value).startswith(f"spacetimedb: {path} --version ")
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def _put(cache: Path, folder: str, binary: Path) -> None:
    place = cache / "build" / folder / "bin" / "spacetimedb-standalone"
    place.parent.mkdir(parents=True)
    place.symlink_to(binary)


def _pinned() -> str:
    native = stack_class("spacetimedb").facts.native
    assert native
    assert native.prebuilt
    return f"spacetimedb-{FETCHED}-{native.prebuilt.sha256[FETCHED]['x86_64'][:16]}"


def test_our_own_version_may_be_missing_where_a_newer_one_is_here(
    empty_cache: Path, binaries: dict[str, Path]
) -> None:
    contestants = [spacetimedb("old", version="1.2.0"), spacetimedb("new", version=FETCHED), postgres()]
    _put(empty_cache, _pinned(), binaries[FETCHED])
    absent = absent_versions({}, contestants)
    assert list(absent) == ["old"]
    assert "run: gapbook setup CHAPTER" in absent["old"]
    # Nobody else has one to stand for a contestant that names no version.
    assert absent_versions({}, [spacetimedb("any"), contestants[1]]) == {}
    named = parse_choices(f"spacetimedb@{NEW}={binaries[NEW]}")
    assert list(absent_versions(named, [contestants[0], spacetimedb("new", version=NEW)])) == ["old"]


@pytest.mark.parametrize(
    ("here", "servers", "backend", "version"),
    [
        ((), "", "native", NEW),
        ((FETCHED,), "", "native", FETCHED),
        ((NEW, FETCHED), "", "native", NEW),
        ((NEW,), f"spacetimedb@{FETCHED}=PATH", "native", FETCHED),
        ((FETCHED,), f"spacetimedb@{NEW}=PATH", "native", NEW),
        ((FETCHED,), "", "docker", NEW),
        ((FETCHED,), "", "docker+own-image", FETCHED),
    ],
    ids=[
        "none",
        "fetched",
        "both",
        "named fetched",
        "named measured",
        "image of its makers",
        "image of ours",
    ],
)
def test_a_fetched_version_stands_in_for_the_measured_one_where_it_alone_is_here(
    here: tuple[str, ...],
    servers: str,
    backend: str,
    version: str,
    empty_cache: Path,
    binaries: dict[str, Path],
) -> None:
    for one in here:
        _put(empty_cache, _pinned() if one == FETCHED else f"spacetimedb-{one}", binaries[one])
    own = own_parameters("both-optimized")
    named = servers.replace("PATH", str(binaries[FETCHED]))
    chapter = Chapter("both-optimized", {**own, "servers": named, "backend": backend})
    assert chapter.version("spacetimedb", NEW) == version


def test_a_stored_run_has_the_version_that_it_had(empty_cache: Path, binaries: dict[str, Path]) -> None:
    _put(empty_cache, _pinned(), binaries[FETCHED])
    chapter = Chapter("both-optimized", {**own_parameters("both-optimized"), "source": "published"})
    assert chapter.version("spacetimedb", NEW) == NEW


@pytest.mark.usefixtures("empty_cache")
def test_a_version_that_nobody_has_is_absent_and_says_how_to_get_it() -> None:
    contestants = [spacetimedb("old", version="1.2.0"), spacetimedb("new", version=NEW), postgres()]
    absent = absent_versions({}, contestants)
    assert list(absent) == ["new"]
    assert f"servers=spacetimedb@{NEW}=" in absent["new"]
    assert f"clockworklabs/spacetime:v{NEW}" in absent["new"]
    assert "\n" not in absent["new"]


def test_a_version_in_the_cache_is_found_and_one_that_was_named_is_never_absent(
    empty_cache: Path, binaries: dict[str, Path]
) -> None:
    place = empty_cache / "build" / f"spacetimedb-{NEW}" / "bin" / "spacetimedb-standalone"
    place.parent.mkdir(parents=True)
    place.symlink_to(binaries[NEW])
    place.with_name(f"{place.name}.built").write_text("built by hand\nand more\n", encoding="utf-8")
    newer = spacetimedb(version=NEW)
    assert absent_versions({}, [newer]) == {}
    found = newer.stack.located(choice_of({}, newer))
    assert (found.version, found.built) == (NEW, "built by hand")
    wrong = parse_choices(f"spacetimedb@2.0.1={binaries[NEW]}")
    assert absent_versions(wrong, [spacetimedb(version="2.0.1")]) == {}
    with pytest.raises(SetupError, match=r"is version 2\.8\.3, not 2\.0\.1"):
        require_servers(wrong, [spacetimedb(version="2.0.1")], Durability("delayed"))


@pytest.mark.parametrize(
    ("version", "kept", "refused"),
    [
        (
            "1.2.0",
            ["none", "delayed", "delayed(500 ms)", "delayed(2000 ms)"],
            ["fsync-per-commit", "delayed(499 ms)"],
        ),
        ("2.0.1", ["none", "delayed", "delayed(500 ms)", "fsync-per-commit"], ["delayed(10 ms)"]),
        (NEW, ["none", "delayed", "fsync-per-commit"], ["delayed(500 ms)"]),
        (FETCHED, ["none", "delayed", "fsync-per-commit"], ["delayed(500 ms)"]),
        ("2.11.0", ["none", "delayed"], ["delayed(500 ms)", "fsync-per-commit"]),
    ],
)
def test_a_class_that_a_version_cannot_keep_is_refused_before_it_starts(
    version: str, kept: list[str], refused: list[str], binaries: dict[str, Path]
) -> None:
    chosen = parse_choices(f"spacetimedb@{version}={binaries[version]}")
    contestant: Contestant = spacetimedb(version=version)
    for text in kept:
        require_servers(chosen, [contestant], Durability.parse(text))
    for text in refused:
        with pytest.raises(StackError) as caught:
            require_servers(chosen, [contestant], Durability.parse(text))
        assert str(caught.value).startswith(f"spacetimedb: {version} cannot keep {text}: ")
        assert "allowed: none, delayed" in str(caught.value)
        assert "\n" not in str(caught.value)


def test_a_version_whose_timer_nobody_knows_is_refused_in_one_line(binaries: dict[str, Path]) -> None:
    chosen = parse_choices(f"spacetimedb={binaries['1.1.0']}")
    with pytest.raises(
        StackError, match=r"the fsync timer of version 1\.1\.0 is not known; name a server from"
    ):
        require_servers(chosen, [spacetimedb()], DELAYED)


def test_an_access_level_that_needs_a_newer_server_is_refused_before_it_starts(
    binaries: dict[str, Path],
) -> None:
    contestant = Contestant("hash", "spacetimedb", "reducer-hash", "direct", "rust", 1)
    old = parse_choices(f"spacetimedb={binaries['1.2.0']}")
    with pytest.raises(ParameterError, match=r"'reducer-hash' needs a server of spacetimedb from 2\.0\.0 on"):
        require_servers(old, [contestant], DELAYED)
    new = parse_choices(f"spacetimedb={binaries[NEW]}")
    require_servers(new, [contestant], Durability("delayed"))
    assert contestant.variant(DELAYED) != spacetimedb().variant(DELAYED)
    assert contestant.variant(DELAYED).label(DELAYED) == "spacetimedb (hash)"


def test_where_a_system_runs_in_two_versions_each_contestant_names_its_own() -> None:
    both = scenario(spacetimedb("old", version="1.2.0"), spacetimedb("new", version=NEW), postgres())
    assert [c.system_label for c in both.contestants] == [
        "SpacetimeDB 1.2.0",
        f"SpacetimeDB {NEW}",
        "Postgres",
    ]
    assert {c.variant(DELAYED).label(DELAYED) for c in both.contestants} == {
        "spacetimedb 1.2.0",
        f"spacetimedb {NEW}",
        "postgres",
    }
    with pytest.raises(ParameterError, match=rf"version: old names none, while others run spacetimedb {NEW}"):
        scenario(spacetimedb("old"), spacetimedb("new", version=NEW))


def test_who_is_behind_a_program_that_is_missing_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    behind = Contestant("bun", "postgres", "drizzle", "bun", "typescript", 1)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert absent_tiers([behind, postgres("node")]) == {
        "bun": "postgres behind bun: bun is not installed; install it: npm install --global bun"
    }
    (tmp_path / "bun").write_text("#!/bin/sh", encoding="utf-8")
    (tmp_path / "bun").chmod(0o755)
    assert absent_tiers([behind]) == {}


def test_each_program_between_client_and_system_says_its_version_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    bun = tmp_path / "bun"
    bun.touch(0o755)
    behind_bun = Contestant("bun", "postgres", "drizzle", "bun", "typescript", 1)
    behind_node = [
        Contestant(tier, "postgres", "drizzle", tier, "typescript", 1) for tier in ("rpc", "server")
    ]
    bun.write_text("#!/bin/sh\necho 1.4.5", encoding="utf-8")
    node = subprocess.run(
        [node_path(), "--version"], capture_output=True, encoding="utf-8", check=True
    ).stdout.strip()
    assert tier_versions([behind_bun, *behind_node, postgres("direct")]) == {"bun": "1.4.5", "node": node}
    for says_none in ("#!/bin/sh", "#!/bin/sh\nexit 3"):
        bun.write_text(says_none, encoding="utf-8")
        with pytest.raises(SetupError, match=r"bun: .*--version .*; install it anew"):
            tier_versions([behind_bun])


_ELSEWHERE = [
    *("postgresql://u:secret@10.9.8.7:5432/d", "http://10.9.8.7", "http://[2001:db8::1]:3000", "http://0.0.0.0:1"),
    *("postgresql://u:secret@example.invalid/d", "http://localhost.example.invalid", "http://127.0.0.1.nip.invalid"),
    *("http://127.0.0.1@10.9.8.7/", "postgresql://u:secret@10.9.8.7@127.0.0.1/d", "http://127.0.0.1#@10.9.8.7/"),
    *("postgresql://127.0.0.1?@10.9.8.7/d", "http://127.0.0.1\\@10.9.8.7/", "http://127.0.0.1:80@10.9.8.7"),
    *("postgresql://127.0.0.1/d?host=10.9.8.7", "postgresql://127.0.0.1/d?hostaddr=10.9.8.7"),
    *("postgresql://127.0.0.1/d?sslmode=disable&%68ost=10.9.8.7", "postgresql://127.0.0.1/d?service=far"),
    *("postgresql://10%2e9%2e8%2e7/d", "postgresql://%31%30.9.8.7/d", "postgresql:///d", "://127.0.0.1"),
    *("http://2130706434", "http://0x0a090807", "http://012.9.8.7", "http://[::ffff:10.9.8.7]:1", "http://[::1%25eth0]"),
    *("postgresql://127.0.0.1/d host=10.9.8.7", "http://127.0.0.1\n@10.9.8.7", "http://１２７.0.0.1", "http://[::1].x"),
    *("host=10.9.8.7://", "http://127.0.0.1:99999999/", "postgresql://u:secret@127.0.0.1:1,10.9.8.7:2/d"),
]  # fmt: skip


@pytest.mark.parametrize("url", _ELSEWHERE)
def test_a_server_beyond_this_machine_is_refused_by_its_text_alone(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not a name is looked up, not a socket made; and no password is said."""

    def touched(*_: object, **__: object) -> None:
        raise AssertionError("the network was touched")

    for name in ("socket", "getaddrinfo", "create_connection"):
        monkeypatch.setattr(socket, name, touched)
    for text in (f"postgres={url}", f"spacetimedb@9={url}"):
        with pytest.raises(ParameterError) as caught:
            parse_choices(text)
        assert str(caught.value).startswith("servers: ")
        assert "\n" not in str(caught.value)
        assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://postgres:p%40ss@127.0.0.1:5432/postgres?sslmode=disable",
        "postgresql://localhost/postgres",
        "postgresql://u@[::1]:5433/d",
        "http://127.0.0.1:3000",
        "http://127.8.8.8:3000/",
    ],
)
def test_a_server_of_this_machine_is_taken(url: str) -> None:
    assert parse_choices(f"postgres={url}")["postgres"].endpoint == url


def test_more_connections_than_a_process_may_have_open_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _which: (1024, 4096))
    require_open_files(960)
    with pytest.raises(
        ParameterError, match=r"connections: 961 need 1025 open files .* allows 1024; .*ulimit -n 1025"
    ):
        require_open_files(961)


@pytest.mark.parametrize("text", ["postgres=", "postgres=image:", "postgres= ,x=y"])
def test_a_server_that_is_named_by_nothing_is_refused(text: str) -> None:
    with pytest.raises(ParameterError, match="is not of the form STACK=BINARY"):
        parse_choices(text)


def test_more_connections_than_a_server_takes_are_refused_before_it_starts() -> None:
    one = Contestant("one", "postgres", access="procedure", tier="direct", client="rust", in_flight=1)
    most = one.stack.most_connections()
    assert most == 296
    require_connections({}, [one, spacetimedb()], most)
    require_connections({}, [spacetimedb()], 1000)
    with pytest.raises(
        ParameterError, match=rf"connections: {most + 1} are more than postgres .* at most {most}"
    ):
        require_connections({}, [spacetimedb(), one], most + 1)
    require_connections(parse_choices("postgres=postgresql://u@127.0.0.1/d"), [one], 1000)


_ASKED = "fsync-per-commit"


@pytest.mark.parametrize(
    ("kind", "said", "found"),
    [
        ("ext4", "", None),
        ("xfs", "", None),
        (
            "tmpfs",
            "tmpfs",
            "is on tmpfs, which forgets all when the machine stops; set GAPBOOK_DATA to a folder on a disk",
        ),
        (
            "overlay",
            "",
            "is on overlay, which does not tell whether it keeps what is fsynced; set GAPBOOK_DATA",
        ),
        ("nfs4", "overlay", "where you know that it does, which is recorded"),
        ("fuse.sshfs", "", "GAPBOOK_DATA_KEEPS=fuse.sshfs"),
        ("overlay", "overlay", None),
    ],
)
def test_a_promise_about_the_disk_is_refused_where_there_is_none(
    kind: str, said: str, found: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gapbook.deploy.file_system.file_system", lambda path: kind)
    monkeypatch.setenv("GAPBOOK_DATA_KEEPS", said)
    told = machine()
    assert (told.file_system, told.data_kept) == (kind, found is None)
    assert told.data_kept_said is bool(found is None and said)
    own = [postgres(durability="none")]
    require_kept({}, own, Durability.parse(_ASKED))
    for asked in (_ASKED, "delayed", "delayed(500 ms)"):
        for promising in ([postgres(), *own], [spacetimedb()], [postgres(durability=asked)]):
            if found is None:
                require_kept({}, promising, Durability.parse(asked))
                continue
            with pytest.raises(SetupError, match=found) as refused:
                require_kept({}, promising, Durability.parse(asked))
            assert f"durability: {asked} of " in str(refused.value)
            assert "\n" not in str(refused.value)


def test_memory_is_known_by_where_the_data_would_lie(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GAPBOOK_DATA", "/dev/shm/not/made/yet")
    with pytest.raises(SetupError, match="/dev/shm/not/made/yet is on tmpfs"):
        require_kept({}, [postgres()], Durability.parse(_ASKED))
    named = parse_choices("postgres=postgresql://me@127.0.0.1:1/bank")
    require_kept(named, [postgres()], Durability.parse(_ASKED))
    require_kept({}, [postgres(backend="docker+layer")], Durability.parse(_ASKED))
    require_kept(
        {}, [Contestant("simulated", "plant", "base", "direct", "rust", 1)], Durability.parse(_ASKED)
    )
