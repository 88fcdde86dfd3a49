"""Published rows of systems that not every machine can run: what they do here, or why nobody measured them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gapbook.claims.closed_loop import Row
from gapbook.markup import Html, values_table
from gapbook.method.cells import Named
from gapbook.method.findings import Findings
from gapbook.pages import page
from gapbook.pages.words import rate_cell
from gapbook.record.absent import NO_ENGINE

__all__ = ["published_beside_table", "why_unmeasured"]

_NO_ENGINE = "no container engine ran beside this run"


def why_unmeasured(found: Findings, contestant: Named, otherwise: str) -> str | None:
    """``not measured here`` and the reason, which the run gives, else ``otherwise``; None where it was measured.

    Where it was looked for, and what a reader can do about it, stands in the table of servers, which has the whole reason.
    """
    if contestant.name in found.absent:
        recorded = found.absent[contestant.name]
        reason = _NO_ENGINE if recorded.startswith(NO_ENGINE) else recorded.partition("; ")[0]
        return f"not measured here: {reason}"
    if found.scenario.find(contestant.name) is None:
        return f"not measured here: {otherwise}"
    return None


def published_beside_table(
    found: Findings,
    published: Sequence[Row],
    contestants: Mapping[str, Named],
    *,
    system: str,
    otherwise: str,
) -> Html:
    """Each published row of a system, by users, and beside it the rate of each contestant here, by its label.

    ``otherwise`` is why a run has none of them, where it does not say so itself. A run that measured none of them says
    that once, without the table.
    """
    reasons = [why_unmeasured(found, contestant, otherwise) for contestant in contestants.values()]
    if None not in reasons:
        return page.banner("note", f"{system} is {' and '.join(dict.fromkeys(filter(None, reasons)))}.")
    columns = ("users", f"{system}, published", *(f"{label}, here" for label in contestants))
    body: list[list[str | Html]] = [
        [
            f"{row.users:,}",
            f"{row.rate_per_s:,.0f}/s",
            *(_here(found, contestant, row.users, otherwise) for contestant in contestants.values()),
        ]
        for row in published
    ]
    return values_table(columns, body)


def _here(found: Findings, contestant: Named, users: int, otherwise: str) -> str:
    reason = why_unmeasured(found, contestant, otherwise)
    if reason is not None:
        return reason
    if users not in found.treatments:
        return "not with so many users"
    goodput = found.goodput(contestant.name, users)
    return rate_cell(goodput)
