"""What a trial of a replicator may test, and when its strike begins and ends."""

from __future__ import annotations

from typing import Any

import pytest

from gapbook.declared.module import Access
from gapbook.declared.module import Replication as Tested
from gapbook.declared.reading import converted
from gapbook.deploy.deployment import Deployment
from gapbook.deploy.observed import Observed
from gapbook.deploy.replication import Commands
from gapbook.deploy.stack import Ahead
from gapbook.deploy.together import Together
from gapbook.errors import DeclarationError
from gapbook.model.event import Event, Progress

_ACCESS = Access(summary="statements", round_trips=0, reason="none")
_COMMANDS = Commands(lambda *_: ["true"], lambda *_: ["true"], lambda *_: None)


@pytest.mark.parametrize(
    ("wanted", "says"),
    [
        (
            {"strikes": "restart"},
            r"strikes: unknown key; did you mean strike\? allowed: .*ballast_mb, .*checkpoint",
        ),
        ({"strike": "flood"}, r'strike: "flood" is not allowed; allowed: restart, outage$'),
        ({"processes": "two"}, r'processes: "two" is not allowed; .*allowed: one, each$'),
        (
            {"strike": "outage", "round_trip_ms": 50},
            "an outage would end the relay too; leave round_trip_ms out",
        ),
    ],
)
def test_what_no_trial_tests_is_refused_by_name(wanted: dict[str, Any], says: str) -> None:
    with pytest.raises(DeclarationError, match=f"^procedure.toml:1: {says}") as refused:
        converted(wanted, Tested, "procedure.toml", "")
    assert "\n" not in str(refused.value)


def test_a_strike_lasts_for_the_middle_third_of_the_window(deployment: Deployment) -> None:
    ahead = Ahead(_ACCESS, 1, warmup_s=1.0, window_s=9.0)
    trial = Observed(Tested(strike="restart"), ahead, Together(deployment, "nobody"))

    def at(elapsed_s: float, phase: str = "window") -> str | None:
        return trial.on_event(Progress(elapsed_s=elapsed_s, acknowledged=0, phase=phase))

    trial.on_event(Event("window_start"))
    assert at(5.0, "warmup") is None
    assert [at(elapsed_s) for elapsed_s in (3.9, 4.1, 5.0)] == [None, "strike", None]
    assert not trial.strike_is_over
    assert [at(elapsed_s) for elapsed_s in (7.1, 8.0)] == ["relent", None]
    assert trial.strike_is_over
    assert Observed(Tested(), ahead, Together(deployment, "nobody")).strike_is_over
