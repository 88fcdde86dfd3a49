"""What varies in a scenario is a parameter that its workload declares so, or the connections of its load."""

from __future__ import annotations

from typing import Any

import pytest

from gapbook import Chapter
from gapbook.errors import ParameterError
from gapbook.record.durability import Durability
from gapbook.trial.contestant import Contestant
from gapbook.trial.scenario import Scenario, WorkloadSettings
from gapbook.trial.treatment import Treatment

_WORKLOAD = "counter-and-messages"
_GIVEN: dict[str, Any] = {
    "source": "live",
    "connections": [20, 1, 50],
    "counters": 10,
    "window_s": 1.0,
    "warmup_s": 0.5,
    "blocks": 1,
    "attempts": 1,
    "kills": 0,
    "seed": 7,
    "durability": "delayed",
    "contestants": "all",
    "servers": "",
}


def _scenario(**changed: Any) -> Scenario:
    contestant = Contestant(
        "hot", "postgres", "procedure", "rpc", "rust", 1, parameters={"counters": 1}, workload=_WORKLOAD
    )
    values = {
        "chapter": "test",
        "contestants": (contestant,),
        "workload": WorkloadSettings(_WORKLOAD, {"counters": 10}),
        "treatment": Treatment.of("connections", _WORKLOAD, [20, 1, 50]),
        "connections": 50,
        "window_s": 1.0,
        "warmup_s": 0.5,
        "durability": Durability("fsync-per-commit"),
        "seed": 7,
    }
    return Scenario(**{**values, **changed})


def test_connections_vary_the_load_and_leave_the_workload_alone() -> None:
    scenario = _scenario()
    assert scenario.treatment.values == (1, 20, 50)
    assert [scenario.connections_at(value) for value in scenario.treatment.values] == [1, 20, 50]
    workload = scenario.workload_of(scenario.contestants[0], 20)
    assert (workload.parameters["counters"], workload.parameters["increment_share"]) == (1, 0.7)
    recorded = scenario.recorded()
    assert (recorded.treatment.name, recorded.treatment.at(20)) == ("connections", "20 users")
    assert recorded.workload.parameters["counters"] == 10
    assert recorded.contestants[0].levels["workload"] == "counters 1"


def test_a_parameter_of_the_workload_varies_the_workload_and_not_the_load() -> None:
    contestant = Contestant("bank", "postgres", "procedure", "direct", "rust", 1)
    scenario = _scenario(
        contestants=(contestant,),
        workload=WorkloadSettings("transfer", {"accounts": 100}),
        treatment=Treatment.of("alpha", "transfer", [1.5, 0.5]),
    )
    drawn = [scenario.workload_of(contestant, value).parameters["alpha"] for value in (0.5, 1.5)]
    assert (drawn, scenario.connections_at(1.5)) == ([0.5, 1.5], 50)
    assert "alpha" not in scenario.recorded().workload.parameters


@pytest.mark.parametrize(
    ("name", "workload", "values", "words"),
    [
        ("alpha", _WORKLOAD, [1], "treatment: 'alpha' cannot be varied in workload counter-and-messages; allowed: connections"),
        ("weather", "transfer", [1], "treatment: 'weather' cannot be varied in workload transfer; allowed: alpha, connections"),
        ("accounts", "transfer", [9], "treatment: 'accounts' cannot be varied"),
        ("alpha", "transfer", [], "treatment: alpha needs one value or several different ones"),
        ("alpha", "transfer", [1, 1.0], "treatment: alpha needs one value or several different ones"),
        ("alpha", "chess", [1], "workload: 'chess' has no folder under workloads/; there are: chat, counter-and-messages, fibonacci, transfer"),
    ],
)  # fmt: skip
def test_a_treatment_that_cannot_be_is_one_line(
    name: str, workload: str, values: list[float], words: str
) -> None:
    with pytest.raises(ParameterError) as caught:
        Treatment.of(name, workload, values)
    assert str(caught.value).startswith(words)
    assert "\n" not in str(caught.value)


def test_what_does_not_fit_is_refused_before_a_server_starts() -> None:
    with pytest.raises(ParameterError, match="connections: 20 are not the most"):
        _scenario(connections=20)
    with pytest.raises(ParameterError, match="parameter counters: 0 is not allowed by workload"):
        _scenario(workload=WorkloadSettings(_WORKLOAD, {"counters": 0}))
    with pytest.raises(ParameterError, match="workload: hot has counter-and-messages, the scenario transfer"):
        _scenario(
            workload=WorkloadSettings("transfer"), treatment=Treatment.of("connections", "transfer", [50])
        )
    with pytest.raises(ParameterError, match="workload: 'chess' has no folder under modules/postgres"):
        Contestant("some", "postgres", "procedure", "rpc", "rust", 1, workload="chess")


def test_a_chapter_takes_the_parameters_of_its_workload_and_no_others() -> None:
    chapter = Chapter("test", _GIVEN, workload=_WORKLOAD, treatment="connections")
    assert chapter.parameters == _GIVEN
    for changed, words in (
        ({"alpha": 0.5}, "parameter alpha: unknown"),
        ({"counters": [1, 2]}, "parameter counters: .* is not allowed"),
        ({"increment_share": 1.5}, "parameter increment_share: 1.5 is not allowed"),
    ):
        with pytest.raises(ParameterError, match=words):
            Chapter("test", {**_GIVEN, **changed}, workload=_WORKLOAD, treatment="connections")
    without = {name: value for name, value in _GIVEN.items() if name != "connections"}
    with pytest.raises(ParameterError, match="parameters cell does not set connections"):
        Chapter("test", without, workload=_WORKLOAD, treatment="connections")


def test_a_whole_number_that_varies_is_told_to_the_workload_as_one() -> None:
    treatment = Treatment.of("n", "fibonacci", [25, 30])
    settings = WorkloadSettings("fibonacci", {})
    given = [settings.at(**treatment.parameters(value)).parameters["n"] for value in treatment.values]
    assert [(type(n), n) for n in given] == [(int, 25), (int, 30)]
    with pytest.raises(ParameterError, match=r"parameter n: 25\.5 is not allowed"):
        settings.at(**treatment.parameters(25.5))
