"""Which server each contestant gets: the one that the reader named for its system and version, or our own."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from gapbook.deploy.deployment import Deployment
from gapbook.deploy.file_system import data_keeping
from gapbook.deploy.limits import allowed_processors, most_open_files
from gapbook.deploy.process import LOOPBACK
from gapbook.deploy.server import ServerChoice
from gapbook.deploy.stack import Stack, StackContext
from gapbook.deploy.toolchain import said_version
from gapbook.errors import ParameterError, SetupError, cut, nearest
from gapbook.model.declaration import declaration_of
from gapbook.record.durability import Durability
from gapbook.trial.contestant import Contestant, Variant
from gapbook.trial.scenario import Scenario

__all__ = [
    "OTHER_FILES",
    "absent_here",
    "absent_images",
    "absent_tiers",
    "absent_versions",
    "choice_of",
    "parse_choices",
    "require_connections",
    "require_kept",
    "require_open_files",
    "require_processors",
    "require_servers",
    "require_used",
    "stack_of",
    "started_stacks",
    "tier_versions",
]


OTHER_FILES = 64
"""Which a server or a client has open besides its connections: tables, logs, pipes."""


def parse_choices(text: str) -> dict[str, ServerChoice]:
    """``STACK=BINARY``, ``STACK=URL`` or ``STACK@VERSION=...``, separated by commas; by what stands before
    the equals sign. Raises ParameterError."""
    chosen: dict[str, ServerChoice] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, equals, named = (word.strip() for word in part.partition("="))
        system, at, version = name.partition("@")
        if not equals or not system or named in {"", "image:"} or bool(at) != bool(version):
            raise ParameterError(
                f"servers: {cut(repr(_without_password(part)))} is not of the form STACK=BINARY, STACK=URL or STACK@VERSION=BINARY"
            )
        if name in chosen:
            raise ParameterError(f"servers: {name} is named twice; name one server for it")
        chosen[name] = replace(ServerChoice.parse(named), version=version or None)
    return chosen


def _without_password(part: str) -> str:
    return re.sub(r"(://)[^/]*@", r"\1", part)


def choice_of(choices: Mapping[str, ServerChoice], contestant: Contestant) -> ServerChoice:
    """What was named for a contestant, with the version that it asks for; nothing named is our own server.

    What is named for a stack without a version stands for the version that the stack has by itself.
    """
    name = _name_of(choices, contestant)
    named = ServerChoice() if name is None else choices[name]
    return replace(named, version=contestant.version, placement=contestant.placement)


def stack_of(
    contestant: Contestant,
    scenario: Scenario,
    choices: Mapping[str, ServerChoice],
    deployment: Deployment,
    storage: Path | None = None,
    listen: str = LOOPBACK,
) -> Stack:
    """The server of a contestant, not started yet; ``storage`` is where its data lies, if not in the deployment, and
    ``listen`` at which address of this machine clients call it."""
    variant = contestant.variant(scenario.durability)
    return contestant.stack(
        StackContext(
            deployment,
            scenario.durability_of(contestant),
            choice_of(choices, contestant),
            processors=variant.processors,
            isolation=variant.isolation,
            program=variant.program,
            workload=scenario.workload.name,
            settings=dict(variant.settings),
            storage=storage,
            listen=listen if contestant.stack.listens_elsewhere else LOOPBACK,
        )
    )


def _name_of(choices: Mapping[str, ServerChoice], contestant: Contestant) -> str | None:
    named = [f"{contestant.system}@{contestant.version}"]
    if contestant.version in (None, contestant.stack.own_version()):
        named.append(contestant.system)
    return next((name for name in named if name in choices), None)


def require_used(
    choices: Mapping[str, ServerChoice], contestants: Sequence[Contestant], durability: Durability
) -> None:
    """Raise ParameterError for a server that no contestant gets, or that would have to be two at once."""
    for name, choice in choices.items():
        theirs = [contestant for contestant in contestants if _name_of(choices, contestant) == name]
        if not theirs:
            system, at, version = name.partition("@")
            kind = f"version {version} of {system}" if at else f"system {system!r}"
            raise ParameterError(
                f"servers: {cut(repr(name))} is for the {kind}, which no contestant has; leave it out"
                f"{nearest(name, (contestant.system for contestant in contestants))}"
            )
        declaring = [contestant.name for contestant in theirs if contestant.environment]
        if choice.endpoint and declaring:
            raise ParameterError(
                f"servers: {name} runs already, so that it cannot get the environment of {', '.join(declaring)}; "
                "name a binary, or leave these contestants out"
            )
        if choice.endpoint and len({contestant.variant(durability) for contestant in theirs}) > 1:
            raise ParameterError(
                f"servers: {name} runs with several settings here, which one running server cannot "
                "have; name a binary, or select contestants of one setting"
            )


def require_servers(
    choices: Mapping[str, ServerChoice], contestants: Sequence[Contestant], durability: Durability
) -> None:
    """Find the server of each contestant, before any is started; raises SetupError, ParameterError or StackError
    where there is none, where it is another version, or where it cannot run the access level or keep the
    durability class."""
    found = {}
    for contestant in contestants:
        choice = choice_of(choices, contestant)
        asked = Durability.parse(contestant.durability) if contestant.durability else durability
        where = (contestant.system, choice)
        if where not in found:
            found[where] = contestant.stack.located(choice)
        contestant.module.require_version(contestant.access, found[where].version)
        contestant.stack.require_durability(found[where], asked)


def require_kept(
    choices: Mapping[str, ServerChoice], contestants: Sequence[Contestant], durability: Durability
) -> None:
    """Raise SetupError where a server that we start as a process is to promise something about the disk, and the folder
    of its data is on none, as far as can be told. One in a container or of the reader's tells of its own."""
    data = data_keeping()
    if data.kept:
        return
    for contestant in contestants:
        asked = Durability.parse(contestant.durability) if contestant.durability else durability
        choice = choice_of(choices, contestant)
        ours = not (choice.endpoint or choice.placement.in_container or contestant.said.simulated)
        if ours and asked.kind != "none" and declaration_of(contestant.workload).state:
            raise SetupError(f"durability: {asked} of {contestant.name} cannot be kept: {data.why_not}")


