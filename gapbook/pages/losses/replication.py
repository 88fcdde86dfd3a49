"""What replicators of SQLite take: memory, restores and writes, by condition."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from gapbook import charts
from gapbook.claims.claim import claim
from gapbook.markup import Html, values_table
from gapbook.method.cells import Named
from gapbook.method.findings import Findings
from gapbook.method.interval import Interval
from gapbook.method.source import Rate
from gapbook.pages import page
from gapbook.pages.losses.copies import NOTHING_RESTORED, losses, lost_where_read, places, told_by_trials
from gapbook.pages.provenance import provenance
from gapbook.pages.versions import versioned_label
from gapbook.pages.who import Rows
from gapbook.pages.words import rate_cell
from gapbook.record.metric import Metric

__all__ = [
    "Column",
    "PublishedLine",
    "memory_answer",
    "memory_chart",
    "metrics_table",
    "strikes_table",
    "writes_table",
]

Column: TypeAlias = tuple[str, str]
"""The head of a column, and the metric in it."""
_NEVER = "–"
_WRITTEN = "PSS, written"
_COUNTED = {
    "RSS, idle": (
        "Memory while nobody writes",
        "Resident sets added up: a shared page counts in each process.",
    ),
    "PSS, idle": ("Memory while nobody writes", "Shared pages counted once (PSS)."),
    "RSS, written": (
        "Memory while all databases are written",
        "Resident sets added up: a shared page counts in each process.",
    ),
    _WRITTEN: ("Memory while all databases are written", "Shared pages counted once (PSS)."),
}
_SHARES = {"of databases", "of its frames"}
_WHOLE = {"processes", "rows"}


@dataclass(frozen=True)
class PublishedLine:
    """A line of a document: the hue of its system, and by the number of databases the claim that printed it."""

    colour: str
    claims: Mapping[int, str]

    @property
    def points(self) -> tuple[charts.LinePoint, ...]:
        """The published figures; nobody knows how far they may be off."""
        printed = {at: claim(identifier).value for at, identifier in self.claims.items()}
        return tuple(
            charts.LinePoint(float(at), Interval(value, math.nan, math.nan, 1))
            for at, value in printed.items()
        )


def _value(found: Findings, name: str, at: float, metric: str) -> Interval | None:
    """A metric of one cell, None where no valid trial tells it."""
    return found.estimate(name, at, metric) if found.tells(metric) else None


def _printed(found: Findings, name: str, at: float, metric: str) -> str:
    value = _value(found, name, at, metric)
    return _told(value, found.metric(metric)) if value else _NEVER


def _told(value: Interval, metric: Metric) -> str:
    """A value with its unit: a part of a whole in percent, a number of things on which all agree without digits or
    unit, for the head of its column names them."""
    if metric.spelled in _SHARES:
        # An interval by t knows nothing of a whole, of which there is never more than all.
        possible = replace(value, low=max(0.0, value.low), high=min(1.0, value.high))
        return f"{(possible if value.bounded else value).as_percent()}{metric.unit}"
    agreed = not value.bounded or math.isclose(value.low, value.high)
    if metric.spelled in _WHOLE and agreed and math.isclose(value.estimate, round(value.estimate)):
        return f"{value.estimate:,.0f}"
    return f"{value.as_count()}{metric.unit}"


# --- memory -----------------------------------------------------------------------------------
def memory_answer(
    found: Findings,
    replicator: Named,
    each: Named,
    one_process: Sequence[Named],
    lossy: Sequence[Named],
    *,
    published_at: Sequence[int],
) -> page.Answer:
    """What the copies were worth, of those named in ``lossy``: memory that copies nothing back is none saved.

    Then the published numbers answered: by their count, with shared pages counted once, and with one process of
    each of ``one_process``; at the most databases of ``published_at`` that the run has.
    """
    at = float(max(found.wanted_of(published_at, replicator.name) or found.treatments))
    idle = [
        (replicator, Html("one process of {who} for all takes {value} while nobody writes.")),
        (each, Html("{who} with a process for each takes {value}, resident sets added up, as the published page counts.")),
    ]  # fmt: skip
    cited: list[page.Cited] = []
    sentences = [
        sentence.format(who=who, value=value)
        for one, sentence in idle
        for who, value in _cited(found, one, at, "RSS, idle", cited)
    ]
    written = [
        Html("{}, {}").format(who, value)
        for one in (*one_process, replicator)
        for who, value in _cited(found, one, at, _WRITTEN, cited)
    ]
    if written:
        sentences.append(
            Html(
                "{} all databases are written, with shared pages counted once, one process takes: {}."
            ).format("While" if sentences else "while", Html("; ").join(written))
        )
    many = found.at(at)
    memory = (
        Html("With {}, {}{}").format(many, Html(" ").join(sentences), _of_one_trial(cited))
        if cited
        else Html("Of memory with {} this run has no valid trial.").format(many)
    )
    return page.answer(Html("{} {}").format(losses(found, lossy), memory).strip(), cited)


def _of_one_trial(cited: Sequence[page.Cited]) -> str:
    """What a reader must know of numbers that have no interval."""
    return " Each number is of a single trial." if all(number.n < 2 for number in cited) else ""


def _cited(
    found: Findings, one: Named, at: float, metric: str, cited: list[page.Cited]
) -> Iterator[tuple[str, Html]]:
    """Who takes how much, as markup, and added to what is cited; nothing without a valid trial."""
    value = _value(found, one.name, at, metric)
    if value is not None:
        known, shown = found.contestant(one), _told(value, found.metric(metric))
        where = f"{metric} of {known.full_label} at {found.at(at)}"
        cited.append(page.Cited(where, shown, value.n, source=Rate(one.name, at, metric)))
        yield versioned_label(found, known), page.estimate(shown)


def memory_chart(
    found: Findings,
    rows: Rows,
    *,
    metric: str = _WRITTEN,
    published: Mapping[str, PublishedLine] | None = None,
    title: str = "",
) -> charts.Figure:
    """Memory by the number of databases, a line each; ``published`` are lines of the document by their labels,
    ``title`` says what was found, in the author's words."""
    of_metric, counted = _COUNTED.get(metric, (metric, ""))
    title = title or of_metric
    lines = []
    for label, one in rows:
        known = [(at, value) for at in places(found, one) if (value := _value(found, one.name, at, metric))]
        points = tuple(
            charts.LinePoint(at, value, tuple(found.values(one.name, at, metric).values()))
            for at, value in known
        )
        if points:
            lines.append(charts.Line(found.contestant(one).colour, label, points))
    if not lines:
        return charts.missing(title, "No contestant has a valid trial.", provenance=provenance(found))
    for label, line in (published or {}).items():
        lines.append(charts.Line(line.colour, label, line.points, is_published=True))
    ticks = sorted({point.x for line in lines for point in line.points})
    return charts.lines(
        lines,
        x_label="databases",
        x_ticks=ticks,
        x_log=True,
        provenance=provenance(found),
        title=title,
        subtitle=f"By the number of databases. {counted}"
        + (" Published: the same count, while nobody writes." if published else ""),
        metric=found.metric(metric),
    )


