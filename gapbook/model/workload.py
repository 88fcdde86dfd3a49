"""A workload: what its operations are, the state before and after them, and the audit of that state.

Written once for a workload, in ``workloads/NAME/workload.py``; everything else knows this protocol only.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self, TypeAlias

import polars as pl

from gapbook.model.declaration import Declaration, StateTable
from gapbook.model.reported import Indices, IssuedWork, Reported

__all__ = [
    "AuditResult",
    "DataFile",
    "Operations",
    "RowDifferences",
    "State",
    "Survived",
    "Workload",
    "frame_schema",
]

State: TypeAlias = Mapping[str, pl.DataFrame]
"""The tables of a declaration's ``state`` by name; their integer columns are Int64, their texts String."""
Operations: TypeAlias = Mapping[str, pl.DataFrame]
"""Operations by kind: the column ``place`` (which of the indices drawn), then the fields as declared."""
_TYPES: Mapping[str, type[pl.DataType]] = {"integer": pl.Int64, "text": pl.String}


def frame_schema(table: StateTable) -> dict[str, type[pl.DataType]]:
    """Names and types of the columns of a state's table, in the order declared."""
    return {name: _TYPES[kind] for name, kind in table.columns.items()}


@dataclass(frozen=True)
class DataFile:
    """A file that clients need, and the hash that it must have."""

    path: Path
    sha256: str


@dataclass(frozen=True)
class AuditResult:
    """What an audit found. It agrees when it has no ``problems``; each is a clause for people.

    ``lost`` acknowledged operations are not in the state, ``duplicated`` are in it again, ``unexpected``
    rows or changes are those of no operation that was acknowledged or in doubt: counts, or None where the
    state cannot tell. ``differing`` of the ``rows`` that were expected are not as they should be.
    ``compared`` says what was compared, as ``100,000 balances``.
    """

    compared: str
    rows: int
    differing: int
    in_doubt: int
    lost: int | None = None
    duplicated: int | None = None
    unexpected: int | None = None
    problems: tuple[str, ...] = ()

    @property
    def agrees(self) -> bool:
        return not self.problems

    def explain(self) -> str:
        """One clause on what differs, or on what was checked."""
        return "; ".join(self.problems) or f"{self.compared} agree"


@dataclass(frozen=True)
class Survived:
    """What a killed server still held: acknowledged operations that are gone, and operations in doubt that
    are there."""

    lost: int
    in_doubt_committed: int


@dataclass(frozen=True)
class RowDifferences:
    """Rows of a table that are missing, that nobody expected, that hold other values, and that are there
    again under the same key."""

    missing: int
    unexpected: int
    changed: int
    repeated: int

    @property
    def total(self) -> int:
        return self.missing + self.unexpected + self.changed + self.repeated

    @classmethod
    def between(cls, expected: pl.DataFrame, read: pl.DataFrame, key: Sequence[str]) -> Self:
        """The rows of ``read`` against those expected, which have each key once."""
        once = read.unique(key, keep="first")
        same = expected.join(once, on=expected.columns, how="semi").height
        known = expected.join(once, on=key, how="semi").height
        return cls(
            missing=expected.height - known,
            unexpected=once.height - known,
            changed=known - same,
            repeated=read.height - once.height,
        )


class Workload(Protocol):
    """One workload with its parameters.

    A class named ``Workload`` in ``workloads/NAME/workload.py`` extends this protocol.
    """

    declaration: Declaration
    parameters: Mapping[str, Any]
    """Every parameter of the declaration by name."""

    def __init__(self, declaration: Declaration, parameters: Mapping[str, Any]) -> None:
        """Raises ParameterError for what the declaration does not allow; left out means the default."""
        self.declaration = declaration
        self.parameters = declaration.checked(parameters)

    @property
    def name(self) -> str:
        return self.declaration.name

    def files(self, directory: Path) -> Mapping[str, DataFile]:
        """Write the files that clients need beneath the directory; those of the declaration by name."""
        del directory
        return {}

    @abstractmethod
    def initial_state(self) -> State:
        """The tables that a server holds before the first operation."""

    @abstractmethod
    def draw(self, seed: int, connection: int, indices: Indices) -> Operations:
        """The operations of one connection at these indices, a pure function of all three."""

    @abstractmethod
    def audit(self, seed: int, reported: Reported, state: State) -> AuditResult:
        """Hold the state that was read back against the operations that a load reports."""

    def told_apart(self) -> Self:
        """The same workload with parameters under which the state tells which operations survived a kill."""
        return self

    @abstractmethod
    def survived(self, seed: int, work: Sequence[IssuedWork], state: State) -> Survived | None:
        """What a recovered server holds of the work, or None where its state has no single answer."""

    def impossible(self, state: State) -> str | None:
        """What of the state no operations could have made, whichever of them survived, as a clause; None where
        there is nothing of the kind that this workload can tell."""
        del state
        return None

    @abstractmethod
    def committed(self, seed: int, connections: int, about: int, state: State) -> int | None:
        """How many operations are in the state, where nobody knows how many each connection issued.

        ``about`` is how many are known to have been acknowledged. None where there is no single answer.
        """
