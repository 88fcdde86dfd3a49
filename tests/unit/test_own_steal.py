"""What the hypervisor takes for a contestant's own work is told from what it gives to neighbours."""

from __future__ import annotations

from typing import Any

import pytest

from gapbook.model.plan import PlannedTrial
from gapbook.trial import gates
from gapbook.trial.own_steal import own_steal_frac

_WINDOW_S, _PROCESSORS = 2.0, 2


def _row(contestant: str, share: float | None, treatment: float = 0.5, block: int = 0) -> dict[str, Any]:
    stolen_s = None if share is None else share * _WINDOW_S * _PROCESSORS
    return {
        "block": block,
        "contestant": contestant,
        "treatment": treatment,
        "steal_s": stolen_s,
        "window_s": _WINDOW_S,
    }


def _blocks(contestant: str, *shares: float) -> list[dict[str, Any]]:
    """A trial in each block."""
    return [_row(contestant, share, block=block) for block, share in enumerate(shares)]


def _own(*rows: dict[str, Any]) -> float:
    return own_steal_frac(rows, PlannedTrial(9, 0, "syncs", 0.5, 1), _PROCESSORS)


def test_nothing_is_a_contestants_own_before_its_first_trial() -> None:
    assert _own() == 0.0
    assert _own(_row("computes", 0.04), _row("syncs", 0.04, treatment=1.5), _row("syncs", None)) == 0.0


def test_three_trials_of_two_blocks_are_the_fewest_that_tell_what_is_usual() -> None:
    calm = _row("computes", 0.0)
    assert _own(calm, *_blocks("syncs", 0.05, 0.05)) == 0.0
    assert _own(calm, *(_row("syncs", 0.05, block=7) for _ in range(4))) == 0.0
    spread = [_row("syncs", 0.05), _row("syncs", 0.05), _row("syncs", 0.05, block=1)]
    assert _own(calm, *spread) == pytest.approx(0.05)


def test_a_trial_that_a_neighbour_spoilt_is_no_allowance_for_its_retry() -> None:
    rows = [_row("computes", 0.0), _row("syncs", 0.0975)]
    retried = gates.steal(0.10 * _WINDOW_S * _PROCESSORS, _WINDOW_S, _PROCESSORS, _own(*rows))
    assert retried.passed is False
    assert "usual" not in retried.text
    # Nor are several of them, where the contestant lost little in another trial.
    assert _own(_row("computes", 0.0), *_blocks("syncs", 0.10, 0.0025, 0.12)) == pytest.approx(0.0025)


def test_the_lower_quarter_of_the_same_setup_tells_its_own() -> None:
    rows = [_row("computes", 0.0), _row("syncs", 0.01, treatment=1.5)]
    assert _own(*rows, *_blocks("syncs", 0.05, 0.03, 0.04)) == pytest.approx(0.03)
    # One trial that lost unusually little does not refuse the usual ones.
    assert _own(*rows, *_blocks("syncs", 0.05, 0.03, 0.001, 0.04, 0.06)) == pytest.approx(0.03)


def test_a_neighbour_who_never_rests_is_nobodys_own_work() -> None:
    assert _own(_row("computes", 0.02), *_blocks("syncs", 0.05, 0.05, 0.05)) == pytest.approx(0.03)
    assert _own(_row("computes", 0.05), *_blocks("syncs", 0.05, 0.05, 0.05)) == 0.0
    assert _own(*_blocks("syncs", 0.01, 0.05, 0.05)) == 0.0


def test_a_setup_that_syncs_without_a_pause_passes_once_its_own_is_known() -> None:
    """A flat limit refused every trial of such a setup, however calm the machine was, and a limit above its calmest
    trial refused it for good after the fourth of these."""
    shares = (0.030, 0.025, 0.034, 0.008, 0.032, 0.032, 0.034, 0.060)
    rows, passed = [_row("computes", 0.0)], []
    for block, share in enumerate(shares):
        gate = gates.steal(share * _WINDOW_S * _PROCESSORS, _WINDOW_S, _PROCESSORS, _own(*rows))
        passed.append(gate.passed)
        rows.append(_row("syncs", share, block=block))
    assert passed == [False, False, False, True, False, True, True, False]