def require_processors(contestants: Sequence[Contestant]) -> None:
    """Raise ParameterError where a server is to have more processors to itself than this process may use, or leaves a
    client none that is to have its own."""
    allowed = allowed_processors()
    for contestant in contestants:
        if (contestant.server_cores or 0) > len(allowed):
            raise ParameterError(
                f"server cores: {contestant.name} pins its server to {contestant.server_cores}, and this process may "
                f"use {len(allowed)} (number {', '.join(map(str, allowed))}); allow it more, or leave that contestant out"
            )
        if contestant.client_processors == []:
            raise ParameterError(
                f"client_apart: {contestant.name} gives its server {contestant.server_cores} of {len(allowed)} processors "
                "that this process may use, and its client the others: there are none; allow it more, or leave that "
                "contestant out"
            )


def require_connections(
    choices: Mapping[str, ServerChoice], contestants: Sequence[Contestant], connections: int
) -> None:
    """Raise ParameterError where the load opens more connections than a server of ours takes.

    How many one takes that the reader named, shows as they are opened.
    """
    for contestant in contestants:
        most = contestant.stack.most_connections()
        if most is not None and connections > most and not choice_of(choices, contestant).endpoint:
            raise ParameterError(
                f"parameter connections: {connections} are more than {contestant.system} takes "
                f"(contestant {contestant.name}); allowed: at most {most}, or select other contestants"
            )


def require_open_files(connections: int) -> None:
    """Raise ParameterError where a server, or a client beside it, may not have so many connections open."""
    most, needed = most_open_files(), connections + OTHER_FILES
    if needed > most:
        raise ParameterError(
            f"parameter connections: {connections} need {needed} open files in one process, and this shell allows {most}; "
            f"allow more (ulimit -n {needed}), or take fewer connections"
        )


