"""Power cuts on a page: what each durability level costs and what cuts took of it, the declared class beside it."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from gapbook import charts
from gapbook.markup import Html, values_table
from gapbook.method.cells import Named
from gapbook.method.findings import Findings
from gapbook.method.interval import format_count
from gapbook.pages import page
from gapbook.pages.losses.strikes import bound_words, left_nothing, of_all, reasons, total
from gapbook.pages.provenance import provenance
from gapbook.pages.words import NO_VALID_TRIAL, operation_of, operations_of
from gapbook.record.cuts import (
    DISK_FAULTS,
    FAULTS,
    RUINED,
    CutCheck,
    ObservedCuts,
    loss_window_s,
    observed_cuts,
    verdict_of_row,
)
from gapbook.record.durability import Durability
from gapbook.record.losses import BROKEN
from gapbook.record.scenario import RecordedContestant

__all__ = ["cut_sentence", "cut_values", "cuts_table", "faults_table", "losses_chart", "price_table"]

Levels: TypeAlias = Sequence[tuple[str, Named]]
"""What a level is called on the page, and the contestant that runs at it."""
_Rows: TypeAlias = Sequence[CutCheck]
_NO_CUTS = "This run cut no power: what its durability classes are worth is not measured here."
_CLASSES = ("level", "worst loss", "what cuts showed", "declared class", "gone", "acknowledged", "cuts")
_TOLD = "Each cell: in how many cuts acknowledged work was gone, and the most that one cut took. "
_PRICES = (
    "level",
    "goodput",
    "blocks",
    "median latency",
    "p99 latency",
    "server and client CPU per operation",
    "written",
    "fsyncs",
    "from its start after a cut until it answers",
    "rate on the simulated disk",
)


@dataclass(frozen=True)
class _Level:
    """A level that the run has, with the rows of its cuts."""

    label: str
    contestant: RecordedContestant
    rows: _Rows

    @property
    def observed(self) -> ObservedCuts:
        return observed_cuts(self.rows, self.contestant.name)

    @property
    def known(self) -> _Rows:
        return [row for row in self.rows if row.resolved]


def _levels(found: Findings, levels: Levels) -> list[_Level]:
    """Those that the run has; what it left out is told elsewhere."""
    planned = {one.name for one in found.scenario.contestants}
    rows = found.run.manifest.cut_checks
    return [
        _Level(label, found.contestant(named), [row for row in rows if row.contestant == named.name])
        for label, named in levels
        if named.name in planned
    ]


# --- what cuts took ---------------------------------------------------------------------------
def cuts_table(found: Findings, levels: Levels) -> Html:
    """For each level its declared class, what its cuts took in all, and what that says of the class."""
    shown = [level for level in _levels(found, levels) if level.rows]
    if not shown:
        return page.banner("note", _NO_CUTS)
    caption = (
        "After each cut the server was started on what was left; where it started, every "
        f"{'balance' if found.scenario.workload.accounts else 'row'} was read. "
        "Acknowledged and gone: of the cuts that left something to count in. "
        "Worst loss: the age of the oldest acknowledged work that was gone. Where the disk failed before the power did, "
        "or nothing is left, only the time that the lost work took counts; "
        "a longer load can lose more."
    )
    return values_table(_CLASSES, [_class_cells(level) for level in shown], caption=caption)


def _class_cells(level: _Level) -> list[str]:
    known, observed = level.known, level.observed
    counted = [row for row in known if row.lost is not None]
    return [
        level.label,
        _seconds(observed.worst_loss_s),
        _showed(level),
        level.contestant.durability,
        total(row.lost for row in counted),
        total(row.acknowledged for row in counted),
        str(observed.cuts),
    ]


def _showed(level: _Level) -> str:
    """The worst first; what was seen in no cut may still happen, so its bound is said."""
    observed = level.observed
    unresolved = [row for row in level.rows if not row.resolved]
    broken = sum(verdict_of_row(row) == BROKEN for row in level.known)
    said = [f"{BROKEN}, in {of_all(broken, observed.cuts, 'cut')}"] if broken else []
    ruins = _ruins(level.known)
    said += [f"{count} {left}" for left, count in ruins.items()]
    if observed.lossy:
        in_all = f"{observed.lossy} other{'s' if observed.lossy > 1 else ''}"
        where = in_all if ruins else of_all(observed.lossy, observed.cuts, "cut")
        said.append(f"acknowledged work gone in {where}")
    if observed.cuts and not observed.lossy and not observed.ruined:
        said.append(f"nothing lost; {bound_words(observed.cuts, 'cut')}")
    if unresolved:
        said.append(f"no answer in {of_all(len(unresolved), len(level.rows), 'cut')} ({reasons(unresolved)})")
    return "; ".join(said)


def _ruins(known: _Rows) -> dict[str, int]:
    kinds = {
        "unreadable": "left nothing that starts",
        "inconsistent": "left a state that no operations can have made",
    }
    counts = {words: sum(row.left == left for row in known) for left, words in kinds.items()}
    return {words: count for words, count in counts.items() if count}


def faults_table(found: Findings, levels: Levels) -> Html:
    """For each level and fault in how many of its cuts acknowledged work was gone, and the most that was."""
    shown = [level for level in _levels(found, levels) if level.known]
    if not shown:
        return page.banner("note", _NO_CUTS)
    seen = [fault for fault in FAULTS if any(row.fault == fault for level in shown for row in level.known)]
    rows = [[level.label, *(_fault_cell(level, fault) for fault in seen)] for level in shown]
    words = "; ".join(f"{fault}: {FAULTS[fault]}" for fault in seen)
    return values_table(("level", *seen), rows, caption=f"{_TOLD}{words[0].upper()}{words[1:]}.")


def _fault_cell(level: _Level, fault: str) -> str:
    rows = [row for row in level.known if row.fault == fault]
    if not rows:
        return "–"
    ruined = sum(row.left in RUINED for row in rows)
    lossy = [row.lost for row in rows if row.lost]
    said = [f"nothing usable left in {ruined}"] if ruined else []
    said += [f"lost up to {max(lossy):,} in {len(lossy)}"] if lossy else []
    return f"{' and '.join(said)} of {len(rows)}" if said else f"nothing lost in {len(rows)}"


# --- what it costs ----------------------------------------------------------------------------
def price_table(found: Findings, levels: Levels) -> Html:
    """What a level costs: rate, latency and CPU of the trials; what it wrote, how often it synced and how long it
    took to come back, of the cuts. The rate on the disk that is cut is no rate of the server, and stands apart."""
    treatment = found.treatments[0]
    rows = [
        [level.label, *_trial_cells(found, level, treatment), *_cut_cells(level, found)]
        for level in _levels(found, levels)
    ]
    return values_table(_PRICES, rows)


def _trial_cells(found: Findings, level: _Level, treatment: float) -> list[str]:
    name = level.contestant.name
    goodput = found.goodput(name, treatment)
    if goodput is None:
        return [NO_VALID_TRIAL, "0", "–", "–", "–"]
    p50, p99 = (found.trial_values(name, treatment, metric) for metric in ("p50", "p99"))
    spent = [found.trial_values(name, treatment, f"{part}-cpu") for part in ("server", "client")]
    cpu_us = sum(statistics.median(values) for values in spent if values)
    return [
        f"{goodput.as_count()}/s",
        str(goodput.n),
        *(f"{format_count(statistics.median(values))} ms" if values else "–" for values in (p50, p99)),
        f"{format_count(cpu_us)} µs",
    ]


def _cut_cells(level: _Level, found: Findings) -> list[str]:
    operation = operation_of(found.scenario.workload)
    whole = [row for row in level.known if row.fault not in DISK_FAULTS]
    worked = [row for row in whole if row.acknowledged and row.written_bytes is not None]
    if not worked:
        return ["–"] * 4
    recovered = [row.recovered_in_s for row in worked if row.recovered_in_s is not None]
    rates = [row.rate_per_s for row in worked if row.rate_per_s is not None]
    done = sum(row.acknowledged or 0 for row in worked)
    return [
        f"{sum(row.written_bytes or 0 for row in worked) / done:,.0f} B/{operation}",
        f"{sum(row.fsyncs or 0 for row in worked) / done:.2g}/{operation}",
        f"{statistics.median(recovered):.2f} s" if recovered else "no server",
        f"{statistics.median(rates):,.0f}/s" if rates else "–",
    ]


# --- both -------------------------------------------------------------------------------------
def losses_chart(found: Findings, levels: Levels) -> charts.Figure:
    """Goodput of each level over what its cuts took, every cut a dot."""
    treatment = found.treatments[0]
    drawn = [
        charts.Level(
            system=level.contestant.colour,
            label=level.label,
            declared=level.contestant.durability,
            allowed=_allowed(level.contestant.durability),
            goodput=goodput,
            cuts=tuple(charts.Cut(loss_window_s(row), verdict_of_row(row) == BROKEN) for row in level.known),
        )
        for level in _levels(found, levels)
        if level.known and (goodput := found.goodput(level.contestant.name, treatment)) is not None
    ]
    title = _title(found, drawn)
    if not drawn:
        reason = "No level has both a valid trial and a cut of which it is known what it left."
        return charts.missing(title, reason, provenance=provenance(found))
    return charts.losses(
        drawn,
        provenance=provenance(found),
        title=title,
        subtitle="The rate is that of trials without a cut. Each dot is one power cut under load. Bar: how far back a "
        "setting is allowed to lose.",
    )


def _allowed(text: str) -> charts.Allowed:
    declared = Durability.parse(text)
    if declared.kind == "none":
        return "all"
    if declared.kind == "delayed":
        return "any" if declared.max_ms is None else declared.max_ms / 1000
    return 0.0


def _title(found: Findings, drawn: Sequence[charts.Level]) -> str:
    if not drawn:
        return "Goodput against what a power cut takes"
    operations = operations_of(found.scenario.workload)
    kept = [level for level in drawn if all(cut.window_s == 0 for cut in level.cuts)]
    said = f"{len(kept)} of {len(drawn)} settings lost no acknowledged {operations} in any power cut"
    if not kept:
        return said
    fastest = max(kept, key=lambda level: level.goodput.estimate)
    rate = format_count(fastest.goodput.estimate)
    return f"{said}; the fastest of them does {rate} per second: {fastest.label}"


def cut_sentence(found: Findings, labels: Mapping[str, str]) -> str:
    """What cuts showed of contestants, each under what it is called; nothing in a run without cuts."""
    rows = found.run.manifest.cut_checks
    seen = {label: [row for row in rows if row.contestant == name] for name, label in labels.items()}
    operations = operations_of(found.scenario.workload)
    said = [
        f"{label} {_in_words(of_label, operations)}"
        for label, of_label in seen.items()
        if any(row.resolved for row in of_label)
    ]
    return f" Power cut under load: {'; '.join(said)}." if said else ""


def _in_words(rows: _Rows, operations: str) -> str:
    """What the cuts of one contestant took: where the power alone failed, and how much more where the disk had failed
    before."""
    observed, alone = (
        observed_cuts(some, rows[0].contestant)
        for some in (rows, [row for row in rows if row.fault not in DISK_FAULTS])
    )
    told = alone if alone.cuts else observed
    said = []
    if observed.ruined:
        broken = ", which its class does not allow" if observed.refutes_declared else ""
        said.append(f"{left_nothing(observed.ruined, observed.cuts, 'cut')}{broken}")
    if observed.worst_lost:
        back = "" if told.worst_loss_s is None else f", up to {_seconds(told.worst_loss_s)} back"
        least = f"up to {told.worst_lost:,} acknowledged {operations}{back}" if told.worst_lost else "nothing"
        more = observed.worst_lost > (told.worst_lost or 0)
        after = f", and up to {observed.worst_lost:,} where the disk had failed before" if more else ""
        broken = ", more than its class allows" if observed.refutes_declared and not observed.ruined else ""
        said.append(f"lost {least}{after}{broken}")
    if not said:
        return f"lost nothing in {observed.cuts} cut{'s' if observed.cuts > 1 else ''}"
    return (", and " if "," in said[0] else " and ").join(said)


def cut_values(found: Findings, levels: Levels) -> dict[str, str]:
    """Counts for the prose."""
    shown = _levels(found, levels)
    known = [row for level in shown for row in level.known]
    refuted = [level.label for level in shown if level.observed.refutes_declared]
    return {
        "cuts": f"{len(known):,}",
        "levels": str(len(shown)),
        "cut_least": str(min((level.observed.cuts for level in shown), default=0)),
        "audited_after_cuts": f"{sum(row.acknowledged or 0 for row in known if row.lost is not None):,}",
        "refuted_levels": "; ".join(refuted) or "none",
    }


def _seconds(value: float | None) -> str:
    if value is None:
        return "unknown"
    return "0" if value == 0 else f"{format_count(value * 1000)} ms" if value < 1 else f"{value:.2f} s"
