"""Where a server runs: what may be said, who can run there, and what it is called in a record."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from gapbook.deploy.server import ServerChoice
from gapbook.deploy.stack import discover_stacks, stack_class
from gapbook.errors import ParameterError, SetupError
from gapbook.parameters import check_parameters, parse_assignment
from gapbook.record.placement import NATIVE, Placement
from gapbook.trial.contestant import Contestant
from gapbook.trial.servers import absent_images, choice_of, parse_choices, require_servers
from tests.unit.test_scenario import DELAYED, postgres, scenario, spacetimedb

OWN = "docker+own-image"


@pytest.mark.parametrize("text", ["native", "docker", "docker+layer", "docker+host-network+layer+own-image"])
def test_a_place_reads_what_it_prints(text: str) -> None:
    assert str(Placement.parse(text)) == text


@pytest.mark.parametrize(
    "text", ["", "podman", "native+layer", "docker+", "docker+layer+layer", "docker+fast"]
)
def test_other_places_are_refused_with_what_is_allowed(text: str) -> None:
    with pytest.raises(
        ParameterError, match=r"backend: .* allowed: native, or docker with any of \+host-net"
    ):
        Placement.parse(text)
    with pytest.raises(ParameterError, match=r"parameter backend: .* allowed: native, or docker"):
        check_parameters({"backend": text})


def test_a_place_is_a_parameter_of_the_command_line() -> None:
    name, value = parse_assignment("backend=docker+host-network")
    assert check_parameters({name: value}) == {"backend": "docker+host-network"}


def test_one_contestant_in_two_places_has_two_servers_and_two_levels() -> None:
    native, contained = postgres("a"), postgres("b", backend=OWN)
    assert native.variant(DELAYED) != contained.variant(DELAYED)
    assert contained.variant(DELAYED).label(DELAYED) == f"postgres ({OWN})"
    recorded = scenario(native, contained).recorded().contestants
    assert recorded[0].differs_in(recorded[1]) == recorded[1].differs_in(recorded[0]) == {"backend"}
    assert "backend" not in scenario(native).recorded().contestants[0].levels
    assert "in a container" in contained.detail_label
    assert contained.settings.backend == OWN
    assert native.settings.backend is None


def test_a_run_without_containers_keeps_the_key_that_it_had() -> None:
    described = json.dumps(scenario(postgres(), spacetimedb()).as_dict())
    assert "backend" not in described
    assert "watched" not in described
    assert json.loads(described)["treatment"].keys() == {"name", "values", "label", "words"}
    assert OWN in json.dumps(scenario(postgres(backend=OWN)).as_dict())
    assert scenario(postgres(watched=True)).as_dict() != scenario(postgres()).as_dict()


def test_the_place_of_a_contestant_is_that_of_its_server() -> None:
    choices = parse_choices("postgres=image:mine:1")
    chosen = choice_of(choices, postgres(backend="docker"))
    assert chosen == ServerChoice(image="mine:1", placement=Placement.parse("docker"))
    assert chosen.without_password() == "image:mine:1"
    assert choice_of({}, postgres()).placement == NATIVE


@pytest.mark.parametrize(
    ("choice", "says"),
    [
        (ServerChoice(image="mine:1"), "is given an image, which runs with backend=docker"),
        (
            ServerChoice(endpoint="postgresql://127.0.0.1/b", placement=Placement(True)),
            "whose place is its own affair",
        ),
        (ServerChoice(image="a:1", placement=Placement.parse(OWN)), r"besides \+own-image"),
    ],
)
def test_what_was_named_must_be_able_to_run_there(choice: ServerChoice, says: str) -> None:
    with pytest.raises(ParameterError, match=rf"^backend: postgres .*{says}"):
        stack_class("postgres").located(choice)


def test_an_engine_inside_its_caller_has_no_place() -> None:
    with pytest.raises(ParameterError, match="backend: sqlite runs inside its caller"):
        Contestant("s", "sqlite", "drizzle", "rpc", "typescript", 1, backend="docker")


def test_where_no_engine_answers_a_run_is_refused_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    with pytest.raises(
        SetupError,
        match=r"^docker: no engine answers at /nowhere/docker.sock \(No such file or directory\); .*backend=nat",
    ) as no:
        require_servers({}, [postgres(backend="docker")], DELAYED)
    assert "\n" not in str(no.value)
    for stack in discover_stacks().values():
        if stack.runs_in_containers():
            with pytest.raises(SetupError, match="no engine answers"):
                stack.image_here()


def test_an_engine_of_another_machine_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:1")
    with pytest.raises(SetupError, match=r"docker: the engine at tcp://127\.0\.0\.1:1 is on another machine"):
        require_servers({}, [postgres(backend="docker")], DELAYED)


def test_who_runs_in_containers_only_is_absent_where_there_is_no_engine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    monkeypatch.setattr(
        stack_class("postgres"), "only_in_containers", classmethod(lambda cls: "its makers say so")
    )
    contestants = [replace(spacetimedb("s")), postgres("p")]
    assert contestants[1].backend is None
    assert str(contestants[1].placement) == "docker"
    absent = absent_images({}, contestants)
    assert list(absent) == ["p"]
    assert absent["p"].startswith("docker: no engine answers")


def test_every_image_is_pinned_by_a_tag_that_is_not_latest() -> None:
    for name, stack in discover_stacks().items():
        facts = stack.facts.container
        for image in (facts.image, *(one.image for one in facts.services.values())) if facts else ():
            _, colon, tag = image.rpartition("/")[2].partition(":")
            assert colon, name
            assert tag, name
            assert tag != "latest", name
