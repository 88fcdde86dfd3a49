"""``stacks/NAME/stack.toml``: the facts of a system, and every setting of its server with the reason for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, TypeAlias

from msgspec import Meta

from gapbook.declared.reading import Declared

__all__ = [
    "CommitLogTimer",
    "Container",
    "DurabilityFacts",
    "Limits",
    "Native",
    "Prebuilt",
    "Setting",
    "StackDeclaration",
    "Synchronous",
    "Wheel",
    "WheelTool",
    "Wheels",
]

Sha256: TypeAlias = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
DurabilityKind: TypeAlias = Literal["none", "delayed", "fsync-per-commit"]
Isolation: TypeAlias = Literal["read committed", "repeatable read", "serializable"]


class Setting(Declared, frozen=True, kw_only=True):
    """A setting that the server is started with and that is read back; ``others`` maps the values that an access
    level may ask for instead to their reasons."""

    value: str
    reason: str
    others: dict[str, str] = {}


class FixedSetting(Declared, frozen=True, kw_only=True):
    """What no interface of the server tells or changes: its value, and where that was read."""

    value: str
    reason: str


class Wheel(Declared, frozen=True, kw_only=True):
    """One wheel, by its hash; ``release`` is that of the registry where the version has another name there."""

    sha256: Sha256
    megabytes: int
    release: str | None = None


Wheels: TypeAlias = dict[str, dict[Literal["x86_64", "aarch64"], Wheel]]
"""By version and processor."""


class WheelTool(Declared, frozen=True, kw_only=True):
    """A program that an installation needs besides, in a wheel."""

    package: str
    program: str
    wheels: Wheels


class Prebuilt(Declared, frozen=True, kw_only=True):
    """Servers that their makers compiled, each in an archive that is taken by its hash and never by its name.

    ``addresses`` has one for each host, in which VERSION and ASSET stand for what is fetched; ``asset`` is the file
    for each processor, ``members`` all that it holds, of which ``program`` is unpacked. ``sha256`` is by version and
    processor, the newest version first. ``remark`` says what a reader must know of such a version.
    """

    addresses: tuple[str, ...]
    asset: dict[Literal["x86_64", "aarch64"], str]
    members: tuple[str, ...]
    program: str
    sha256: dict[str, dict[Literal["x86_64", "aarch64"], Sha256]]
    remark: str


class Native(Declared, frozen=True, kw_only=True):
    """How the server is installed and run without a container.

    ``package`` with ``program`` is a wheel's, ``crate`` with ``binary`` is compiled by cargo. ``version`` is the one
    that runs when nobody names another, ``newer_version`` a second one that some contestants run. ``prebuilt`` are
    versions that can stand in for the newer one. ``costs`` says what an installation takes before it begins.
    """

    install_hint: str
    version: str | None = None
    newer_version: str | None = None
    other_versions_hint: str | None = None
    package: str | None = None
    program: str | None = None
    wheels: Wheels = {}
    tools: dict[str, WheelTool] = {}
    crate: str | None = None
    binary: str | None = None
    expected_install_s: int | float | None = None
    costs: str | None = None
    prebuilt: Prebuilt | None = None


class Service(Declared, frozen=True, kw_only=True):
    """The image of a service that stands beside the server."""

    image: str


class Limits(Declared, frozen=True, kw_only=True):
    """What a container may take; absent: all."""

    memory_bytes: int | None = None
    shared_memory_bytes: int | None = None


class Ports(Declared, frozen=True, kw_only=True):
    """Ports inside a container whose image fixes them: that of the server, and that of an application's routes."""

    api: int
    site: int


class Container(Declared, frozen=True, kw_only=True):
    """How the server runs in a container.

    ``image`` of its makers, where VERSION stands for the version asked for, else for ``version``. ``only`` says why
    a system runs in no other way. ``program`` is the server in it, ``own_program`` that in an image of ours.
    """

    image: str
    version: str | None = None
    only: str | None = None
    ports: Ports | None = None
    environment: dict[str, str] = {}
    services: dict[str, Service] = {}
    limits: Limits = Limits()
    program: str | None = None
    own_program: str | None = None
    user: str | None = None


class CommitLogTimer(Declared, frozen=True, kw_only=True):
    """The timer of the log from a version on; ``max_ms`` is absent where there is none."""

    from_version: str
    verified: bool
    source: str
    max_ms: int | float | None = None


class Synchronous(Declared, frozen=True, kw_only=True):
    """The value of PRAGMA synchronous for a class, and why it keeps it."""

    value: Literal["OFF", "NORMAL", "FULL", "EXTRA"]
    reason: str


class DurabilityFacts(Declared, frozen=True, kw_only=True):
    """What is promised of a commit, and by what. ``synchronous`` is by journal and class; timers hold for versions
    up to ``read_up_to``."""

    reason: str
    synchronous: dict[Literal["wal", "delete"], dict[DurabilityKind, Synchronous]] = {}
    commit_log_timer: tuple[CommitLogTimer, ...] = ()
    read_up_to: str | None = None

    def synchronous_by_class(self, journal: str) -> Mapping[str, Synchronous]:
        """What keeps each class with a journal; nothing for one that is not declared."""
        return {
            str(kind): kept
            for known, values in self.synchronous.items()
            if known == journal
            for kind, kept in values.items()
        }


class NewestProtocol(Declared, frozen=True, kw_only=True):
    """The newest protocol that servers speak from a version on."""

    from_version: str
    newest: str


class StackDeclaration(Declared, frozen=True, kw_only=True):
    """The facts of one system.

    ``protocol`` is what its server speaks itself, ``isolation`` the level unless somebody asks for another of
    ``isolation_levels``, and ``isolation_in_effect`` what the module's operations get at that level. ``on_demand``:
    installed only for chapters that name it. ``colour`` is the system whose colour charts give it.
    """

    summary: str
    label: str
    protocol: str
    in_process: bool
    isolation: Isolation
    isolation_note: str
    isolation_levels: tuple[Isolation, ...] = ()
    isolation_in_effect: Isolation | None = None
    colour: str | None = None
    on_demand: bool = False
    simulated: bool = False
    native: Native | None = None
    container: Container | None = None
    settings: dict[str, Setting] = {}
    fixed: dict[str, FixedSetting] = {}
    durability: DurabilityFacts | None = None
    protocols: tuple[NewestProtocol, ...] = ()
