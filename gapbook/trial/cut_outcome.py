"""What one power cut showed of a server: how much of what it had acknowledged was gone, and what it left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gapbook.deploy.power_cut import CutReport, DiskState, DiskTotals
from gapbook.model.report import Report
from gapbook.record.cuts import CutCheck, Fault, Left, cut_verdict
from gapbook.record.durability import Durability
from gapbook.record.series import BIN_S, bins_inside
from gapbook.trial.kill_outcome import KillOutcome, seconds_of_work

__all__ = ["CutOutcome", "rate_per_s"]


@dataclass
class CutOutcome:
    """Of a round (:class:`gapbook.record.cuts.CutCheck` says what each number is); None is not known."""

    left: Left = "unknown"
    acknowledged: int | None = None
    lost: int | None = None
    in_doubt: int | None = None
    in_doubt_committed: int | None = None
    refused: int | None = None
    load_s: float | None = None
    rate_per_s: float | None = None
    oldest_lost_s: float | None = None
    recovered_in_s: float | None = None
    written_bytes: int | None = None
    fsyncs: int | None = None
    unsynced_bytes: int | None = None
    dropped_bytes: int | None = None
    note: str | None = None

    def take_report(self, report: Report, warmup_s: float, until_s: float) -> None:
        """What the client says of the load, whose rate counts from the warm-up until the fault."""
        self.acknowledged = report.acknowledged
        self.in_doubt = report.in_doubt
        self.refused = report.failed["error"]
        self.rate_per_s = rate_per_s(report.per_100ms, warmup_s, until_s)

    def take_disk(self, before: DiskTotals, after: DiskState, cut: CutReport) -> None:
        """What the disk says: its totals before the load, its statistics at the cut, and the report of the cut."""
        totals = after.totals
        self.written_bytes = totals.bytes_written - before.bytes_written
        self.fsyncs = totals.fsyncs - before.fsyncs + totals.directory_fsyncs - before.directory_fsyncs
        self.unsynced_bytes = after.unsynced_bytes
        self.dropped_bytes = cut.bytes_dropped

    def take_state(self, found: KillOutcome, *, is_empty: bool, impossible: str | None) -> None:
        """What is gone, by the state that was read back; ``impossible`` is what no operations can have made of it.

        That the search for an explanation found none alone says nothing: then it is not known what is gone."""
        self.lost, self.in_doubt_committed = found.lost, found.in_doubt_committed
        self.oldest_lost_s, self.note = found.oldest_lost_s, found.note
        if found.lost is not None:
            self.left = "nothing" if is_empty else "whole"
        elif impossible is not None:
            self.left, self.note = "inconsistent", impossible

    def as_check(self, contestant: str, durability: Durability, number: int, fault: Fault) -> CutCheck:
        """As a record keeps it of that round of the contestant."""
        lost_s = seconds_of_work(self.lost, self.rate_per_s)
        return CutCheck(
            contestant=contestant,
            durability=str(durability),
            round=number,
            fault=fault,
            resolved=self.left != "unknown",
            lost_s=lost_s,
            verdict=cut_verdict(durability, self.left, self.lost, lost_s, self.oldest_lost_s),
            **vars(self),
        )


def rate_per_s(per_100ms: Sequence[int], from_s: float, until_s: float) -> float | None:
    """Acknowledgements a second between two moments of a load, counted in whole tenths; None without one."""
    asked = bins_inside(from_s, until_s - from_s)
    tenths = asked.stop - asked.start
    return sum(per_100ms[asked]) / (tenths * BIN_S) if tenths > 0 else None
