"""What a trial does: operations of kinds that have fields, each a pure function of seed, connection and index.

Kept apart from the auditor's own draw in ``workloads/``: importing that would load the whole harness into the
client, and one fault would hide in both.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, Literal, NamedTuple, Protocol, cast

from gap_python import workloads
from gap_python.decode import Decoded, choose
from gap_python.failure import EXIT_CONFIGURATION, EXIT_INTEGRITY, ClientError, message_of

FieldType = Literal["u32", "u64", "text"]
Kind = Mapping[str, FieldType]
"""The fields of a kind of operation, in the order in which a call names them."""
Fields = tuple[int | str, ...]

_DRAWN_AT_A_TIME = 1024


class Operation(NamedTuple):
    """One operation of a kind, with a value for each of the kind's fields."""

    kind: str
    fields: Fields


class Workload(Protocol):
    """A module in ``workloads`` has one as its ``Workload``, made from seed, parameters and files."""

    kinds: Mapping[str, Kind]
    refusals: tuple[str, ...]
    """The names of those that are expected; every other one is an ``error``."""

    def draw(self, connection: int, first_index: int, count: int) -> list[Operation]:
        """``count`` consecutive operations of a connection."""
        ...


class WorkloadFile(Decoded):
    """A file that a workload is drawn from, as the harness wrote it."""

    path: str
    sha256: str

    def read(self) -> bytes:
        """Its bytes, which are those that the configuration's hash promises; raises ClientError."""
        try:
            data = Path(self.path).read_bytes()
        except OSError as error:
            raise ClientError(EXIT_CONFIGURATION, f"workload.files: {message_of(error)}") from error
        if hashlib.sha256(data).hexdigest() != self.sha256:
            raise self.broken("it does not have the sha256 that is given")
        return data

    def broken(self, why: str) -> ClientError:
        return ClientError(
            EXIT_INTEGRITY, f"workload file {self.path}: {why}; let the harness write it again"
        )


class WorkloadConfig(Decoded):
    """What a configuration says of a workload."""

    name: str
    seed: int
    parameters: dict[str, Any]
    files: dict[str, WorkloadFile]

    def file(self, name: str) -> WorkloadFile:
        """Raises ClientError where it is missing."""
        if name not in self.files:
            raise ClientError(EXIT_CONFIGURATION, f"workload.files.{name}: missing; allowed: path and sha256")
        return self.files[name]


def workload_names() -> list[str]:
    """A module that is put into ``workloads`` is known."""
    return [module.name.replace("_", "-") for module in iter_modules(workloads.__path__)]


def create_workload(config: WorkloadConfig) -> Workload:
    """The work that a configuration asks for; raises ClientError for one that this client does not know."""
    name = choose("workload.name", config.name, workload_names())
    module = import_module(f"{workloads.__name__}.{name.replace('-', '_')}")
    return cast(Workload, module.Workload(config))


def stream(workload: Workload, connection: int) -> Iterator[Operation]:
    """The operations of a connection from its first on."""
    first_index = 0
    while True:
        yield from workload.draw(connection, first_index, _DRAWN_AT_A_TIME)
        first_index += _DRAWN_AT_A_TIME
