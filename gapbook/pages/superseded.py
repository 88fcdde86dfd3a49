"""Superseded runs: what a newer published run of a chapter replaced, and how far that moved what was printed.

Both sides are computed by today's code, each from its own stored run; nothing is typed.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import combinations, groupby
from statistics import median

from gapbook.markup import Html, values_table
from gapbook.method.estimate import ratio_interval
from gapbook.method.findings import Findings
from gapbook.method.interval import Interval, format_factor
from gapbook.method.same import Cell, cells_of
from gapbook.pages import page
from gapbook.pages.corrections import hour, one_step_apart
from gapbook.pages.page_files import REPLACED, leave
from gapbook.pages.versions import versioned_label
from gapbook.record.kept_code import code_is_kept
from gapbook.record.published import published_runs
from gapbook.record.run import Run, latest_published

__all__ = [
    "Move",
    "MovedGroup",
    "Replacement",
    "folded",
    "machines_table",
    "moved_facts",
    "moved_group",
    "moved_table",
    "moves",
    "processors_table",
    "replaced_table",
    "replacements",
    "reversed_table",
    "unkept_table",
]

_PLANS = ("run", "began", "replaced by", "began later", "what the newer one has")
_MOVES = ("ratio", "then", "now", "now ÷ then", "the intervals")
_COLUMNS = (
    "ratio",
    *(f"{when}{bound}" for when in ("then", "now") for bound in ("", "_low", "_high")),
    "narrow",
    "intervals",
)
"""Of the file of every ratio: ``then`` and ``now`` with the bounds of their intervals."""
_ROWS = 12
"""So many ratios of two runs a page shows."""
_UNKEPT = ("run", "began", "commit that is not kept")
_KINDS = (
    "processor of both runs",
    "contestants differ",
    "pairs of runs",
    "ratios",
    "intervals that lie apart",
    "older estimate inside the newer interval",
    "moved by, median",
)
_REVERSED = ("chapter", "older run, newer run", "ratio", "then", "now")
_NARROW_FRAC = 0.25
_NARROW = f"{_NARROW_FRAC:.0%}".replace("%", " %")
"""Half of a printed interval: a wider one cannot show whether its ratio moved."""
_RATES = ("system", "rates that both runs hold", "now ÷ then, median", "least", "greatest")


@dataclass(frozen=True)
class Replacement:
    """A published run, and the newest of its chapter, which is shown instead."""

    old: Run
    new: Run

    @property
    def chapter(self) -> str:
        return self.new.manifest.chapter

    @property
    def processors(self) -> tuple[str, str]:
        """What the older and the newer run were measured on."""
        old, new = (run.manifest.machine.processor for run in (self.old, self.new))
        return old, new

    @cached_property
    def moves(self) -> Sequence[Move]:
        """See :func:`moves`."""
        return tuple(_moves(self))


@dataclass(frozen=True)
class Move:
    """A ratio that both runs hold, with its condition."""

    quantity: str
    then: Interval
    now: Interval
    differ_in_one: bool = False
    """Whether its contestants differ in their system or their depth alone."""

    @property
    def bounded(self) -> bool:
        """Whether both have an interval."""
        return self.then.bounded and self.now.bounded

    @property
    def apart(self) -> bool:
        """Whether the two intervals share no value; one without bounds is apart from nothing."""
        return self.bounded and (self.then.high < self.now.low or self.now.high < self.then.low)

    @property
    def narrow(self) -> bool:
        """Whether both intervals are narrow enough for a move to be seen."""
        return self.bounded and all(
            math.sqrt(one.high / one.low) - 1 < _NARROW_FRAC for one in (self.then, self.now)
        )

    @property
    def reversed(self) -> bool:
        """Whether it says the opposite now: both intervals leave out 1, on two sides of it."""
        return self.bounded and (self.then.high < 1 < self.now.low or self.now.high < 1 < self.then.low)

    @property
    def distance(self) -> float:
        """How many times it moved, up or down."""
        moved = self.now.estimate / self.then.estimate
        return max(moved, 1 / moved)


@cache
def replacements() -> Sequence[Replacement]:
    """Every published run that is older than the one its chapter shows, by chapter and time."""
    found = []
    runs = sorted(published_runs(), key=lambda run: run.manifest.chapter)
    for chapter, of_chapter in groupby(runs, key=lambda run: run.manifest.chapter):
        shown = latest_published(chapter)
        began_unix_s = shown.manifest.started_unix_s
        found += [Replacement(run, shown) for run in of_chapter if run.manifest.started_unix_s < began_unix_s]
    return tuple(found)


def replaced_table(every: Sequence[Replacement]) -> Html:
    """Each superseded run, the run that replaced it, and what that has more or otherwise."""
    rows: list[list[str | Html]] = [
        [
            f"{one.chapter}, run {one.old.run_id}",
            hour(one.old.manifest.started_unix_s),
            one.new.run_id,
            hour(one.new.manifest.started_unix_s),
            "; ".join(_differences(one)) or "the same plan",
        ]
        for one in every
    ]
    return values_table(_PLANS, rows)


def unkept_table() -> Html:
    """The published runs whose commit this repository does not hold, oldest first."""
    rows: list[list[str | Html]] = [
        [
            f"{run.manifest.chapter}, run {run.run_id}",
            hour(run.manifest.started_unix_s),
            run.manifest.code.revision[:10],
        ]
        for run in published_runs()
        if not code_is_kept(run.manifest)
    ]
    return values_table(_UNKEPT, rows)


def moves(replaced: Replacement) -> Sequence[Move]:
    """Every ratio of rates that both runs hold, the faster now over the slower: of two contestants that are the same in
    both, under the same load (:mod:`gapbook.method.same`). Where requests are sent on a schedule the rate is given, and no ratio is of it."""
    return replaced.moves


def _moves(replaced: Replacement) -> Iterator[Move]:
    then, now = _findings(replaced)
    named = {one.name: one for one in replaced.new.scenario.contestants}
    held = [
        (cell, rates)
        for cell, older in _held(replaced)
        if named[cell.contestant].loop == "closed" and all(rates := (then.values(*older), now.values(*cell)))
    ]
    for pair in combinations(held, 2):
        if pair[0][0].treatment != pair[1][0].treatment:
            continue
        (under, beneath), (over, above) = pair
        is_now = ratio_interval(above[1], beneath[1])
        if is_now and is_now.estimate < 1:
            (over, above), (under, beneath) = pair
            is_now = ratio_interval(above[1], beneath[1])
        was = ratio_interval(above[0], beneath[0])
        if was and is_now:
            contestants = [named[cell.contestant] for cell, _ in pair]
            name = f"{over.contestant} ÷ {under.contestant}, {now.at(over.treatment)}"
            yield Move(name, was, is_now, differ_in_one=bool(one_step_apart(contestants)))


def _held(replaced: Replacement) -> Iterator[tuple[Cell, Cell]]:
    """The cells of the newer run that the older one can have too, each with what that calls it."""
    earlier = cells_of(replaced.old)
    for setup, cell in cells_of(replaced.new).items():
        if setup in earlier:
            yield cell, earlier[setup]


def moved_table(replaced: Replacement) -> Html:
    """How far the ratios moved that moved farthest, of those that are narrow in both runs; how many others there are is
    said, and every one stands in a file."""
    found = moves(replaced)
    if not found:
        return page.banner("note", _why_none(replaced))
    told = sorted((move for move in found if move.narrow), key=lambda move: -move.distance)
    wide = f"{len(found) - len(told)} more have an interval wider than that in one of the runs, or none."
    summary = f"{len(found)} ratios in both runs; {len(told)} narrow, of which {sum(move.apart for move in told)} lie apart"
    shown = min(len(told), _ROWS)
    caption = (
        f"Ratios whose half-width is under {_NARROW}, the {shown} of {len(told)} that moved farthest. {wide}"
    )
    rows: list[list[str | Html]] = [list(_told(move)) for move in told[:_ROWS]]
    name = f"{replaced.chapter}-{replaced.old.run_id}-{replaced.new.run_id}.csv"
    file = page.Download("every ratio, CSV", leave(REPLACED, name, _as_csv(found).encode()))
    return folded(summary, values_table(_MOVES, rows, caption=caption) + page.download_buttons([file]))


def _told(move: Move) -> tuple[str, ...]:
    return (
        move.quantity,
        move.then.as_factor(),
        move.now.as_factor(),
        f"×{format_factor(move.now.estimate / move.then.estimate)}",
        "reversed" if move.reversed else "lie apart" if move.apart else "overlap",
    )


def _as_csv(found: Sequence[Move]) -> str:
    """Every ratio that both runs hold, in six digits, which no interval here is worth; a bound that there is not is empty."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(_COLUMNS)
    for move in sorted(found, key=lambda move: -move.distance):
        bounds = [
            f"{value:.6g}" if value != "" else value
            for one in (move.then, move.now)
            for value in (one.estimate, *((one.low, one.high) if one.bounded else ("", "")))
        ]
        table.writerow([move.quantity, *bounds, str(move.narrow).lower(), _told(move)[-1]])
    return text.getvalue()