def absent_here(choices: Mapping[str, ServerChoice], contestants: Sequence[Contestant]) -> dict[str, str]:
    """Contestants that cannot be measured on this machine, each with the reason: their version, their image or the
    program in front of their server is not here. Raises SetupError when nobody would be left."""
    absent = absent_versions(choices, contestants) | absent_tiers(contestants)
    absent |= absent_images(choices, contestants)
    if len(absent) == len(contestants):
        raise SetupError(next(iter(absent.values())))
    return absent


def absent_versions(choices: Mapping[str, ServerChoice], contestants: Sequence[Contestant]) -> dict[str, str]:
    """Contestants whose server is optional and not here, each with the reason: those of a version that nobody
    named and that is not the stack's own, or is, and another version of the same system is here."""
    absent, own = {}, []
    systems_here = set()
    for contestant in contestants:
        choice = choice_of(choices, contestant)
        if contestant.version in (None, contestant.stack.own_version()):
            own.append((contestant, choice))
        elif choice.named:
            systems_here.add(contestant.system)
        elif why := _why_absent(contestant, choice):
            absent[contestant.name] = why
        else:
            systems_here.add(contestant.system)
    for contestant, choice in own:
        optional = contestant.version and not choice.named and contestant.system in systems_here
        if optional and (why := _why_absent(contestant, choice)):
            absent[contestant.name] = why
    return absent


def _why_absent(contestant: Contestant, choice: ServerChoice) -> str:
    """Why the server of a contestant is not here; empty where it is."""
    try:
        contestant.stack.located(choice)
    except SetupError as error:
        return str(error)
    return ""


def absent_images(choices: Mapping[str, ServerChoice], contestants: Sequence[Contestant]) -> dict[str, str]:
    """Contestants of systems that run in containers only and cannot here, each with the reason."""
    absent = {}
    for contestant in contestants:
        choice = choice_of(choices, contestant)
        if contestant.stack.only_in_containers() and not choice.endpoint:
            try:
                contestant.stack.located(choice)
            except SetupError as error:
                absent[contestant.name] = str(error)
    return absent


def absent_tiers(contestants: Sequence[Contestant]) -> dict[str, str]:
    """Contestants behind a tier whose program is not on this machine, each with the reason."""
    absent = {}
    for contestant in contestants:
        try:
            contestant.module.tier_program(contestant.tier)
        except SetupError as error:
            absent[contestant.name] = str(error)
    return absent


def tier_versions(contestants: Iterable[Contestant]) -> dict[str, str]:
    """What each program that runs a tier's server says of its version: ``{"bun": "1.4.5", "node": "v24.11.1"}``.

    Raises SetupError where one is missing or says nothing.
    """
    found = {contestant.module.tier_program(contestant.tier) for contestant in contestants}
    return {program.name: said_version(program) for program in sorted(filter(None, found))}


@contextmanager
def started_stacks(
    scenario: Scenario,
    choices: Mapping[str, ServerChoice],
    deployment: Deployment,
    say: Callable[[str], None],
    listen: str = LOOPBACK,
) -> Iterator[dict[Variant, Stack]]:
    """Every server that a scenario needs, each started once, until the block ends; ``say`` hears of each. ``listen`` is
    that of :func:`stack_of`."""
    stacks: dict[Variant, Stack] = {}
    try:
        for contestant in scenario.contestants:
            variant = contestant.variant(scenario.durability)
            if variant not in stacks:
                say(f"starting {variant.label(scenario.durability)}")
                stacks[variant] = stack_of(contestant, scenario, choices, deployment, listen=listen)
                with deployment.declaring(contestant.environment):
                    stacks[variant].start()
        yield stacks
    finally:
        for stack in stacks.values():
            stack.stop()
