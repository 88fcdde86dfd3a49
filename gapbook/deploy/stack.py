"""Stacks: one deployed system each, behind one interface, discovered from their folders.

``stacks/NAME/stack.toml`` declares facts (each setting with its reason), ``stacks/NAME/stack.py``
holds the verbs in a class named ``Stack`` that extends :class:`Stack` of this module. The folder is a
package: ``stack.py`` imports modules beside it as ``from .name import ...``.
"""

from __future__ import annotations

import importlib.util
import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from gapbook.declared.module import Access
from gapbook.declared.reading import read
from gapbook.declared.stack import StackDeclaration
from gapbook.deploy.backend import Running
from gapbook.deploy.deployment import Deployment
from gapbook.deploy.endpoint import Endpoint
from gapbook.deploy.module import load_module
from gapbook.deploy.placed import Placed
from gapbook.deploy.process import LOOPBACK
from gapbook.deploy.server import Server, ServerChoice
from gapbook.errors import ParameterError, SetupError, StackError, nearest
from gapbook.model.event import Event
from gapbook.paths import CHECKOUT
from gapbook.record.durability import Durability
from gapbook.record.own_metric import OwnMetric

if TYPE_CHECKING:
    import polars as pl

    from gapbook.model.declaration import StateTable
    from gapbook.model.workload import State, Workload

__all__ = [
    "Ahead",
    "Observation",
    "Stack",
    "StackContext",
    "discover_stacks",
    "stack_class",
]

_TO_DO = "write one that extends gapbook.deploy.stack.Stack (CONTRIBUTING.md, Add a system)"


@dataclass(frozen=True)
class Ahead:
    """What the next trial is: ``access`` is what its module says of the access level, ``databases`` over how many
    database files the load is spread."""

    access: Access
    databases: int
    warmup_s: float
    window_s: float


@dataclass(frozen=True)
class Observation:
    """What a stack itself saw of a trial: ``metrics`` by name, and ``remarks``, which say in words why they are as they are."""

    metrics: Mapping[str, OwnMetric] = field(default_factory=dict)
    remarks: Sequence[str] = ()


@dataclass
class StackContext:
    """What a stack is given: where it may write, what it was asked to be."""

    deployment: Deployment
    durability: Durability
    choice: ServerChoice = field(default_factory=ServerChoice)
    processors: Sequence[int] | None = None
    """CPU numbers to which the server is pinned; None means all."""
    isolation: str | None = None
    """The level that operations run at unless they say otherwise; None is the server's own default."""
    program: str | None = None
    """What the server is given to run where it is not the module's own program: a folder of the module."""
    workload: str = "transfer"
    """The workload whose module is loaded when the stack starts."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Settings with another value than stack.toml has, one of its ``others``."""
    storage: Path | None = None
    """Folder in which the server's data lies, as on a disk whose power is cut; None is the deployment's own."""
    listen: str = LOOPBACK
    """The address of this machine at which clients call the server; of another than loopback by hosts elsewhere."""


