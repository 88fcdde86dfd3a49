"""The last words of a log are one line of plain text."""

from pathlib import Path

from gapbook.deploy.process import log_tail


def test_colours_of_a_terminal_are_left_out(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("first\n\x1b[2m2026-11-23\x1b[0m \x1b[31mERROR\x1b[0m no snapshot\n", encoding="utf-8")
    assert log_tail(log) == "first | 2026-11-23 ERROR no snapshot"


def test_a_log_that_says_nothing_says_so(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("\n", encoding="utf-8")
    assert (log_tail(tmp_path / "empty"), log_tail(tmp_path / "none")) == ("(empty log)", "(no log)")