def folded(summary: str, content: Html) -> Html:
    return Html('<details class="gb-fold"><summary>{}</summary>{}</details>').format(summary, content)


def reversed_table(every: Sequence[Replacement]) -> Html:
    """The ratios that say the opposite in the newer run: both intervals leave out 1, on two sides of it."""
    rows: list[list[str | Html]] = [
        [
            one.chapter,
            f"{one.old.run_id}, {one.new.run_id}",
            move.quantity,
            move.then.as_factor(),
            move.now.as_factor(),
        ]
        for one in every
        for move in moves(one)
        if move.reversed
    ]
    return values_table(_REVERSED, rows)


def _why_none(replaced: Replacement) -> str:
    reasons = [*_load_differences(replaced)]
    under = (
        f"of the same load, for the newer one has {', '.join(reasons)}"
        if reasons
        else "of the same contestants"
    )
    return f"The two runs hold no ratio {under}."


def processors_table(every: Sequence[Replacement]) -> Html:
    """How far narrow ratios moved where the newer run has the same kind of processor, and where it has another."""
    rows: list[list[str | Html]] = [
        [
            words,
            "in system or depth alone" if group.differ_in_one else "in anything",
            f"{group.pairs}",
            f"{len(group.moves)}",
            f"{group.apart} ({group.apart / len(group.moves):.0%})",
            f"{group.inside} ({group.inside / len(group.moves):.0%})",
            f"×{format_factor(median(move.distance for move in group.moves))}",
        ]
        for words, is_same in (("the same kind", True), ("two kinds", False))
        for differ_in_one in (True, False)
        if (group := moved_group(every, same_processor=is_same, differ_in_one=differ_in_one)).moves
    ]
    return values_table(
        _KINDS,
        rows,
        caption=f"Ratios whose half-width is under {_NARROW} in both runs. In all rows the newer runs also have other plans "
        "and newer code. Ratios of two runs share contestants, so they do not count as independent. A run that did not "
        "record family and model of its processor counts as of another kind than one that did.",
    )


