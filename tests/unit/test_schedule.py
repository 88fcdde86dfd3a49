"""What of a plan is still to be run: sessions take their blocks in turn, and what was refused comes again."""

from __future__ import annotations

from typing import Any

from gapbook.model.plan import make_plan
from gapbook.trial.schedule import Schedule

_PLAN = make_plan(["a", "b"], [0.0], blocks=4, seed=5)
_SCHEDULE = Schedule(_PLAN, sessions=2, attempts=3)


def _row(valid: bool) -> dict[str, Any]:
    return {"valid": valid}


def _run(session: int, done: dict[int, dict[str, Any]], refused: set[int]) -> list[int]:
    """The numbers of the trials that a session runs, where trials with these numbers are refused."""
    ran = []
    for planned in _SCHEDULE.left_of(session, done):
        done[planned.number] = _row(planned.number not in refused)
        ran.append(planned.number)
    return ran


def test_sessions_share_the_blocks_in_order() -> None:
    assert _SCHEDULE.blocks == 4
    done: dict[int, dict[str, Any]] = {}
    assert _run(0, done, set()) == [0, 1, 2, 3]
    assert (_SCHEDULE.is_done(0, done), _SCHEDULE.is_done(1, done)) == (True, False)
    assert _run(1, done, set()) == [4, 5, 6, 7]
    assert _SCHEDULE.is_done(1, done)


def test_a_refused_trial_comes_again_at_the_end_of_its_block_until_its_attempts_are_used() -> None:
    again, last = 1 + len(_PLAN), 1 + 2 * len(_PLAN)
    assert _run(0, {}, {1}) == [0, 1, again, 2, 3]
    assert _run(0, {}, {1, again, last}) == [0, 1, again, last, 2, 3]


def test_an_interrupted_session_goes_on_with_what_is_left() -> None:
    done = {0: _row(True), 1: _row(False)}
    assert not _SCHEDULE.is_done(0, done)
    assert _run(0, done, set()) == [1 + len(_PLAN), 2, 3]
    # One that was refused for the last time is not left.
    refused = {1 + attempt * len(_PLAN): _row(False) for attempt in range(3)}
    assert _SCHEDULE.is_done(0, {0: _row(True), 2: _row(True), 3: _row(True), **refused})


def test_a_trial_is_said_by_its_place_in_the_plan() -> None:
    done = {number: _row(number != 5) for number in range(len(_PLAN))}
    (again,) = _SCHEDULE.left_of(1, done)
    assert _SCHEDULE.title(_PLAN[5]) == "trial 6/8, block 3"
    assert _SCHEDULE.title(again) == "trial 6/8 again, block 3"
    assert (again.contestant, again.work_seed) == (_PLAN[5].contestant, _PLAN[5].work_seed)
