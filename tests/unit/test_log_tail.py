"""The last words of a log are one line of plain text, and the one that tells what went wrong is among them."""

from pathlib import Path

import pytest

from gapbook.deploy.process import log_tail
from gapbook.paths import CHECKOUT


def test_colours_of_a_terminal_are_left_out(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("first\n\x1b[2m2026-11-23\x1b[0m \x1b[31mERROR\x1b[0m no snapshot\n", encoding="utf-8")
    assert log_tail(log) == "first | 2026-11-23 ERROR no snapshot"


def test_a_log_that_says_nothing_says_so(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("\n", encoding="utf-8")
    assert (log_tail(tmp_path / "empty"), log_tail(tmp_path / "none")) == ("(empty log)", "(no log)")


_NODE = """
node:internal/modules/cjs/loader:1424
  throw err;
  ^

Error: Cannot find module '/x/absent.js'
    at Module._resolveFilename (node:internal/modules/cjs/loader:1421:15)
    at node:internal/main/run_main_module:36:49 {
  code: 'MODULE_NOT_FOUND',
  requireStack: [],
  errno: -2,
  syscall: 'open'
}

Node.js v24.11.1
"""
_FAULT = """Fatal Python error: Segmentation fault

Current thread 0x00007f (most recent call first):
  File "/x/a.py", line 3 in fall
  File "/x/b.py", line 3 in <module>

Extension modules: zmq.backend.cython._zmq, numpy (total: 2)
"""
_PYTHON = """Traceback (most recent call last):
  File "<frozen runpy>", line 198, in _run_module_as_main
  File "<frozen runpy>", line 88, in _run_code
ModuleNotFoundError: No module named 'ipykernel'
"""
_RUST = """
thread 'main' panicked at src/main.rs:7:5:
no such thing
note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace
"""
_POSTGRES = """LOG:  starting PostgreSQL 17.2
FATAL:  could not create lock file "postmaster.pid": No space left on device
LOG:  shutting down
LOG:  database system is shut down
"""


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (_NODE, "Error: Cannot find module '/x/absent.js' | code: 'MODULE_NOT_FOUND', | requireStack: [],"),
        (
            _FAULT,
            "Fatal Python error: Segmentation fault",
        ),
        (_PYTHON, "ModuleNotFoundError: No module named 'ipykernel'"),
        (_RUST, "thread 'main' panicked at src/main.rs:7:5: | no such thing"),
        (_POSTGRES, " | ".join(_POSTGRES.splitlines()[-3:])),
        ("x\n" * 100_000 + "Error: it is so\n}\n\n}\n", "x | x | Error: it is so"),
    ],
)
def test_what_a_runtime_prints_below_an_error_is_not_told_in_its_place(
    text: str, told: str, tmp_path: Path
) -> None:
    (tmp_path / "log").write_text(text, encoding="utf-8")
    assert log_tail(tmp_path / "log") == told


@pytest.mark.parametrize(("home", "told"), [("/home/somebody", "~/x.ts"), ("/", "/home/somebody/x.ts")])
def test_files_are_told_without_whose_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: str, told: str
) -> None:
    monkeypatch.setenv("HOME", home)
    log = tmp_path / "log"
    log.write_text(
        f"Error: {CHECKOUT}/clients/node/call.ts of /home/somebody/x.ts, see https://a.b\n", encoding="utf-8"
    )
    assert log_tail(log) == f"Error: clients/node/call.ts of {told}, see https://a.b"
