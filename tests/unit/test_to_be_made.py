"""What commands share: made by one, waited for by those who need it, and by nobody else."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from gapbook.deploy import toolchain
from gapbook.deploy.to_be_made import to_be_made
from gapbook.errors import SetupError
from gapbook.locks import taking_turns
from tests.running import eventually


@pytest.fixture(name="cache", autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GAPBOOK_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(name="interrupted")
def _interrupted(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    event = threading.Event()
    monkeypatch.setattr(toolchain, "_interrupted", event)
    yield event
    event.set()


def test_what_is_there_waits_for_nobody_and_writes_nothing(cache: Path) -> None:
    with to_be_made("program", lambda: True) as absent:
        assert not absent
    assert not cache.exists()


def test_another_thing_is_not_waited_for(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with taking_turns(cache / "turns" / "long build"), to_be_made("program", lambda: False) as absent:
        assert absent
    assert capsys.readouterr().out == ""


def test_who_waited_for_it_finds_it_there(cache: Path) -> None:
    program, found = cache / "program", list[bool]()

    def needs_it() -> None:
        with to_be_made("program", program.is_file) as absent:
            found.append(absent)

    with to_be_made("program", program.is_file) as absent:
        assert absent
        waiting = threading.Thread(target=needs_it)
        waiting.start()
        program.touch()
    waiting.join(10)
    assert found == [False]


def test_an_interrupted_set_up_waits_no_longer(cache: Path, interrupted: threading.Event) -> None:
    raised = list[SetupError]()

    def needs_it() -> None:
        try:
            with to_be_made("program", lambda: False):
                pass
        except SetupError as error:
            raised.append(error)

    with taking_turns(cache / "turns" / "program"):
        waiting = threading.Thread(target=needs_it)
        waiting.start()
        interrupted.set()
        assert eventually(lambda: bool(raised))
    waiting.join()
    assert str(raised[0]) == "program: interrupted; what it has so far is kept"
