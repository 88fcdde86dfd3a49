"""What kills of servers took."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from gapbook.markup import Html, values_table
from gapbook.method.findings import Findings
from gapbook.pages import page
from gapbook.pages.kills import KILL_COLUMNS, kill_caption, kill_rows

__all__ = ["kill_table"]


def kill_table(found: Findings, labels: Mapping[str, str] | None = None) -> Html:
    """What was gone of each contestant's acknowledged operations after its server was killed.

    ``labels`` are what rows are called by the names of their contestants; one without has its full label, and
    its name where others have that label too.
    """
    rows = found.run.manifest.kill_checks
    if not rows:
        return page.banner(
            "note", "This run killed no server: what its durability class is worth is not measured here."
        )
    called = _one_label_each({one.name: one.full_label for one in found.scenario.contestants})
    called |= labels or {}
    caption = kill_caption(rows, of_bank=bool(found.scenario.workload.accounts))
    return values_table(KILL_COLUMNS, kill_rows(rows, called), caption=caption)


def _one_label_each(labels: Mapping[str, str]) -> dict[str, str]:
    """Labels by name; where several share one, with the name behind it."""
    shared = Counter(labels.values())
    return {name: label if shared[label] == 1 else f"{label}, {name}" for name, label in labels.items()}
