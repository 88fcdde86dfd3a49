"""Superseded runs: what a newer published run of a chapter replaced, and how far that moved what was printed.

Both sides are computed by today's code, each from its own stored run; nothing is typed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import groupby
from statistics import median

from gapbook.markup import Html, values_table
from gapbook.method.findings import Findings
from gapbook.method.interval import Interval, format_factor
from gapbook.pages import page
from gapbook.pages.corrections import hour, one_step_apart, runs_by_time
from gapbook.record.durability import Durability
from gapbook.record.kept_code import code_is_kept
from gapbook.record.run import Run
from gapbook.record.scenario import RecordedContestant

__all__ = [
    "Move",
    "Replacement",
    "machines_table",
    "moved_table",
    "moves",
    "processors_table",
    "replaced_table",
    "replacements",
    "unkept_table",
]

_PLANS = ("run", "began", "replaced by", "began later", "what the newer one has")
_MOVES = ("ratio", "then", "now", "now ÷ then", "the intervals")
_UNKEPT = ("run", "began", "commit that is not kept")
_KINDS = ("processor of both runs", "pairs of runs", "ratios", "intervals that lie apart", "moved by, median")
_RATES = ("system", "rates that both runs hold", "now ÷ then, median", "least", "greatest")


@dataclass(frozen=True)
class Replacement:
    """A published run, and the newest of its chapter, which is shown instead."""

    old: Run
    new: Run

    @property
    def chapter(self) -> str:
        return str(self.new.manifest["chapter"])

    @property
    def processors(self) -> tuple[str, str]:
        """What the older and the newer run were measured on."""
        old, new = (str(run.manifest["machine"]["processor"]) for run in (self.old, self.new))
        return old, new

    @cached_property
    def moves(self) -> list[Move]:
        """See :func:`moves`."""
        return _moves(self)


@dataclass(frozen=True)
class Move:
    """A ratio that both runs hold, with its condition."""

    quantity: str
    then: Interval
    now: Interval

    @property
    def bounded(self) -> bool:
        """Whether both have an interval."""
        return self.then.bounded and self.now.bounded

    @property
    def apart(self) -> bool:
        """Whether the two intervals share no value; one without bounds is apart from nothing."""
        return self.bounded and (self.then.high < self.now.low or self.now.high < self.then.low)


@cache
def replacements() -> Sequence[Replacement]:
    """Every published run that is not the newest of its chapter, by chapter and time."""
    found = []
    runs = sorted(runs_by_time(), key=lambda run: str(run.manifest["chapter"]))
    for _, of_chapter in groupby(runs, key=lambda run: run.manifest["chapter"]):
        *older, newest = of_chapter
        found += [Replacement(old, newest) for old in older]
    return tuple(found)


def replaced_table(every: Sequence[Replacement]) -> Html:
    """Each superseded run, the run that replaced it, and what that has more or otherwise."""
    rows: list[list[str | Html]] = [
        [
            f"{one.chapter}, run {one.old.run_id}",
            hour(float(one.old.manifest["started_unix_s"])),
            one.new.run_id,
            hour(float(one.new.manifest["started_unix_s"])),
            "; ".join(_differences(one)) or "the same plan",
        ]
        for one in every
    ]
    return values_table(_PLANS, rows)


def unkept_table() -> Html:
    """The published runs whose commit this repository does not hold, oldest first."""
    rows: list[list[str | Html]] = [
        [
            f"{run.manifest['chapter']}, run {run.run_id}",
            hour(float(run.manifest["started_unix_s"])),
            str(run.manifest["code"]["revision"])[:10],
        ]
        for run in runs_by_time()
        if not code_is_kept(run.manifest)
    ]
    return values_table(_UNKEPT, rows)


def moves(replaced: Replacement) -> list[Move]:
    """The ratios between systems or depths that both runs hold, of contestants that are the same in both: the
    same server in the same version, set up alike, with a promise of the same kind."""
    return replaced.moves


def _moves(replaced: Replacement) -> list[Move]:
    then, now = _findings(replaced)
    same = _same(replaced)
    found = []
    for treatment in [value for value in now.treatments if value in then.treatments]:
        for over, under in one_step_apart(same):
            ratios = [findings.ratio(over.name, under.name, treatment) for findings in (then, now)]
            if ratios[0] and ratios[1]:
                quantity = f"{over.name} ÷ {under.name}, {now.at(treatment)}"
                found.append(Move(quantity, ratios[0], ratios[1]))
    return found


def moved_table(replaced: Replacement) -> Html:
    """How far each ratio moved, the farthest first."""
    found = sorted(moves(replaced), key=lambda move: -_distance(move))
    if not found:
        return page.banner("note", "The two runs hold no ratio between the same contestants.")
    rows: list[list[str | Html]] = [
        [
            move.quantity,
            move.then.as_factor(),
            move.now.as_factor(),
            f"×{format_factor(move.now.estimate / move.then.estimate)}",
            "lie apart" if move.apart else "overlap" if move.bounded else "one has no interval",
        ]
        for move in found
    ]
    return values_table(_MOVES, rows)


def processors_table(every: Sequence[Replacement]) -> Html:
    """How far ratios with two intervals moved where the newer run has the same kind of processor, and where it has
    another."""
    rows: list[list[str | Html]] = []
    for words, is_same in (("the same kind", True), ("two kinds", False)):
        pairs = [one for one in every if (len(set(one.processors)) == 1) is is_same]
        found = [move for one in pairs for move in moves(one) if move.bounded]
        if found:
            apart, distance = sum(move.apart for move in found), median(map(_distance, found))
            rows.append(
                [
                    words,
                    f"{len(pairs)}",
                    f"{len(found)}",
                    f"{apart} ({apart / len(found):.0%})",
                    f"×{format_factor(distance)}",
                ]
            )
    return values_table(
        _KINDS,
        rows,
        caption="Ratios with an interval in both runs. In both rows the newer runs also have other plans and newer code.",
    )


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
    for one in _same(replaced):
        for treatment in [value for value in now.treatments if value in then.treatments]:
            rates = [findings.goodput(one.name, treatment) for findings in (now, then)]
            if rates[0] and rates[1]:
                changes.setdefault(_label(replaced.new, one), []).append(
                    rates[0].estimate / rates[1].estimate
                )
    return changes


def _label(run: Run, one: RecordedContestant) -> str:
    version = _setup(run, one)[0]
    known = one.in_process or version in one.system_label
    return one.system_label if known else f"{one.system_label} {version}"


def _findings(replaced: Replacement) -> tuple[Findings, Findings]:
    return Findings(replaced.old, replaced.chapter), Findings(replaced.new, replaced.chapter)


def _same(replaced: Replacement) -> list[RecordedContestant]:
    """The contestants of the newer run that the older one had too, set up alike."""
    earlier = {one.name: one for one in replaced.old.scenario.contestants}
    return [
        one
        for one in replaced.new.scenario.contestants
        if one.name in earlier and _setup(replaced.new, one) == _setup(replaced.old, earlier[one.name])
    ]


def _setup(run: Run, one: RecordedContestant) -> tuple[str, str, dict[str, str]]:
    """Version, kind of promise and all other levels. A run of one version need not name it in its levels."""
    system = one.settings.system
    versions = {name.split(" ")[0]: facts["version"] for name, facts in run.manifest["systems"].items()}
    version = one.version or str(versions.get(system, ""))
    return version, Durability.parse(one.durability).kind, one.levels | {"system": system}


def _distance(move: Move) -> float:
    moved = move.now.estimate / move.then.estimate
    return max(moved, 1 / moved)


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
    for name, now_is in new.workload.parameters.items():
        then_was = old.workload.parameters.get(name, "a default")
        if now_is != then_was:
            yield f"{name} {now_is} instead of {then_was}"
    names = [{contestant.name for contestant in scenario.contestants} for scenario in (old, new)]
    for words, some in (("more", names[1] - names[0]), ("fewer", names[0] - names[1])):
        if some:
            yield f"{len(some)} contestant{'' if len(some) == 1 else 's'} {words}"


def _counts(run: Run) -> tuple[int, int]:
    return int(run.manifest["blocks"]), int(run.manifest.get("sessions") or 1)
