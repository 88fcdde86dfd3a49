"""What kill -9 took of servers.

Rows are those of a manifest's ``kill_checks``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from gapbook.markup import Html, values_table
from gapbook.method.findings import Findings
from gapbook.pages import page
from gapbook.pages.losses.strikes import bound_words, left_nothing, of_all, reasons, total
from gapbook.record.losses import BROKEN, KILL_LOAD, KillCheck

__all__ = ["KILL_COLUMNS", "kill_caption", "kill_rows", "kill_table"]

Rows = Sequence[KillCheck]

KILL_COLUMNS = (
    "contestant",
    "declared class",
    "kills",
    "acknowledged",
    "gone",
    "seconds of work",
    "verdict",
)


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


def kill_rows(rows: Rows, labels: Mapping[str, str] | None = None) -> list[tuple[str, ...]]:
    """One row of cells under ``KILL_COLUMNS`` for each contestant, in the order of the record.

    Operations are summed over the kills that left something to count in; seconds are the least and the most in a kill.
    """
    table: list[tuple[str, ...]] = []
    for contestant, kills in _by_contestant(rows).items():
        counted = _counted(kills)
        table.append(
            (
                (labels or {}).get(contestant, contestant),
                kills[0].durability,
                str(sum(row.load_s is not None for row in kills)),
                total(row.acknowledged for row in counted),
                total(row.lost for row in counted),
                _seconds(counted),
                _verdict(kills),
            )
        )
    return table


def kill_caption(rows: Rows, *, of_bank: bool = True) -> str:
    """What the check is, and what it is not; ``of_bank``: the load are transfers, under an exponent of their own."""
    load, compared = (f"load ({KILL_LOAD})", "balance") if of_bank else ("load", "row")
    caption = (
        f"SIGKILL under {load}, then a start on the same data; every {compared} is compared. "
        "SIGKILL keeps the operating system's page cache: this is no loss of power, which can take more."
    )
    if any(len(_counted(kills)) > 1 for kills in _by_contestant(rows).values()):
        caption += (
            " Acknowledged and gone are sums over the kills of a contestant; seconds are those of one kill."
        )
    serverless = any(row.recovered_in_s is None for row in _counted(rows))
    return f"{caption} Where there is no server, what holds the engine is killed." if serverless else caption


def _by_contestant(rows: Rows) -> dict[str, list[KillCheck]]:
    grouped: dict[str, list[KillCheck]] = {}
    for row in rows:
        grouped.setdefault(row.contestant, []).append(row)
    return grouped


def _counted(kills: Rows) -> Rows:
    return [row for row in kills if row.resolved and not row.unreadable]


def _seconds(counted: Rows) -> str:
    known = [row.lost_s for row in counted if row.lost_s is not None]
    if not known:
        return "unknown"
    least, most = _format_s(min(known)), _format_s(max(known))
    return f"{least} s" if least == most else f"{least}–{most} s"


def _format_s(value: float) -> str:
    return "0" if value == 0 else f"{value:.2f}" if value >= 0.01 else "<0.01"


def _verdict(kills: Rows) -> str:
    """The worst first; what was seen in no kill may still happen, so its bound is said."""
    count = sum(row.load_s is not None for row in kills)
    if not count:
        return f"not checked ({kills[0].note})"
    broken = sum(row.verdict == BROKEN for row in kills)
    unreadable = [row for row in kills if row.unreadable]
    unresolved = [row for row in kills if not row.resolved]
    lossy = [row for row in _counted(kills) if row.lost]
    within = sum(row.verdict != BROKEN for row in lossy)
    said = []
    if broken:
        said.append(f"{BROKEN}, in {of_all(broken, count, 'kill')}")
    if unreadable:
        said.append(f"{left_nothing(len(unreadable), count, 'kill')} ({reasons(unreadable)})")
    if within:
        said.append(f"lost within its class, in {of_all(within, count, 'kill')}")
    if unresolved:
        said.append(f"not resolved in {of_all(len(unresolved), count, 'kill')} ({reasons(unresolved)})")
    if not lossy and not unreadable and len(unresolved) < count:
        said.append(f"kept; {bound_words(count - len(unresolved), 'kill')}")
    return "; ".join(said)


def _one_label_each(labels: Mapping[str, str]) -> dict[str, str]:
    """Labels by name; where several share one, with the name behind it."""
    shared = Counter(labels.values())
    return {name: label if shared[label] == 1 else f"{label}, {name}" for name, label in labels.items()}
