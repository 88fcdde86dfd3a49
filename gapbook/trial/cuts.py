"""Power cuts of all contestants of a scenario, one after the other, each with a server of its own on the disk."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from gapbook.deploy.deployment import Deployment
from gapbook.deploy.power_cut import PowerCutDisk, require_power_cuts
from gapbook.deploy.server import ServerChoice
from gapbook.deploy.stack import Stack
from gapbook.errors import SetupError, StackError
from gapbook.record.cuts import CutCheck
from gapbook.trial.contestant import Contestant
from gapbook.trial.cut_check import cut_check, uncut_row
from gapbook.trial.scenario import Scenario
from gapbook.trial.servers import choice_of, stack_of
from gapbook.trial.struck_load import is_struck

__all__ = ["cut_disks"]


def cut_disks(
    scenario: Scenario,
    choices: Mapping[str, ServerChoice],
    cuts: int,
    rows: list[CutCheck],
    *,
    keep: Callable[[], None],
    say: Callable[[str], None] = print,
) -> None:
    """Cut the power of each contestant's disk ``cuts`` times, save what is among ``rows`` already, and add a row
    for each cut; ``keep`` is called after each, so that an interrupted run goes on where it stopped.

    Where no disk can be cut, that is said in one line, and each contestant has a row with the reason.
    """
    nowhere = _why_nowhere()
    if nowhere:
        say(nowhere)
    for contestant in scenario.contestants:
        if not is_struck(contestant):
            continue
        done = [row for row in rows if row.contestant == contestant.name]
        left = set(range(cuts)) - {row.round for row in done}
        if not left or (done and not any(map(_was_loaded, done))):
            continue
        if why_not := nowhere or _why_not(contestant, choices):
            rows.append(uncut_row(contestant, scenario, min(left), why_not))
            keep()
            continue
        say(f"cutting the power of {contestant.name}, {len(left)} times")
        for row in _cut_rounds(contestant, scenario, choices, left):
            rows.append(row)
            keep()


def _why_nowhere() -> str | None:
    try:
        require_power_cuts()
    except SetupError as error:
        return str(error)
    return None


def _why_not(contestant: Contestant, choices: Mapping[str, ServerChoice]) -> str | None:
    if choice_of(choices, contestant).endpoint:
        return "the disk of a server that the reader named is not cut"
    if contestant.placement.in_container:
        return "its server runs in a container; cut the disk of the same program natively"
    if contestant.load_client.reports == "counts":
        return "its client counts only, so that nobody could tell which operations are gone"
    return None


def _was_loaded(row: CutCheck) -> bool:
    return row.load_s is not None


def _cut_rounds(
    contestant: Contestant, scenario: Scenario, choices: Mapping[str, ServerChoice], left: set[int]
) -> Iterator[CutCheck]:
    """Rows of the rounds that are left. A server that could not be brought back gets another disk, as long as
    there was a load on the last one."""
    worked = True
    while left and worked:
        worked = False
        with Deployment() as deployment, deployment.declaring(contestant.environment):
            start = partial(_started, contestant, scenario, choices, deployment)
            for row in cut_check(contestant, scenario, deployment, start, rounds=left):
                yield row
                left = left - {row.round}
                worked = worked or _was_loaded(row)


def _started(
    contestant: Contestant,
    scenario: Scenario,
    choices: Mapping[str, ServerChoice],
    deployment: Deployment,
    disk: PowerCutDisk,
) -> Stack:
    """The contestant's server with its data on the disk; raises StackError when it does not prove its class."""
    declared = scenario.durability_of(contestant)
    stack = stack_of(contestant, scenario, choices, deployment, disk.folder)
    try:
        stack.start()
        proven = stack.durability()
        if proven is None or not proven.satisfies(declared):
            raise StackError(f"{stack.name}: it proves durability {proven}, not {declared}")
    except BaseException:
        stack.stop()
        raise
    return stack
