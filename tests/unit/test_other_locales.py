"""Commands where the locale's letters are not those of UTF-8, and where the reader's folders hide a module."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gapbook.paths import CHECKOUT
from gapbook.streams import say, speak_in_what_streams_know

_GAPBOOK = Path(sys.executable).with_name("gapbook")
_PLAIN = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
_ALL_OF_THEM = """
import contextlib, locale, sys
from gapbook.cli import main
print(locale.getencoding())
for words in (["--help"], ["run", "--help"], ["setup", "--help"], ["run", "\\xd7\\u2212"]):
    with contextlib.suppress(SystemExit):
        main(words)
main(["campaign", "--show"])
sys.exit(main(sys.argv[1:]))
"""


def _said(*words: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", _ALL_OF_THEM, *words],
        capture_output=True,
        text=True,
        cwd=CHECKOUT,
        env={**os.environ, **environment},
        timeout=600,
        check=False,
        encoding="utf-8",
        errors="replace",
    )


def _require_no_trace(ended: subprocess.CompletedProcess[str]) -> None:
    assert ended.returncode == 0, ended.stderr
    assert "Traceback" not in ended.stdout + ended.stderr
    assert "chapter '" in ended.stderr, "what is unknown is refused"


def test_commands_and_a_stored_chapter_need_no_letters_but_ascii() -> None:
    words = ("run", "trailbase-one-number", "-p", "source=published", "--no-page")
    ended = _said(*words, environment=_PLAIN)
    _require_no_trace(ended)
    assert ended.stdout.startswith("ANSI_X3.4-1968")
    assert "executed notebook: " in ended.stdout


def test_commands_need_no_locale_of_utf_8(tmp_path: Path) -> None:
    localedef = shutil.which("localedef")
    if localedef is None:
        pytest.skip("no localedef to make a locale with")
    made = tmp_path / "en_US.ISO-8859-1"
    command: list[str | Path] = [localedef, "--no-archive", "-i", "en_US", "-f", "ISO-8859-1", made]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("this machine has no sources of locales")
    ended = _said(
        "campaign", "--show", environment={"LOCPATH": str(tmp_path), "LC_ALL": made.name, "PYTHONUTF8": "0"}
    )
    _require_no_trace(ended)
    assert ended.stdout.startswith("ISO-8859-1")


def test_stream_gets_the_nearest_letters_that_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    for encoding, expected in (
        ("ascii", b"2.0 x, -3 %, >= 1, alpha ??"),
        ("latin-1", b"2.0 \xd7, -3 %, >= 1, alpha \xfc?"),
    ):
        written = io.BytesIO()
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding=encoding))
        speak_in_what_streams_know()
        print("2.0 ×, −3 %, ≥ 1, α ü★", end="", flush=True)
        assert written.getvalue() == expected


@pytest.mark.parametrize("hidden", ["random.py", "argparse.py", "gapbook/__init__.py"])
def test_command_takes_no_module_of_a_readers_folder(hidden: str, tmp_path: Path) -> None:
    stray = tmp_path / hidden
    stray.parent.mkdir(exist_ok=True)
    stray.write_text("raise SystemExit('the stray one')\n", encoding="utf-8")
    ended = subprocess.run(
        [_GAPBOOK, "run", "unheard"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        timeout=120,
        check=False,
        encoding="utf-8",
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith("gapbook: chapter 'unheard'")
    assert ended.stderr.count("\n") == 1


def test_a_line_is_said_as_one_piece_whoever_else_speaks(monkeypatch: pytest.MonkeyPatch) -> None:
    pieces: list[str] = []

    class Listening(io.StringIO):
        def write(self, piece: str) -> int:
            pieces.append(piece)
            return len(piece)

    monkeypatch.setattr(sys, "stdout", Listening())
    say("Node packages: started")
    assert pieces == ["Node packages: started\n"]