class Stack(Placed, ABC):
    """One system deployed for a run: started once, reset before each trial.

    Verbs raise :class:`gapbook.errors.StackError` with one line that says what failed where.
    """

    counts_commits: ClassVar[bool] = True
    """Whether the engine keeps a count of committed operations, be it not of every trial."""
    listens_elsewhere: ClassVar[bool] = False
    """Whether a server of ours listens where its context says; one that does not is called on loopback alone."""
    can_be_elsewhere: ClassVar[bool] = False
    """Whether a server that the reader names may be on another machine: all that a trial needs of it is asked over the
    network."""

    def __init__(self, context: StackContext) -> None:
        super().__init__(
            context.deployment, context.choice, processors=context.processors, storage=context.storage
        )
        self.context = context
        self.module = load_module(self.name, context.workload)
        self._workload: Workload | None = None
        self._require_settings()

    def _require_settings(self) -> None:
        for name, value in self.context.settings.items():
            declared = self.facts.settings.get(name)
            others = declared.others if declared else {}
            if value not in others:
                raise StackError(
                    f"{self.name}: {name} = {value!r} is not offered; stacks/{self.name}/stack.toml offers "
                    f"besides its own value: {', '.join(others) or 'none'}"
                )

    # --- before a run -------------------------------------------------------------------------
    @classmethod
    @abstractmethod
    def install(cls) -> None:
        """Bring the server binary into the cache if it is not there; long steps show progress
        (``gapbook.deploy.toolchain.run_step``)."""

    @classmethod
    def install_for(cls, named: Collection[str] | None) -> None:
        """Bring what a chapter needs whose code holds the words ``named``, versions of the server among them; of
        None, what a plain set-up brings. Where a system has one way to come, that is :meth:`install`."""
        del named
        cls.install()

    @classmethod
    @abstractmethod
    def locate(cls, choice: ServerChoice) -> Server:
        """The server that would run; raises SetupError naming the command that installs it."""

    @classmethod
    def own_version(cls) -> str | None:
        """The version that runs when the reader names none; None for a stack that does not say."""
        return cls.facts.native.version if cls.facts.native else None

    @classmethod
    def versions(cls) -> list[str]:
        """The versions that stack.toml names: that of a plain contestant, a newer one, those in its place."""
        native = cls.facts.native
        named = [native.version, native.newer_version, *cls.stand_ins()] if native else []
        return list(dict.fromkeys(filter(None, named)))

    @classmethod
    def stand_ins(cls) -> list[str]:
        """The versions that can stand in for the newer one: those that are fetched as their makers built them."""
        prebuilt = cls.facts.native.prebuilt if cls.facts.native else None
        return list(prebuilt.sha256) if prebuilt else []

    @classmethod
    def is_here(cls, version: str | None) -> bool:
        """Whether a server of that version is on this machine; None is the stack's own."""
        try:
            cls.located(ServerChoice(version=version))
        except SetupError:
            return False
        return True

    @classmethod
    def located(cls, choice: ServerChoice) -> Server:
        """What ``locate`` finds, in the version that was asked for, or the image of a container, which is pulled
        or built where it is not here; raises SetupError when it is another version, or nowhere."""
        cls.require_place(choice)
        if choice.elsewhere and not cls.can_be_elsewhere:
            able = ", ".join(name for name, one in discover_stacks().items() if one.can_be_elsewhere)
            raise SetupError(
                f"{cls.name}: the server that {choice.without_password()} names is on another machine; allowed there: {able}"
            )
        server = cls.located_image(choice) if choice.placement.in_container else cls.locate(choice)
        if choice.version is not None and not _is_version(choice.version, server.version):
            raise SetupError(
                f"{cls.name}: {server.path} is version {server.version}, not {choice.version}; "
                f"name one that is: servers={cls.name}@{choice.version}=PATH"
            )
        return server

    @classmethod
    def require_durability(cls, server: Server, durability: Durability) -> None:
        """Raise StackError when this version cannot keep the class, as far as that shows before it starts."""
        del server, durability

    @classmethod
    def most_connections(cls) -> int | None:
        """How many connections of a load a server of ours takes, by the settings that it declares; None: no limit is
        declared."""
        return None

    # --- life ---------------------------------------------------------------------------------
    @abstractmethod
    def start(self) -> None:
        """Start with a fresh data directory, wait until ready, load the module; idempotent."""

    @abstractmethod
    def stop(self) -> None:
        """End the server and remove its data directory."""

    @abstractmethod
    def processes(self) -> Sequence[Running]:
        """What runs of the server, for CPU and memory accounting and for kills.
        Empty for an endpoint that the reader named, and for an engine that runs inside its client or tier."""

    def kill(self) -> None:
        """End every process of the server at once with SIGKILL; its data directory stays.

        Does nothing for an engine that runs inside its client or tier: who kills those kills it.
        """
        running = self.processes()
        for one in running:
            one.kill()
        self.deployment.release(running)

    def recover(self) -> None:
        """Start the killed server again on its data directory and wait until it answers; address and
        credentials stay valid. Does nothing for an engine that has no process of its own."""
        if self.processes():
            raise StackError(f"{self.name}: its stack.py does not say how a killed server is started again")

    # --- a trial ------------------------------------------------------------------------------
    def prepare(self, ahead: Ahead) -> None:
        """Hear what the next trial is, before it is seeded. Raises StackError for more databases than there are."""
        if ahead.databases != 1:
            raise StackError(f"{self.name}: it is one database, not {ahead.databases}; leave databases out")

    def on_event(self, event: Event) -> None:
        """Hear the progress of a client (clients/CONTRACT.md) while it loads the stack."""
        del event

    def observe(self) -> Observation:
        """What the stack itself measures of a trial as soon as its load is over. Where some promise is tested that
        is not the durability of a commit, this is where it is."""
        return Observation()

    def beside(self) -> Sequence[Running]:
        """What else runs for a trial and is not the system's own: its CPU is counted as a tier's."""
        return []

    def seed(self, workload: Workload) -> None:
        """Reset to exactly the initial state of the workload; whatever an earlier trial left (rows, bloat,
        backlog) is gone."""
        if workload.name != self.context.workload:
            raise StackError(
                f"{self.name}: started with the module of {self.context.workload}, asked to hold {workload.name}"
            )
        self._workload = workload
        self._reset(workload)

    @abstractmethod
    def _reset(self, workload: Workload) -> None:
        """What :meth:`seed` does of this system."""

    @abstractmethod
    def endpoint(self) -> Endpoint:
        """The ``endpoint`` object of the client contract for the stack's own protocol."""

    def spoken(self) -> Endpoint:
        """What a client must be told so that a null server meets it in the protocol that this server
        speaks: a ceiling in another one says nothing. Nothing where a stack has one protocol."""
        return {}

    @abstractmethod
    def settings(self) -> dict[str, str]:
        """Settings read back from the running server (never from our own configuration)."""

    def declared_settings(self) -> dict[str, str]:
        """What stack.toml declares or the context asks for, and ``settings`` must show; nothing for a server
        that is not ours."""
        if self.context.choice.endpoint:
            return {}
        own = {name: setting.value for name, setting in self.facts.settings.items()}
        return own | dict(self.context.settings)

    @abstractmethod
    def durability(self) -> Durability | None:
        """The durability class proven by what the running server says; None of one on another machine that does not
        say it over the network."""

    @abstractmethod
    def committed_operations(self) -> int | None:
        """The server's own count of committed operations since it started; a difference is exact
        once all clients have left. None where there is no count of this trial, be it that the engine keeps
        none (``counts_commits``) or that it counts what was rolled back too: the state alone decides."""

    def metric_transactions(self) -> int | None:
        """What the server's public metrics say of transactions that succeeded, as published benchmarks read
        them: not what was committed of the workload. None where there are no such metrics."""
        return None

    def state(self) -> State:
        """Every row of the workload's tables as the server holds it now, in no order."""
        if self._workload is None:
            raise StackError(f"{self.name}: not seeded, so there is no state to read")
        return {
            name: self._read_table(name, table) for name, table in self._workload.declaration.state.items()
        }

    @abstractmethod
    def _read_table(self, name: str, table: StateTable) -> pl.DataFrame:
        """The rows of one table with the columns that it declares (:func:`gapbook.model.workload.frame_schema`)."""

    @abstractmethod
    def log_bytes(self) -> int | None:
        """Bytes of write-ahead or commit log on disk so far: when it stops growing, the backlog is gone. None of a
        server on another machine that does not say it over the network."""

    @abstractmethod
    def server(self) -> Server:
        """The program that runs now, as it reports itself."""


