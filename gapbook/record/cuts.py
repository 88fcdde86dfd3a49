"""What power cuts showed of a durability class, as a run holds it: no server is needed to read it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from gapbook.record.durability import Durability
from gapbook.record.fields import Amount, Count, Seconds
from gapbook.record.losses import BROKEN, ruin_verdict, verdict_of
from gapbook.record.scenario import require_durability

__all__ = [
    "COUNTED",
    "DISK_FAULTS",
    "FAULTS",
    "RUINED",
    "CutCheck",
    "Fault",
    "Left",
    "ObservedCuts",
    "cut_verdict",
    "loss_window_s",
    "observed_cuts",
    "verdict_of_row",
]

Fault: TypeAlias = Literal["power", "torn-pages", "fsync-error", "disk-full", "torn-prefix"]
FAULTS: Mapping[Fault, str] = {
    "power": "the power fails; what was not synced is gone",
    "torn-pages": "the power fails; of the pages that were not synced some survive, some are gone, some are torn",
    "fsync-error": "an fsync fails and what it should have written is gone; later the power fails",
    "disk-full": "the disk is full; later the power fails",
    "torn-prefix": "the power fails; what was not synced survives up to a page, which is torn",
}
"""Each ends with a cut. The rounds of a check take them in this order, again and again."""

DISK_FAULTS: Collection[Fault] = frozenset(["fsync-error", "disk-full"])
"""The disk fails first: a server goes on for a while, or stops, before the power fails."""

Left: TypeAlias = Literal["whole", "nothing", "inconsistent", "unreadable", "unknown"]
"""What the server held afterwards: a state that operations of the load explain; empty tables; a state that no
operations can have made, as one where half of a transfer is missing; nothing that it can start on or read; or nobody
knows."""
COUNTED: Collection[Left] = frozenset(["whole", "nothing"])
"""Something in which what is gone can be counted."""
RUINED: Collection[Left] = frozenset(["inconsistent", "unreadable"])
"""Something that no class but ``none`` allows."""


class CutCheck(msgspec.Struct):
    """One round: a load, a fault, a cut, a start on what is left, and every row of the state read back.

    ``refused`` counts the errors that clients were told, ``in_doubt`` the operations that got no answer.
    ``rate_per_s`` is that of the load on the disk whose power is cut, which is slower than the one beneath it.
    ``written_bytes`` and ``fsyncs`` are those of the load, ``unsynced_bytes`` what a cut could take and
    ``dropped_bytes`` what it took. ``load_s`` None: there was no load, and ``note`` says why.
    """

    contestant: str
    durability: str
    round: Count
    fault: Fault
    left: Left
    resolved: bool
    verdict: str
    acknowledged: Count | None
    lost: Count | None
    in_doubt: Count | None
    in_doubt_committed: Count | None
    refused: Count | None
    load_s: Seconds | None
    rate_per_s: Amount | None
    lost_s: Amount | None
    oldest_lost_s: Amount | None
    recovered_in_s: Seconds | None
    written_bytes: Count | None
    fsyncs: Count | None
    unsynced_bytes: Count | None
    dropped_bytes: Count | None
    note: str | None

    def __post_init__(self) -> None:
        if self.left in COUNTED and None in (self.acknowledged, self.lost):
            raise ValueError("a resolved cut check lacks its counts")
        if self.resolved != (self.left != "unknown"):
            raise ValueError("a cut check is resolved and unknown, or neither")
        require_durability(self.durability)


class ObservedCuts(NamedTuple):
    """What the cuts of one contestant's disk took.

    ``cuts`` counts those of which it is known what they left, ``ruined`` those after which the state was
    inconsistent or not readable. ``worst_loss_s`` is the age of the oldest acknowledgement that a cut took, None
    where no age is known. ``refutes_declared``: a cut took more than the declared class allows.
    """

    cuts: int
    lossy: int
    ruined: int
    worst_loss_s: float | None
    worst_lost: int | None
    refutes_declared: bool
    unresolved: int


def cut_verdict(
    durability: Durability, left: Left, lost: int | None, lost_s: float | None, oldest_lost_s: float | None
) -> str:
    """What a cut says of the declared class."""
    if left == "unknown":
        return "not resolved"
    if left in RUINED:
        return ruin_verdict(durability, left)
    return verdict_of(durability, lost, lost_s, oldest_lost_s)


def verdict_of_row(row: CutCheck) -> str:
    """The verdict by today's rule, whatever the run that holds the row says."""
    declared = Durability.parse(row.durability)
    return cut_verdict(declared, row.left, row.lost, row.lost_s, row.oldest_lost_s)


def loss_window_s(row: CutCheck) -> float | None:
    """How far back the acknowledged work reaches that a cut took, 0 where it took none; None where nobody knows,
    or where there is no state to count in.

    That is the age of the oldest acknowledgement that is gone. A server may have stopped at a full disk or a failed
    fsync, long before the power failed: the time in which it acknowledged nothing is no loss, so that there no more
    counts than the work that is gone had taken.
    """
    if row.left not in COUNTED:
        return None
    if row.lost == 0:
        return 0.0
    known = [age for age in (row.oldest_lost_s, row.lost_s) if age is not None]
    return min(known, default=None) if row.fault in DISK_FAULTS else next(iter(known), None)


def observed_cuts(rows: Iterable[CutCheck], contestant: str) -> ObservedCuts:
    """The losses of a contestant in ``cut_checks``, the rows of a manifest (none in a run without cuts)."""
    checks = [row for row in rows if row.contestant == contestant]
    known = [row for row in checks if row.resolved]
    windows = [window for row in known if (window := loss_window_s(row)) is not None]
    ruined = sum(row.left in RUINED for row in known)
    return ObservedCuts(
        cuts=len(known),
        lossy=sum(bool(row.lost) for row in known),
        ruined=ruined,
        worst_loss_s=max(windows, default=None),
        worst_lost=max((row.lost for row in known if row.lost is not None), default=None),
        refutes_declared=any(verdict_of_row(row) == BROKEN for row in known),
        unresolved=len(checks) - len(known),
    )
