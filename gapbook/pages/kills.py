"""The table of the kill -9 checks.

Rows are those of a manifest's ``kill_checks``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gapbook.pages.strikes import bound_words, of_all, reasons, total
from gapbook.record.losses import BROKEN, KILL_LOAD, KillCheck

__all__ = ["KILL_COLUMNS", "kill_caption", "kill_rows"]

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


def kill_rows(rows: Rows, labels: Mapping[str, str] | None = None) -> list[tuple[str, ...]]:
    """One row of cells under ``KILL_COLUMNS`` for each contestant, in the order of the record.

    Operations are summed over the kills that were resolved; seconds are the least and the most in a kill.
    """
    table: list[tuple[str, ...]] = []
    for contestant, kills in _by_contestant(rows).items():
        resolved = [row for row in kills if row.resolved]
        table.append(
            (
                (labels or {}).get(contestant, contestant),
                kills[0].durability,
                str(sum(row.load_s is not None for row in kills)),
                total(row.acknowledged for row in resolved),
                total(row.lost for row in resolved),
                _seconds(resolved),
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
    if any(sum(row.resolved for row in kills) > 1 for kills in _by_contestant(rows).values()):
        caption += (
            " Acknowledged and gone are sums over the kills of a contestant; seconds are those of one kill."
        )
    serverless = any(row.resolved and row.recovered_in_s is None for row in rows)
    return f"{caption} Where there is no server, what holds the engine is killed." if serverless else caption


def _by_contestant(rows: Rows) -> dict[str, list[KillCheck]]:
    grouped: dict[str, list[KillCheck]] = {}
    for row in rows:
        grouped.setdefault(row.contestant, []).append(row)
    return grouped


def _seconds(resolved: Rows) -> str:
    if not resolved:
        return "unknown"
    known = [row.lost_s for row in resolved if row.lost_s is not None]
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
    unresolved = [row for row in kills if not row.resolved]
    lossy = [row for row in kills if row.resolved and row.lost]
    said = []
    if broken:
        said.append(f"{BROKEN}, in {of_all(broken, count, 'kill')}")
    if len(lossy) > broken:
        said.append(f"lost within its class, in {of_all(len(lossy) - broken, count, 'kill')}")
    if unresolved:
        said.append(f"not resolved in {of_all(len(unresolved), count, 'kill')} ({reasons(unresolved)})")
    if not lossy and len(unresolved) < count:
        said.append(f"kept; {bound_words(count - len(unresolved), 'kill')}")
    return "; ".join(said)