# --- metrics in rows and columns --------------------------------------------------------------
def metrics_table(
    found: Findings,
    rows: Rows,
    columns: Sequence[Column],
    *,
    published: Mapping[str, str] | None = None,
    caption: str = "",
) -> Html:
    """Metrics of contestants at every value of the treatment that they have.

    ``published`` has by a row's label the claim that stands beside it.
    """
    heads = ["replicator", "condition", *(head for head, _ in columns), *(["published"] if published else [])]
    body: list[list[str | Html]] = []
    for label, one in rows:
        for at in places(found, one):
            cells = [_printed(found, one.name, at, metric) for _, metric in columns]
            beside = (
                [claim(published[label]).published if label in published else _NEVER] if published else []
            )
            body.append([label, found.at(at), *cells, *beside])
    if not body:
        return page.banner("note", "This run has none of these contestants.")
    return values_table(heads, body, caption=caption)


def strikes_table(found: Findings, rows: Rows, *, caption: str = "") -> Html:
    """What came back after a strike: copies that fail are counted, and rows only where the copies could be read."""
    columns = (
        "replicator",
        "condition",
        "trials with every copy whole",
        "trials with a copy that fails its check or restore",
        "rows lost in each of the other trials",
        "everything can be restored after",
    )
    body: list[list[str | Html]] = []
    for label, one in rows:
        for at in places(found, one):
            whole, failing = (
                told_by_trials(found, one.name, at, metric)
                for metric in ("restored whole", "copies unusable")
            )
            if whole:
                body.append(
                    [
                        label,
                        found.at(at),
                        f"{sum(share == 1.0 for share in whole)} of {len(whole)}",
                        f"{sum(count > 0 for count in failing)}",
                        _least_and_most(lost_where_read(found, one.name, at)),
                        _printed(found, one.name, at, "restorable after"),
                    ]
                )
    if not body:
        return page.banner("note", NOTHING_RESTORED)
    return values_table(columns, body, caption=caption)


def _least_and_most(rows: Sequence[float]) -> str:
    """``564``, ``0 to 12``; a dash for nothing."""
    if not rows:
        return _NEVER
    return " to ".join(dict.fromkeys(f"{end:,.0f}" for end in (min(rows), max(rows))))


def writes_table(found: Findings, rows: Sequence[tuple[str, Named, Named]]) -> Html:
    """Commits a second, their latencies, and the rate by that of the same writer without a replicator."""
    columns = (
        "replicator",
        "commits per second",
        "÷ those without a replicator",
        "median commit",
        "p99 of commits",
        "p99.9 of commits",
        "processor time of the replicator",
    )
    body: list[list[str | Html]] = []
    for label, one, alone in rows:
        for at in places(found, one):
            ratio = found.ratio(one.name, alone.name, at) if found.scenario.find(alone.name) else None
            rate = found.goodput(one.name, at)
            body.append(
                [
                    label,
                    rate_cell(rate),
                    ratio.as_factor() if ratio and one.name != alone.name else _NEVER,
                    *(_printed(found, one.name, at, metric) for metric in ("p50", "p99", "p99.9")),
                    _printed(found, one.name, at, "replicator CPU"),
                ]
            )
    if not body:
        return page.banner("note", "This run has none of these contestants.")
    return values_table(columns, body)
