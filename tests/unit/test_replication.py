"""What a trial of a replicator may test, and when its strike begins and ends."""

from __future__ import annotations

from typing import Any

import pytest

from gapbook.deploy.deployment import Deployment
from gapbook.deploy.observed import Observed
from gapbook.deploy.replication import Commands, Replication
from gapbook.deploy.stack import Ahead
from gapbook.deploy.together import Together
from gapbook.errors import StackError

_COMMANDS = Commands(lambda *_: ["true"], lambda *_: ["true"], lambda *_: None)


@pytest.mark.parametrize(
    ("wanted", "says"),
    [
        (
            {"strikes": "restart"},
            r"replication: strikes is unknown; allowed: ballast_mb, checkpoint, .*strike",
        ),
        ({"strike": "flood"}, r"replication\.strike: 'flood' is unknown; allowed: restart, outage"),
        ({"processes": "two"}, r"replication\.processes: 'two' is unknown; allowed: one, each"),
        (
            {"strike": "outage", "round_trip_ms": 50},
            "an outage would end the relay too; leave round_trip_ms out",
        ),
    ],
)
def test_what_no_trial_tests_is_refused_by_name(
    deployment: Deployment, wanted: dict[str, Any], says: str
) -> None:
    ahead = Ahead({"replication": wanted}, 1, 0.0, 1.0)
    with pytest.raises(StackError, match=f"^walrust: .*{says}") as refused:
        Replication(deployment, "walrust", [], _COMMANDS, {}, ahead)
    assert "\n" not in str(refused.value)


def test_a_strike_lasts_for_the_middle_third_of_the_window(deployment: Deployment) -> None:
    ahead = Ahead({}, 1, warmup_s=1.0, window_s=9.0)
    trial = Observed({"strike": "restart"}, ahead, Together(deployment, "nobody"))

    def at(elapsed_s: float, phase: str = "window") -> str | None:
        return trial.on_event({"event": "progress", "phase": phase, "elapsed_s": elapsed_s})

    trial.on_event({"event": "window_start"})
    assert at(5.0, "warmup") is None
    assert [at(elapsed_s) for elapsed_s in (3.9, 4.1, 5.0)] == [None, "strike", None]
    assert not trial.strike_is_over
    assert [at(elapsed_s) for elapsed_s in (7.1, 8.0)] == ["relent", None]
    assert trial.strike_is_over
    assert Observed({}, ahead, Together(deployment, "nobody")).strike_is_over
