"""What replicators of SQLite give back: copies restored after each trial, held against their databases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from gapbook.markup import Html, values_table
from gapbook.method.cells import Named
from gapbook.method.findings import Findings
from gapbook.pages import page
from gapbook.pages.versions import versioned_label
from gapbook.pages.who import Rows

__all__ = [
    "NOTHING_RESTORED",
    "copies_of_all_table",
    "copies_table",
    "losses",
    "lost_where_read",
    "places",
    "restored_whole",
    "told_by_trials",
]

NOTHING_RESTORED = "No trial of this run has been restored."

_NO_FIRST_COPY = "no whole copy before the first write"
"""How :mod:`gapbook.deploy.replication` refuses a trial whose first copies are not whole."""
_NONE_READ = "–"
_FAILING = "copies that fail their check or restore"
_COLUMNS = (
    "trials that count",
    "rows acknowledged in the load, all trials",
    "rows lost, all trials whose copies pass their check",
    _FAILING,
    "copies restored whole",
)
_CAPTION = (
    "A copy is whole when its integrity check passes and it has every row of its database, and no other. Rows "
    "that are missing from copies that fail are not in this table. The last column is the mean over trials of the share "
    "of their copies."
)
_COLUMNS_OF_ALL = (
    "replicator",
    "copies restored whole",
    "trials with every copy whole",
    "trials without a whole first copy",
    f"{_FAILING} after the load",
)
_CAPTION_OF_ALL = (
    "A copy is whole when its integrity check passes and it has every row of its database, and no other. The first "
    "number is the mean over trials of the share of their copies. A trial without a whole first copy has no load; it "
    "counts as one without whole copies, at each attempt."
)


@dataclass
class _Copies:
    """What came back of some conditions. ``lost`` has the rows lost in each valid trial whose copies pass their check,
    ``shares`` for each valid trial the share of whole copies in it, ``never`` counts trials that were refused because
    not even the first copy was whole."""

    valid: int = 0
    acknowledged: int = 0
    lost: tuple[float, ...] = ()
    unusable: float = 0.0
    shares: tuple[float, ...] = ()
    never: int = 0

    def __add__(self, other: _Copies) -> _Copies:
        return _Copies(
            self.valid + other.valid,
            self.acknowledged + other.acknowledged,
            self.lost + other.lost,
            self.unusable + other.unusable,
            self.shares + other.shares,
            self.never + other.never,
        )

    @property
    def whole(self) -> int:
        """In how many trials every copy was whole."""
        return sum(share == 1.0 for share in self.shares)

    @property
    def tried(self) -> int:
        """The trials that count, and those that ended before their load for want of a first copy."""
        return self.valid + self.never


def places(found: Findings, one: Named) -> Sequence[float]:
    """Where the run has a contestant; nowhere when it does not."""
    if found.scenario.find(one.name) is None:
        return []
    return found.treatments_of(one.name)


def told_by_trials(found: Findings, name: str, at: float, metric: str) -> list[float]:
    """What the valid trials of a cell told of a metric; nothing where the run does not have it."""
    return list(found.trial_values(name, at, metric)) if found.tells(metric) else []


def lost_where_read(found: Findings, name: str, at: float) -> list[float]:
    """The rows lost in each valid trial whose copies pass their check. A trial tells all rows of a copy that does not as
    lost, though it may lack a few."""
    lost, failing = (told_by_trials(found, name, at, metric) for metric in ("rows lost", "copies unusable"))
    return [rows for rows, count in zip(lost, failing, strict=True) if not count]


def _copies(found: Findings, name: str, at: float) -> _Copies:
    trials = found.trials_of(name, at)
    valid = trials.filter(pl.col("valid"))
    unusable, shares = (
        told_by_trials(found, name, at, metric) for metric in ("copies unusable", "restored whole")
    )
    reasons = trials.filter(~pl.col("valid"))["refused_because"].to_list()
    return _Copies(
        valid.height if shares else 0,
        int(valid["acknowledged"].sum()) if shares else 0,
        tuple(lost_where_read(found, name, at)),
        sum(unusable),
        tuple(shares),
        sum(_NO_FIRST_COPY in (reason or "") for reason in reasons),
    )


def _share(share: float) -> str:
    """A share in whole percent; with a decimal where all or nothing would be said of less or more."""
    whole = f"{100 * share:.0f} %"
    if whole not in {"0 %", "100 %"} or share in {0.0, 1.0}:
        return whole
    return f"{min(max(100 * share, 0.1), 99.9):.1f} %"


def copies_table(found: Findings, rows: Rows) -> Html:
    """What came back after each trial, worst first: copies that fail, then rows that the database has and its copy has
    not."""
    told = [(label, at, _copies(found, one.name, at)) for label, one in rows for at in places(found, one)]
    body: list[list[str | Html]] = [
        [label, found.at(at), *_cells(copies)]
        for label, at, copies in sorted(told, key=lambda row: (-row[2].unusable, -sum(row[2].lost)))
        if copies.valid
    ]
    if not body:
        return page.banner("note", NOTHING_RESTORED)
    return values_table(("replicator", "condition", *_COLUMNS), body, caption=_CAPTION)


def copies_of_all_table(found: Findings, groups: Sequence[tuple[str, Sequence[Named]]]) -> Html:
    """The copies over all conditions of a replicator, one row for each. How many rows are gone follows the rate of the
    writer, and rates differ between conditions; how many copies are whole does not."""
    told = [
        (label, sum((_copies(found, one.name, at) for one in ones for at in places(found, one)), _Copies()))
        for label, ones in groups
    ]
    body: list[list[str | Html]] = [[label, *_of_copies(copies)] for label, copies in told if copies.valid]
    if not body:
        return page.banner("note", NOTHING_RESTORED)
    return values_table(_COLUMNS_OF_ALL, body, caption=_CAPTION_OF_ALL)


def _of_copies(copies: _Copies) -> list[str]:
    return [
        _share(sum(copies.shares) / copies.tried),
        f"{copies.whole} of {copies.tried}",
        f"{copies.never}",
        f"{copies.unusable:,.0f}",
    ]


def _cells(copies: _Copies) -> list[str]:
    return [
        f"{copies.valid}",
        f"{copies.acknowledged:,}",
        f"{sum(copies.lost):,.0f}" if copies.lost else _NONE_READ,
        f"{copies.unusable:,.0f}",
        _share(sum(copies.shares) / copies.valid),
    ]


def restored_whole(found: Findings, contestants: Sequence[Named]) -> tuple[int, int]:
    """In how many trials every row came back, and of how many, over all the conditions that are named."""
    copies = [_copies(found, one.name, at) for one in contestants for at in places(found, one)]
    return sum(one.whole for one in copies), sum(one.valid for one in copies)


def losses(found: Findings, contestants: Sequence[Named]) -> str:
    """Who lost what, in a sentence or two for each replicator, over all the conditions that are named."""
    told: dict[str, _Copies] = {}
    for one in contestants:
        for at in places(found, one):
            label = versioned_label(found, found.contestant(one))
            told[label] = told.get(label, _Copies()) + _copies(found, one.name, at)
    return " ".join(sentence for label, copies in told.items() for sentence in _sentences(label, copies))


def _sentences(label: str, copies: _Copies) -> Iterator[str]:
    if copies.valid and copies.whole == copies.valid:
        yield f"Every copy that {label} made was whole when it was restored after the writes."
    elif copies.valid:
        # How many rows are gone follows the rate of the writer; how many copies are whole does not.
        yield f"{label} brought every row back in {copies.whole or 'none'} of {copies.valid} trials."
    if copies.never:
        more = "One more trial" if copies.never == 1 else f"{copies.never} more trials"
        yield f"{more} of {label} ended before the first write, because its first copy could not be restored."