def _is_version(asked: str, said: str) -> bool:
    """Whether a server's own words name the version asked for: ``18`` is also said by ``18.6``."""
    numbers = re.findall(r"\d+(?:\.\d+)*[\w.+-]*", said)
    return any(number == asked or number.startswith(f"{asked}.") for number in numbers)


@cache
def discover_stacks() -> Mapping[str, type[Stack]]:
    """Every folder under ``stacks/`` that has a stack.toml, by name."""
    found: dict[str, type[Stack]] = {}
    for facts_path in sorted((CHECKOUT / "stacks").glob("*/stack.toml")):
        folder = facts_path.parent
        stack = _class_of(folder)
        stack.name, stack.folder = folder.name, folder
        stack.facts = read(facts_path, StackDeclaration)
        found[folder.name] = stack
    return found


def _class_of(folder: Path) -> type[Stack]:
    """The class of a stack's folder; raises SetupError where it has none."""
    file = folder / "stack.py"
    module_name = f"gapbook_stack_{folder.name.replace('-', '_')}"
    # A package, so that stack.py can import what lies beside it.
    spec = importlib.util.spec_from_file_location(module_name, file, submodule_search_locations=[str(folder)])
    # A file that is not there has a loader all the same.
    if not file.is_file() or spec is None or spec.loader is None:
        raise SetupError(f"stacks/{folder.name}: no stack.py beside stack.toml; {_TO_DO}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    spec.loader.exec_module(module)
    stack = getattr(module, "Stack", None)
    if not (isinstance(stack, type) and issubclass(stack, Stack) and stack is not Stack):
        raise SetupError(f"stacks/{folder.name}/stack.py: no class Stack of its own; {_TO_DO}")
    return stack


def stack_class(name: str) -> type[Stack]:
    """The stack of that name; raises ParameterError listing those there are."""
    stacks = discover_stacks()
    if name not in stacks:
        raise ParameterError(
            f"system: {name!r} has no folder under stacks/; there are: {', '.join(stacks)}{nearest(name, stacks)}"
        )
    return stacks[name]
