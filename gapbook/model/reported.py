"""What a client reports of its connections, as the operations that an audit replays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from gapbook.model.report import Connection

__all__ = ["Counted", "Indices", "IssuedWork", "Listed", "Reported", "issued_work", "reported_of"]

Indices: TypeAlias = NDArray[np.uint64]


@dataclass(frozen=True)
class Listed:
    """A connection of which each operation is known: acknowledged, in doubt, or (neither) refused."""

    connection: int
    acknowledged: Indices
    in_doubt: Indices


@dataclass(frozen=True)
class Counted:
    """A connection whose client counts only: how many operations it drew, and how many of each kind were
    acknowledged."""

    connection: int
    issued: int
    acknowledged: Mapping[str, int]


@dataclass(frozen=True)
class Reported:
    """All connections of a load, and how many of its operations are in doubt."""

    listed: tuple[Listed, ...] = ()
    counted: tuple[Counted, ...] = ()
    in_doubt: int = 0

    @property
    def acknowledged(self) -> int:
        """How many operations the connections make acknowledged."""
        return sum(len(one.acknowledged) for one in self.listed) + sum(
            sum(one.acknowledged.values()) for one in self.counted
        )


def reported_of(
    connections: Sequence[Connection], in_doubt: int, replayed_batch: int | None = None
) -> Reported:
    """The work of the connections of a checked report, of which so many operations are in doubt.

    ``replayed_batch`` is the length after which a client with that flaw draws the same operations again.
    """
    return Reported(
        tuple(_listed(row, replayed_batch) for row in connections if row.counts is None),
        tuple(
            Counted(row.connection, row.issued, row.counts) for row in connections if row.counts is not None
        ),
        in_doubt,
    )


def _listed(row: Connection, replayed_batch: int | None) -> Listed:
    every = np.arange(row.issued, dtype=np.uint64)
    in_doubt = np.array(row.in_doubt, dtype=np.uint64)
    left_out = [index for index, _ in row.failed] + row.in_doubt
    acknowledged = np.delete(every, np.array(left_out, dtype=np.intp)) if left_out else every
    if replayed_batch is not None:
        acknowledged, in_doubt = (
            acknowledged % np.uint64(replayed_batch),
            in_doubt % np.uint64(replayed_batch),
        )
    return Listed(row.connection, acknowledged, in_doubt)


@dataclass(frozen=True)
class IssuedWork:
    """What a connection may have committed, in its order; ``acknowledged`` says of each whether the
    client was told so."""

    connection: int
    indices: Indices
    acknowledged: NDArray[np.bool_]

    def lost(self, prefix: int) -> int:
        """Acknowledged operations beyond the prefix."""
        return int(self.acknowledged[prefix:].sum())

    def committed_in_doubt(self, prefix: int) -> int:
        """Operations in the prefix of which the client was told nothing."""
        return int((~self.acknowledged[:prefix]).sum())


def issued_work(row: Connection, in_flight: int) -> IssuedWork:
    """The work of one row of a report's ``connections``.

    A refused operation was not committed. But where a tier answers for a server that has just died, its
    ``error`` means as little as no answer. In doubt are those that can have been out when it happened: the first
    ``in_flight`` of them after the last acknowledgement, and those that a later request was acknowledged beside.
    """
    failed = dict(row.failed)
    doubtful = set(row.in_doubt)
    told = [index for index in range(row.issued) if index not in failed and index not in doubtful]
    last_told = told[-1] if told else -1
    errors = sorted(index for index, kind in failed.items() if kind == "error")
    late = [index for index in errors if index > last_told][:in_flight]
    beside = [index for index in errors if last_told - in_flight < index < last_told]
    unknown = [*sorted(doubtful.union(late)), *beside]
    return IssuedWork(
        row.connection,
        np.array([*told, *unknown], dtype=np.uint64),
        np.array([True] * len(told) + [False] * len(unknown), dtype=np.bool_),
    )
