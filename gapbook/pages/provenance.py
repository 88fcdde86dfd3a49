"""What every picture of a run says of itself: its design, its machine and its run."""

from __future__ import annotations

from gapbook import charts
from gapbook.method.findings import Findings

__all__ = ["FindingsWithProvenance"]


class FindingsWithProvenance(Findings):
    """Findings whose charts carry method and run."""

    @property
    def method(self) -> str:
        workload, manifest = self.scenario.workload, self.run.manifest
        machine, sessions = manifest["machine"], manifest.get("sessions", 1)
        held = f"{sessions} sessions" if sessions > 1 else "one session"
        return (
            f"Bank transfers, {workload.accounts:,} accounts, {self.scenario.connections} connections, "
            f"{self.scenario.window_s:g} s windows. {self.blocks} randomised blocks in {held}; t "
            "intervals over blocks, which do not hold what changes between sessions. "
            f"{machine['processor']}, {machine['processors']} cores shared by server and client."
        )

    @property
    def provenance(self) -> charts.Provenance:
        return charts.Provenance(run=self.run.run_id, method=self.method)