@dataclass(frozen=True)
class MovedGroup:
    """Narrow ratios of pairs of runs of one kind."""

    pairs: int
    differ_in_one: bool
    moves: Sequence[Move]

    @property
    def apart(self) -> int:
        return sum(move.apart for move in self.moves)

    @property
    def inside(self) -> int:
        """How many older estimates lie inside the newer interval."""
        return sum(move.now.low <= move.then.estimate <= move.now.high for move in self.moves)


def moved_group(every: Sequence[Replacement], *, same_processor: bool, differ_in_one: bool) -> MovedGroup:
    """The narrow ratios between runs of the same kind of processor, or of two; all of them, or those of contestants
    that differ in their system or depth alone."""
    pairs = [one for one in every if (len(set(one.processors)) == 1) is same_processor]
    found = [
        move
        for one in pairs
        for move in moves(one)
        if move.narrow and (move.differ_in_one or not differ_in_one)
    ]
    return MovedGroup(len(pairs), differ_in_one, found)


def moved_facts(every: Sequence[Replacement]) -> dict[str, str]:
    """For the prose, of all narrow ratios: which part moved so far that the intervals lie apart, and of which part the
    older estimate lies inside the newer interval."""
    facts = {}
    for name, is_same in (("same_kind", True), ("two_kinds", False)):
        group = moved_group(every, same_processor=is_same, differ_in_one=False)
        if group.moves:
            facts[f"apart_{name}"] = f"{group.apart / len(group.moves):.0%}".replace("%", " %")
            facts[f"inside_{name}"] = f"{group.inside / len(group.moves):.0%}".replace("%", " %")
    return facts | {
        "narrow": _NARROW,
        "reversed": str(sum(move.reversed for one in every for move in moves(one))),
    }


