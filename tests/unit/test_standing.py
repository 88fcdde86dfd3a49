"""Which published run a page shows: the newest, save one that says no more of another machine."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from gapbook.record.standing import Standing, shown


def _run(
    began: float, processor: str, sessions: int, connections: int = 64, contestants: str = "a b"
) -> Standing:
    manifest: dict[str, Any] = {
        "started_unix_s": began,
        "machine": {"processor": processor, "kernel": "6.1"},
        "scenario": {
            "workload": {"name": "transfer"},
            "connections": connections,
            "treatment": None,
            "contestants": [{"name": name} for name in contestants.split()],
        },
        "deployments": [{"session": session, "waited_s": 0.0} for session in range(sessions) for _ in "two"],
    }
    return msgspec.convert(manifest, Standing)


_FIRST = _run(1, "Xeon", 5)


@pytest.mark.parametrize(
    ("newer", "takes_over"),
    [
        (_run(2, "EPYC", 3), False),
        (_run(2, "EPYC", 5), False),
        (_run(2, "EPYC", 6), True),
        (_run(2, "Xeon", 3), True),
        (_run(2, "EPYC", 3, connections=50), True),
        (_run(2, "Xeon", 5, contestants="b"), False),
        (_run(2, "EPYC", 5, contestants="a"), False),
        (_run(2, "Xeon", 5, contestants="b c"), True),
        (_run(2, "EPYC", 3, contestants="a b c"), True),
        (_run(2, "Xeon", 5, contestants="b", connections=50), True),
    ],
    ids=[
        "fewer sessions of another processor",
        "as many of another processor",
        "more of another processor",
        "the same processor",
        "another load",
        "one of the contestants",
        "one of them on another processor",
        "another contestant too",
        "one more in fewer sessions of another processor",
        "one of them under another load",
    ],
)
def test_a_newer_run_takes_the_page_over_unless_it_says_no_more(newer: Standing, takes_over: bool) -> None:
    assert shown([newer, _FIRST]) is (newer if takes_over else _FIRST)


def test_each_newer_run_is_held_against_the_one_that_the_page_shows_by_then() -> None:
    beside = _run(2, "EPYC", 2)
    assert shown([_FIRST, beside, _run(3, "EPYC", 3)]) is _FIRST
    assert shown([_FIRST, beside, _run(3, "EPYC", 3), _run(4, "Xeon", 1)]).started_unix_s == 4


def test_the_processor_with_most_sessions_in_all_has_the_page() -> None:
    beside, last = _run(2, "EPYC", 2), _run(3, "EPYC", 4)
    assert shown([_FIRST, beside, last]) is last
    assert shown([_FIRST, _run(2, "EPYC", 2, connections=50), last]) is not _FIRST, (
        "the load is another one by then"
    )
    assert shown([_FIRST, _run(2, "EPYC", 2, contestants="a"), last]) is _FIRST, (
        "sessions of fewer contestants"
    )


def test_a_run_that_tells_no_sessions_has_none() -> None:
    old = msgspec.convert({"started_unix_s": 0, "machine": {"processor": "EPYC"}, "scenario": {}}, Standing)
    assert old.sessions == 0
    assert shown([old, _FIRST]) is _FIRST
