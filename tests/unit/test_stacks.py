"""What a reader names as a server, and what a durability class promises."""

import pytest

from gapbook.deploy.server import ServerChoice
from gapbook.deploy.stack import discover_stacks, stack_class
from gapbook.errors import ParameterError
from gapbook.record.durability import Durability


def test_a_named_endpoint_is_recorded_without_its_password() -> None:
    choice = ServerChoice.parse("postgresql://me:secret@127.0.0.1:5999/bank")
    assert choice.without_password() == "postgresql://127.0.0.1:5999/bank"


def test_a_path_that_is_no_file_is_refused() -> None:
    with pytest.raises(ParameterError, match="neither a server binary nor a URL"):
        ServerChoice.parse("/nowhere/postgres")


@pytest.mark.parametrize(
    "text", ["none", "fsync-per-commit", "delayed", "delayed(500 ms)", "delayed(1.5 ms)"]
)
def test_durability_reads_what_it_prints(text: str) -> None:
    assert str(Durability.parse(text)) == text


@pytest.mark.parametrize("text", ["", "fast", "delayed()", "delayed(0 ms)", "delayed(-1 ms)", "delayed(500)"])
def test_other_durability_is_refused(text: str) -> None:
    with pytest.raises(ParameterError, match="allowed: none, fsync-per-commit, delayed"):
        Durability.parse(text)


def test_a_later_or_weaker_promise_does_not_satisfy() -> None:
    declared = Durability.parse("delayed(500 ms)")
    assert Durability.parse("delayed(498 ms)").satisfies(declared)
    assert not Durability.parse("delayed(501 ms)").satisfies(declared)
    assert not Durability.parse("none").satisfies(declared)
    assert not Durability.parse("fsync-per-commit").satisfies(declared)


def test_a_delay_without_a_bound_satisfies_no_bound() -> None:
    unbounded = Durability.parse("delayed")
    assert unbounded.satisfies(unbounded)
    assert Durability.parse("delayed(498 ms)").satisfies(unbounded)
    assert not unbounded.satisfies(Durability.parse("delayed(498 ms)"))
    assert not Durability.parse("fsync-per-commit").satisfies(unbounded)


def test_stacks_are_found_by_their_folders_and_give_a_reason_for_every_setting() -> None:
    for name, stack in discover_stacks().items():
        assert stack.folder.name == name
        for setting, entry in stack.facts.get("settings", {}).items():
            assert entry["reason"].strip(), f"{name}: {setting} has no reason"


def test_an_unknown_stack_lists_those_there_are() -> None:
    with pytest.raises(ParameterError, match=r"'oracle' has no folder under stacks/.*postgres"):
        stack_class("oracle")
