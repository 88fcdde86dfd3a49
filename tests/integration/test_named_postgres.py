"""A Postgres that the reader named: whatever ends a run on it, everything there is as it was."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
import pytest

from gapbook.deploy import warden
from gapbook.deploy.deployment import Deployment
from gapbook.deploy.server import ServerChoice
from gapbook.deploy.stack import Stack, StackContext, stack_class
from gapbook.errors import StackError
from gapbook.record.durability import Durability
from gapbook.record.run import find_run
from tests.bank import seed_bank
from tests.running import CHAPTER, Running, eventually, loading

_DELAYED = Durability("delayed", 500.0)
_PLANT = (
    "CREATE TABLE precious (id int PRIMARY KEY, text text)",
    "INSERT INTO precious SELECT number, 'irreplaceable ' || number FROM generate_series(1, 1000) AS number",
    "CREATE SCHEMA elsewhere",
    "ALTER TABLE accounts OWNER TO bank",
    "CREATE ROLE reader LOGIN CREATEDB PASSWORD 'it''s \"mine\" @/%'",
    "GRANT pg_checkpoint TO reader",
    "ALTER ROLE reader SET search_path = elsewhere",
    "ALTER ROLE reader SET default_transaction_isolation = 'serializable'",
    "CREATE ROLE guest LOGIN PASSWORD 'guest'",
)
_READER_PASSWORD = "it%27s%20%22mine%22%20%40%2F%25"
# All that a server keeps outside of its databases, and what the reader's database holds.
_CONTENT = (
    "SELECT rolname, rolsuper, rolcreatedb, rolcanlogin, rolpassword, rolconfig FROM pg_roles ORDER BY 1",
    "SELECT rolname, rolpassword FROM pg_authid ORDER BY 1",
    "SELECT datname, datdba, datacl FROM pg_database ORDER BY 1",
    "SELECT setdatabase, setrole, setconfig FROM pg_db_role_setting ORDER BY 1, 2",
    "SELECT roleid, member FROM pg_auth_members ORDER BY 1, 2",
    "SELECT schemaname, tablename, tableowner FROM pg_tables ORDER BY 1, 2",
    "SELECT * FROM precious ORDER BY id",
    "SELECT count(*), sum(balance) FROM accounts",
)


class _Reader(NamedTuple):
    """The reader's server: how a role logs in, and a session of its owner's in the planted database."""

    port: int
    session: psycopg.Connection[Any]

    def url(self, login: str) -> str:
        return f"postgresql://{login}@127.0.0.1:{self.port}/postgres"

    def content(self) -> list[list[tuple[Any, ...]]]:
        return [self.session.execute(query.encode()).fetchall() for query in _CONTENT]

    def our_databases(self) -> list[tuple[Any, ...]]:
        return self.session.execute(
            "SELECT datname FROM pg_database WHERE datname LIKE 'gapbook%'"
        ).fetchall()


@pytest.fixture(name="reader", scope="module")
def _reader() -> Iterator[_Reader]:
    """A server with a database and a role named bank, as the module's own, and roles with various rights."""
    with Deployment() as deployment:
        stack = stack_class("postgres")(StackContext(deployment, _DELAYED))
        stack.start()
        seed_bank(stack, 7, 100)
        session: psycopg.Connection[Any] = stack._connection  # type: ignore[attr-defined]
        assert session.info.dbname == "bank"
        for statement in _PLANT:
            session.execute(statement.encode())
        yield _Reader(stack.endpoint()["port"], session)
        stack.stop()


def _run(reader: _Reader, data: Path, runs: Path, **changed: str) -> Running:
    named = f"postgres={reader.url(f'reader:{_READER_PASSWORD}')}"
    return Running.chapter(data, runs, "live", contestants="postgres-rust", servers=named, **changed)


def test_run_to_its_end_leaves_the_server_as_it_was(
    reader: _Reader, data_folder: Path, runs_folder: Path
) -> None:
    before = reader.content()
    running = _run(reader, data_folder, runs_folder, blocks="2")
    seen = set()
    while running.popen.poll() is None:
        seen.update(reader.our_databases())
    printed, errors = running.popen.communicate()
    assert running.popen.returncode in {0, 3}, errors
    assert len(seen) == 1
    assert reader.content() == before
    (folder,) = (runs_folder / CHAPTER).iterdir()
    run = find_run(CHAPTER, folder.name)
    assert run.trials["acknowledged"].to_list() == run.trials["committed"].to_list()
    assert min(run.trials["acknowledged"]) > 0
    (system,) = run.manifest.systems.values()
    assert system.settings["default_transaction_isolation"] == "read committed"
    assert "mine" not in printed + errors + "".join(
        path.read_text(encoding="utf-8") for path in folder.iterdir() if path.suffix == ".json"
    )


