"""How long a run waits for a quiet machine."""

from __future__ import annotations

import pytest

from gapbook.record.gates import Gate
from gapbook.trial.patience import Patience

_QUIET = [Gate("steal", True, 0.0, 0.01, ""), Gate("quiet machine", None, None, 0.1, "")]


def _refused_by(name: str) -> list[Gate]:
    return [Gate(name, False, 1.0, 0.0, "")]


@pytest.mark.parametrize("name", ["steal", "quiet machine"])
def test_each_spoilt_trial_in_a_row_is_followed_by_a_longer_wait_up_to_two_minutes(name: str) -> None:
    patience = Patience()
    assert [patience.after(_refused_by(name)) for _ in range(7)] == [5, 10, 20, 40, 80, 120, 120]


def test_a_quiet_trial_is_followed_by_none_and_the_next_wait_is_short_again() -> None:
    patience = Patience()
    waits = [patience.after(gates) for gates in (_refused_by("steal"),) * 2 + (_QUIET, _refused_by("steal"))]
    assert waits == [5, 10, 0, 5]


@pytest.mark.parametrize("name", ["reconciled", "depth", "settings", "failures", "steady"])
def test_a_trial_with_a_fault_of_its_own_is_followed_by_no_wait(name: str) -> None:
    assert Patience().after(_refused_by(name)) == 0


def test_a_trial_that_ended_before_it_was_judged_is_followed_by_no_wait() -> None:
    assert Patience().after([]) == 0


def test_a_machine_that_never_gets_quiet_is_waited_for_a_quarter_of_an_hour_in_all() -> None:
    patience = Patience()
    waits = [patience.after(_refused_by("steal")) for _ in range(50)]
    assert sum(waits) == patience.waited_s == 900
    assert waits[-1] == 0
