"""What a step of the set-up says of its time, on fast and on slow machines."""

from __future__ import annotations

import sys

import pytest

from gapbook.deploy import toolchain
from gapbook.deploy.expected import Counted, Expected
from gapbook.deploy.toolchain import run_step
from gapbook.errors import SetupError

_SLOW = "this machine is slow or busy (10.0 min were expected)"


@pytest.mark.parametrize(
    ("elapsed_s", "counted", "says"),
    [
        # Nothing is counted: what is expected, and the truth where that is over.
        (60, None, "60 s, about 9.0 min left"),
        (700, None, "11.7 min, 10.0 min were expected"),
        (2_280, None, f"38.0 min, {_SLOW}"),
        # Few crates in much of the time: that little is left cannot be.
        (300, Counted(3, 100), f"3 of 100 crates, 5.0 min, about 14.4 min left, {_SLOW}"),
        # As expected, four times as fast, three times as slow.
        (240, Counted(50, 100), "50 of 100 crates, 4.0 min, about 6.0 min left"),
        (60, Counted(50, 100), "50 of 100 crates, 60 s, about 4.2 min left"),
        (720, Counted(50, 100), f"50 of 100 crates, 12.0 min, about 10.8 min left, {_SLOW}"),
        # Its last crate: still something left, of a time that is long over.
        (2_280, Counted(99, 100), f"99 of 100 crates, 38.0 min, about 8.3 min left, {_SLOW}"),
    ],
)
def test_what_is_left_follows_what_is_seen(elapsed_s: float, counted: Counted | None, says: str) -> None:
    assert Expected(600).line(elapsed_s, counted) == says


def test_slow_machines_are_told_sooner_than_their_time_is_over() -> None:
    for slowness in (1.0, 1.2):
        lines = [Expected(600).line(6 * slowness * done, Counted(done, 100)) for done in range(100)]
        assert not any(_SLOW in line for line in lines)
    slow = [Expected(600).line(18 * done, Counted(done, 100)) for done in range(100)]
    assert 18 * next(done for done, line in enumerate(slow) if _SLOW in line) < 600


_BUILDS_AND_FAILS = """
import sys, time
sys.stderr.write("   Compiling alpha v1.0.0\\n")
sys.stderr.write("    Building [=====>    ] 3/8: alpha, beta      \\r")
sys.stderr.flush()
time.sleep(1)
sys.stderr.write("error: the disk is full\\n    Building [=======>  ] 5/8: gamma      \\r")
sys.exit(3)
"""


def test_a_step_says_the_count_of_its_crates_and_fails_with_words_of_its_own(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(toolchain, "_REPORT_EVERY_S", 0.1)
    with pytest.raises(SetupError, match=r"^server: ended with code 3: error: the disk is full; "):
        run_step("server", [sys.executable, "-c", _BUILDS_AND_FAILS], expected_s=600)
    said = capsys.readouterr()
    assert said.out.startswith("server: started, about 10.0 min\n")
    assert "\nserver: 3 of 8 crates, " in said.out
    assert said.err.splitlines() == ["   Compiling alpha v1.0.0", "error: the disk is full"]
