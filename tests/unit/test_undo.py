"""What takes a change outside a deployment back is run by whoever comes later, from whatever checkout that is."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from gapbook.deploy import warden
from gapbook.paths import CHECKOUT


def test_a_step_names_neither_the_interpreter_nor_the_checkout_that_wrote_it() -> None:
    script = CHECKOUT / "stacks" / "spacetimedb" / "drop_database.py"
    words = warden.portable([sys.executable, "-I", script, "gapbook-0123456789abcdef"])
    assert not [word for word in words if sys.executable in word or str(CHECKOUT) in word]
    assert words[-1] == "gapbook-0123456789abcdef"


def test_a_step_is_run_with_what_is_here_now_and_is_gone_then(tmp_path: Path) -> None:
    program = "import pathlib, sys; pathlib.Path(sys.argv[1]).write_text(sys.argv[2])"
    seen, step = tmp_path / "seen", tmp_path / "000000.json"
    command = warden.portable([sys.executable, "-I", "-c", program, seen, CHECKOUT / "README.md"])
    step.write_text(json.dumps({"what": "a file", "command": command, "environment": {}}), encoding="utf-8")
    assert warden.undo(step) is None
    assert seen.read_text(encoding="utf-8") == str(CHECKOUT / "README.md")
    assert not step.exists()


def test_a_step_whose_program_is_gone_stays_and_says_so_in_one_line(tmp_path: Path) -> None:
    step = tmp_path / "000000.json"
    written = {"what": "a file", "command": [str(tmp_path / "gone")], "environment": {}}
    step.write_text(json.dumps(written), encoding="utf-8")
    said = warden.undo(step)
    assert said is not None
    assert said.startswith("a file is still there (")
    assert "\n" not in said
    assert step.exists()


_OWNER = """
import os, signal, sys
from pathlib import Path
from gapbook.deploy.deployment import Deployment
parent, program, tried = sys.argv[1:]
with Deployment(Path(parent)) as deployment:
    deployment.on_abandon([sys.executable, "-I", "-c", program, tried], what="a file")
    os.kill(os.getpid(), signal.SIGKILL)
"""
_FAILS_ONCE = """
import pathlib, sys
tried = pathlib.Path(sys.argv[1])
again = tried.exists()
tried.touch()
sys.exit(0 if again else "too busy")
"""


def test_a_step_that_fails_is_tried_again_by_the_warden_of_a_killed_owner(tmp_path: Path) -> None:
    parent, tried = tmp_path / "data", tmp_path / "tried"
    parent.mkdir()
    owner = [sys.executable, "-c", _OWNER, str(parent), _FAILS_ONCE, str(tried)]
    killed = subprocess.run(
        owner, check=False, capture_output=True, text=True, cwd=CHECKOUT, timeout=120, encoding="utf-8"
    )
    # The warden has the pipe of its words open as long as it is at work.
    assert (killed.returncode, killed.stderr) == (-9, "")
    assert tried.exists()
    assert not list(parent.iterdir())