def machines_table(replaced: Replacement) -> Html:
    """Where both runs are of different processors: what the newer machine did to the rates of each system. Nothing
    where they are of one kind."""
    was, is_now = replaced.processors
    changes = _rate_changes(replaced) if was != is_now else {}
    if not changes:
        return Html("")
    note = page.banner(
        "note",
        f"These runs are of two machines: {was} then, {is_now} now. A machine that speeds one system up more than "
        "another moves their ratio.",
    )
    rows: list[list[str | Html]] = [
        [
            system,
            f"{len(each)}",
            *(f"×{format_factor(value)}" for value in (median(each), min(each), max(each))),
        ]
        for system, each in sorted(changes.items())
    ]
    return note + values_table(_RATES, rows)


def _rate_changes(replaced: Replacement) -> dict[str, list[float]]:
    """By system and version, how many times its rate then each of its rates is now."""
    then, now = _findings(replaced)
    changes: dict[str, list[float]] = {}
    named = {one.name: one for one in replaced.new.scenario.contestants}
    for cell, older in _held(replaced):
        rates = now.goodput(*cell), then.goodput(*older)
        if rates[0] and rates[1]:
            label = versioned_label(now, named[cell.contestant])
            changes.setdefault(label, []).append(rates[0].estimate / rates[1].estimate)
    return changes


def _findings(replaced: Replacement) -> tuple[Findings, Findings]:
    return Findings(replaced.old, replaced.chapter), Findings(replaced.new, replaced.chapter)


def _differences(one: Replacement) -> Iterator[str]:
    """What the plans say of blocks, sessions, windows, warm-up, promise, workload and contestants, where that
    is another."""
    for what, then, now in zip(("blocks", "sessions"), _counts(one.old), _counts(one.new), strict=True):
        if then != now:
            yield f"{now} {what} instead of {then}"
    was, is_now = one.processors
    if was != is_now:
        yield f"{is_now} instead of {was}"
    old, new = one.old.scenario, one.new.scenario
    for words, attribute in (("windows", "window_s"), ("warm-up", "warmup_s")):
        then_s, now_s = (float(getattr(scenario, attribute)) for scenario in (old, new))
        if then_s != now_s:
            yield f"{words} of {now_s:g} s instead of {then_s:g} s"
    if old.durability != new.durability:
        yield f"declared {new.durability} instead of {old.durability}"
    yield from _load_differences(one)
    names = [{contestant.name for contestant in scenario.contestants} for scenario in (old, new)]
    for words, some in (("more", names[1] - names[0]), ("fewer", names[0] - names[1])):
        if some:
            yield f"{len(some)} contestant{'' if len(some) == 1 else 's'} {words}"


def _load_differences(one: Replacement) -> Iterator[str]:
    """What of the load is other: parameters of the workload, and connections."""
    older, newer = (
        {**run.scenario.workload.parameters, "connections": run.scenario.connections}
        for run in (one.old, one.new)
    )
    for name, now_is in newer.items():
        then_was = older.get(name, "a default")
        if now_is != then_was:
            yield f"{name} {now_is} instead of {then_was}"


def _counts(run: Run) -> tuple[int, int]:
    return run.manifest.blocks, int(run.manifest.sessions or 1)
