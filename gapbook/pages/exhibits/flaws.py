"""Flawed counting: what a published benchmark's rule would have printed of our own trials."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from typing import Literal

import msgspec
import polars as pl

from gapbook import charts
from gapbook.markup import Html, values_table
from gapbook.method.cells import Named
from gapbook.method.findings import Findings
from gapbook.method.interval import format_count, format_factor
from gapbook.pages import page
from gapbook.pages.provenance import provenance
from gapbook.pages.words import operations_of
from gapbook.record.scenario import RecordedContestant
from gapbook.record.schema import Batches, Flawed, Percentiles, Replayed, Transactions
from gapbook.record.stored_trial import StoredTrial

__all__ = [
    "UNWRITTEN_COLUMNS",
    "answer_counts",
    "batch_table",
    "counts_chart",
    "flaws_table",
    "metrics_table",
    "unwritten_cells",
    "unwritten_table",
]

_COLUMNS = ("flaw", "with it", "without it", "with ÷ without", "our verdict on those trials")
UNWRITTEN_COLUMNS = (
    "contestant",
    "counted by answers",
    "its files grew by",
    "balances not as acknowledged",
    "our verdict on those trials",
)
_TOLD: tuple[Literal["goodput_per_s", "log_bytes", "mismatched_accounts"], ...] = (
    "goodput_per_s",
    "log_bytes",
    "mismatched_accounts",
)
_MEDIANS = "Medians over all trials, also those that our checks refused."
_REPLAYED = "replayed-pairs"
"""The flaw that counts rightly: what stands beside its count is another thing."""
_COUNTED = {
    "with": "counted with the flaw",
    "without": "counted without it",
    "answered": "counted by answers",
    "written": "written to its files",
}


def flaws_table(found: Findings, treatment: float) -> Html:
    """One row a flaw of each contestant: medians over all its trials, the refused ones included, for a
    trial that must be refused is often the point."""
    rows: list[list[str | Html]] = []
    for contestant in found.scenario.contestants:
        seen = [row for row in found.rows(contestant.name, treatment) if row["goodput_per_s"] is not None]
        for flaw in contestant.settings.flaw_names:
            pairs = [pair for row in seen if (pair := _numbers(flaw, row)) is not None]
            if not pairs:
                rows.append([_labelled(contestant.name, flaw), "no trial", "–", "–", _judged(seen)])
                continue
            flawed = statistics.median(pair[0] for pair in pairs)
            honest = statistics.median(pair[1] for pair in pairs)
            rows.append(
                [
                    _labelled(contestant.name, flaw),
                    _with_unit(flawed, flaw, "with"),
                    _with_unit(honest, flaw, "without"),
                    f"×{format_factor(flawed / honest)}"
                    if honest > 0 and flawed > 0 and flaw != _REPLAYED
                    else "–",
                    _judged(seen),
                ]
            )
    return values_table(_COLUMNS, rows, caption=_MEDIANS)


def _labelled(contestant: str, flaw: str) -> str:
    """The flaw, with its contestant where that is called otherwise: ``counts-finished-tasks, killed-server``."""
    return flaw if flaw == contestant else f"{flaw}, {contestant}"


def answer_counts(
    found: Findings, treatment: float, sentence: str, **counted: tuple[Named, str]
) -> page.Answer:
    """A sentence in which ``{name}`` becomes what was counted of a contestant: medians over its trials.

    ``with`` and ``without`` its first flaw, ``answered`` by a count of answers, or ``written`` to its files.
    """
    text, cited = Html.escape(sentence), []
    for name, (named, what) in counted.items():
        contestant = found.contestant(named)
        seen = [r for r in found.rows(contestant.name, treatment) if r["goodput_per_s"] is not None]
        value = _counted(contestant, what, seen)
        if value is None:
            return page.answer(
                f"Not answered by this run: {contestant.name} has no trial with that count at {found.at(treatment)}."
            )
        text = text.replace(f"{{{name}}}", page.estimate(value))
        blocks = len({row["block"] for row in seen})
        cited.append(page.Cited(f"{contestant.name}, {_COUNTED[what]}", f"{value} (median)", blocks))
    return page.answer(text, cited)


def counts_chart(
    found: Findings,
    rows: Sequence[tuple[str, Named, Literal["with", "answered"]]],
    *,
    title: str,
    subtitle: str = _MEDIANS,
) -> charts.Figure:
    """What a defective client counted per second beside what was committed, medians over all trials: rows of a name,
    a contestant, and whether its client's flaw or a mere count of answers counted."""
    told = []
    for label, named, what in rows:
        contestant = found.contestant(named)
        seen = [
            row
            for row in found.rows(contestant.name, found.treatments[0])
            if row["goodput_per_s"] is not None
        ]
        flaw = next(iter(contestant.settings.flaw_names), "")
        pairs = (
            [pair for row in seen if (pair := _numbers(flaw, row)) is not None]
            if what == "with"
            else [
                (rate, 0.0 if row["log_bytes"] == 0 else rate)
                for row in seen
                if (rate := row["goodput_per_s"])
            ]
        )
        if pairs:
            counted, done = (statistics.median(side) for side in zip(*pairs, strict=True))
            told.append(charts.Counted(label, counted, done))
    if not told:
        return charts.missing(title, "No trial has such a count.", provenance=provenance(found))
    return charts.counts(
        told,
        axis=f"{operations_of(found.scenario.workload)} per second (log scale)",
        provenance=provenance(found),
        title=title,
        subtitle=subtitle,
    )