@pytest.mark.parametrize("victim", ["command line", "kernel and warden"])
def test_run_killed_half_way_leaves_the_server_as_it_was(
    victim: str, reader: _Reader, data_folder: Path, runs_folder: Path
) -> None:
    before = reader.content()
    running = _run(reader, data_folder, runs_folder, window_s="20")
    try:
        assert eventually(lambda: loading(running), 120), running.popen.communicate()
        assert reader.our_databases()
        kernel = running.kernel()
        if victim == "command line":
            os.kill(running.popen.pid, signal.SIGKILL)
        else:
            for pid in (*_wardens(kernel), kernel):
                os.kill(pid, signal.SIGKILL)
            running.popen.communicate(timeout=30)
            assert reader.our_databases()
            with Deployment():  # any next start
                pass
        assert eventually(lambda: reader.content() == before)
        assert eventually(lambda: not list(data_folder.iterdir()))
    finally:
        running.popen.kill()
        running.popen.communicate()


def _wardens(kernel: int) -> list[int]:
    return [
        pid
        for pid in warden.descendants([kernel])
        if warden.__file__.encode() in Path(f"/proc/{pid}/cmdline").read_bytes()
    ]


def _named(endpoint: str, deployment: Deployment) -> Stack:
    return stack_class("postgres")(StackContext(deployment, _DELAYED, ServerChoice(endpoint=endpoint)))


@pytest.mark.parametrize(
    ("login", "says"),
    [
        (
            "guest:guest",
            'role "guest" may not create a database of its own and request checkpoints; as a superuser there: '
            'ALTER ROLE "guest" CREATEDB; GRANT pg_checkpoint TO "guest"; nothing was changed there',
        ),
        ("guest:wrong", 'password authentication failed for user "guest"'),
    ],
)
def test_role_that_may_not_is_told_so_before_anything_is_created(
    login: str, says: str, reader: _Reader, deployment: Deployment
) -> None:
    before, stack = reader.content(), _named(reader.url(login), deployment)
    for verb in (lambda: type(stack).locate(stack.context.choice), stack.start):
        with pytest.raises(StackError) as caught:
            verb()
        assert str(caught.value).startswith("postgres: ")
        assert str(caught.value).endswith(says)
        assert "\n" not in str(caught.value)
    stack.stop()
    assert reader.content() == before


def test_server_that_went_away_is_said_and_cleaned_when_it_is_back(
    reader: _Reader, data_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = reader.content()
    with Deployment() as deployment:
        stack = _named(reader.url(f"reader:{_READER_PASSWORD}"), deployment)
        stack.start()
        (step,) = (deployment.directory / warden.UNDO_FOLDER).iterdir()
        assert step.stat().st_mode & 0o077 == 0
        reachable = step.read_text(encoding="utf-8")
        step.write_text(reachable.replace(f":{reader.port}/", ":1/"), encoding="utf-8")
        stack.stop()
    ((database,),) = reader.our_databases()
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"gapbook: postgres: database {database} on postgresql://127.0.0.1:")
    assert "is still there (" in line
    assert "mine" not in line
    assert {path.name for path in deployment.directory.iterdir()} == {warden.OWNER_FILE, warden.UNDO_FOLDER}
    # Its owner still lives, so that nobody else takes it for abandoned.
    step.write_text(reachable, encoding="utf-8")
    assert warden.remove(deployment.directory) == []
    assert reader.content() == before
    assert not list(data_folder.iterdir())


def test_removal_takes_no_name_but_ours(reader: _Reader) -> None:
    before = reader.content()
    for name in ("bank", "gapbook_", "gapbook_0123456789abcdef; --", 'gapbook_0123456789abcdeF"'):
        done = subprocess.run(
            [sys.executable, "-I", stack_class("postgres").folder / "drop_database.py", name],
            env={"GAPBOOK_POSTGRES": reader.session.info.dsn},
            capture_output=True,
            text=True,
            check=False,
            encoding="utf-8",
        )
        assert (done.returncode, done.stderr.strip()) == (1, f"{name!r} is no name of ours")
    assert reader.content() == before
