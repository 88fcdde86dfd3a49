"""The audit of a trial: what the client reports, what the engine counts, and what the state holds.

Three that must agree to the unit. How the state is held against the work is the workload's own
(:class:`gapbook.model.workload.Workload`).
"""

from __future__ import annotations

from dataclasses import dataclass

from gapbook.model.report import Report
from gapbook.model.reported import reported_of
from gapbook.model.workload import AuditResult, State, Workload
from gapbook.record.gates import why_uncounted

__all__ = ["Audit", "reconcile"]


@dataclass(frozen=True)
class Audit:
    """Counts that must agree, and what was ``found`` in the state.

    ``acknowledged`` is what the client says it was told, ``replayed`` what it lists of its connections:
    these operations are in the state that is expected. ``committed`` is None where the trial has no
    count of operations alone, and ``uncounted`` says why (:func:`gapbook.record.gates.why_uncounted`).
    """

    acknowledged: int
    replayed: int
    committed: int | None
    found: AuditResult
    uncounted: str = ""

    @property
    def miscounted(self) -> int:
        """By how many the engine's count is off; what is in doubt may be in it or not."""
        if self.committed is None:
            return 0
        most = self.acknowledged + self.found.in_doubt
        return max(self.acknowledged - self.committed, self.committed - most, 0)

    @property
    def off(self) -> int:
        """How much does not agree, in operations and rows of state: 0 where all does."""
        undecided = 0 if self.found.agrees else self.found.in_doubt or int(not self.found.differing)
        return self.miscounted + abs(self.acknowledged - self.replayed) + self.found.differing + undecided

    @property
    def agrees(self) -> bool:
        return self.off == 0

    def explain(self) -> str:
        """One clause on what differs, or on what was checked."""
        if self.agrees:
            counted = (
                f"acknowledged, not compared with commits {self.uncounted}"
                if self.committed is None
                else "acknowledged = committed"
            )
            return f"{self.acknowledged:,} {counted}; {self.found.explain()}"
        parts = []
        if self.replayed != self.acknowledged:
            parts.append(f"{self.acknowledged:,} acknowledged but {self.replayed:,} listed by connection")
        if self.miscounted:
            parts.append(f"{self.acknowledged:,} acknowledged but {self.committed:,} committed")
        return "; ".join([*parts, *self.found.problems])


def reconcile(
    report: Report,
    *,
    workload: Workload,
    seed: int,
    state: State,
    committed: int | None,
    counts_commits: bool = True,
    replayed_batch: int | None = None,
) -> Audit:
    """Hold the client's report against the server's commit count and its state.

    ``counts_commits`` says whether the engine keeps a count, so that a trial without one tells why.
    ``replayed_batch`` is the length after which a client with that flaw draws the same operations again.
    """
    reported = reported_of(report.connections, report.in_doubt, replayed_batch)
    return Audit(
        acknowledged=report.acknowledged,
        replayed=reported.acknowledged,
        committed=committed,
        found=workload.audit(seed, reported, state),
        uncounted=why_uncounted(counts_commits=counts_commits) if committed is None else "",
    )