def metrics_table(found: Findings) -> Html:
    """What the servers' public metrics counted in whole trials, beside operations that were committed, of each
    contestant whose server has both counts."""
    operations = operations_of(found.scenario.workload)
    counted = found.run.trials.filter(
        pl.col("metric_transactions").is_not_null() & pl.col("committed").is_not_null()
    )
    rows: list[list[str | Html]] = []
    for contestant in found.scenario.contestants:
        trials = counted.filter(pl.col("contestant") == contestant.name)
        if trials.height:
            refused = sum(sum(json.loads(text or "{}").values()) for text in trials["failed"])
            by_metrics, committed = trials["metric_transactions"].sum(), trials["committed"].sum()
            rows.append(
                [contestant.name, f"{trials.height}", f"{by_metrics:,}", f"{committed:,}", f"{refused:,}"]
            )
    return values_table(
        ("contestant", "trials", "by the metrics", f"committed {operations}", f"refused {operations}"),
        rows,
    )


def batch_table(found: Findings, contestant: Named, treatment: float) -> Html:
    """How long a round took of a client that reads its clock between rounds, against the window."""
    rows: list[list[str | Html]] = []
    for row in found.rows(contestant.name, treatment):
        clock = _flawed(row).clock_between_batches
        if clock is not None:
            rows.append(
                [
                    f"block {row['block'] + 1}",
                    f"{clock.batches:,} of {clock.batch:,}",
                    f"{clock.mean_batch_latency_s or 0:.2f} s",
                    f"{clock.max_batch_latency_s:.2f} s",
                    f"{found.scenario.window_s:g} s",
                ]
            )
    return values_table(("trial", "rounds", "mean round", "longest round", "window"), rows)


def unwritten_table(found: Findings, contestants: Sequence[Named], treatment: float) -> Html:
    """What was answered beside what was written, refused trials included."""
    accounts = found.scenario.workload.accounts
    return values_table(
        UNWRITTEN_COLUMNS,
        [unwritten_cells(c.name, found.rows(c.name, treatment), accounts) for c in contestants],
        caption=_MEDIANS,
    )


def unwritten_cells(contestant: str, rows: Sequence[StoredTrial], accounts: int) -> list[str]:
    """The row of a contestant: medians over all its trials whose server could be read to the end."""
    seen = [row for row in rows if all(row[column] is not None for column in _TOLD)]
    if not seen:
        return [contestant, "no trial", "–", "–", _judged(seen)]
    goodput, grown, mismatched = (
        statistics.median(value for row in seen if (value := row[column]) is not None) for column in _TOLD
    )
    return [
        contestant,
        f"{format_count(goodput)}/s",
        f"{grown:,.0f} bytes",
        f"{mismatched:,.0f} of {accounts:,}",
        _judged(seen),
    ]


def _counted(contestant: RecordedContestant, what: str, rows: Sequence[StoredTrial]) -> str | None:
    """One count of a contestant as printed; None where no trial has it."""
    if what in {"with", "without"}:
        flaw = next(iter(contestant.settings.flaw_names), "")
        pairs = [pair for row in rows if (pair := _numbers(flaw, row)) is not None]
        values = [pair[what == "without"] for pair in pairs]
        return _with_unit(statistics.median(values), flaw, what) if values else None
    if not rows:
        return None
    if what == "written":
        grown = [row["log_bytes"] for row in rows if row["log_bytes"] is not None]
        return f"{statistics.median(grown):,.0f} bytes" if grown else None
    rates = [row["goodput_per_s"] for row in rows if row["goodput_per_s"] is not None]
    return f"{format_count(statistics.median(rates))}/s" if rates else None


def _flawed(row: StoredTrial) -> Flawed:
    return msgspec.json.decode(row["flawed"] or "{}", type=Flawed)


def _numbers(flaw: str, row: StoredTrial) -> tuple[float, float] | None:
    """The number with the flaw and without it, of one trial; None where the trial has none."""
    match _flawed(row).of(flaw):
        case Replayed() as found:
            return float(found.transfers), float(found.distinct_pairs)
        case Percentiles(median_of_per_second_p99_ns=float(median_ns), p99_ns=float(p99_ns)):
            return median_ns / 1e6, p99_ns / 1e6
        case Batches(transactions_per_s=float(rate)) | Transactions(transactions_per_s=float(rate)):
            return None if row["goodput_per_s"] is None else (rate, row["goodput_per_s"])
    return None


def _with_unit(value: float, flaw: str, what: str) -> str:
    if flaw == "median-of-per-second-p99":
        return f"p99 {value:,.1f} ms"
    if flaw == _REPLAYED:
        return f"{value:,.0f} transfers" if what == "with" else f"{value:,.0f} different pairs of accounts"
    return f"{format_count(value)}/s"


def _judged(rows: list[StoredTrial]) -> str:
    """How many trials are valid, and by which gates the others were refused: names, never a server's log."""
    valid = sum(bool(row["valid"]) for row in rows)
    failed = sorted(
        {
            gate["name"]
            for row in rows
            if not row["valid"]
            for gate in json.loads(row["gates"])
            if gate["passed"] is False
        }
    )
    broke = any(not row["valid"] and not json.loads(row["gates"]) for row in rows)
    reasons = [*failed, *(["broke off"] if broke else [])]
    return f"{valid} of {len(rows)} valid" + (f"; refused by: {', '.join(reasons)}" if reasons else "")
