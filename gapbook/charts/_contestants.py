"""Contestants: how fast each system is with each client and module, one panel for each facet."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gapbook.charts._canvas import Canvas
from gapbook.charts._contestant_cells import Contestant, Row, cells_of, interval_text, ours_text
from gapbook.charts._contestant_rows import columns_of, draw_panels
from gapbook.charts._figure import Figure, Table, build
from gapbook.charts._frame import (
    KeyItem,
    Provenance,
    draw_footer,
    draw_header,
)
from gapbook.charts._marks import (
    key_dots,
    key_estimate,
    key_interval,
    key_published,
    key_refused,
)
from gapbook.charts._scale import LogScale, log_domain
from gapbook.charts._tokens import system_token
from gapbook.method.interval import format_count
from gapbook.record.metric import GOODPUT, Metric

__all__ = ["contestants"]


def contestants(
    rows: Sequence[Contestant],
    *,
    facets: Sequence[str],
    provenance: Provenance,
    title: str,
    subtitle: str,
    metric: Metric = GOODPUT,
) -> Figure:
    """Sorted rows in one panel per facet, over one shared logarithmic axis.

    ``facets`` are the panel titles; a single empty one leaves the title out.
    """
    for row in rows:
        if len(row.cells) != len(facets):
            raise ValueError(f"{row.label}, {row.detail}: {len(row.cells)} cells for {len(facets)} facets")
    panels = [_panel(rows, index, metric) for index in range(len(facets))]
    if not rows or not facets:
        raise ValueError("a chart of contestants needs at least one contestant and one facet")

    def draw(canvas: Canvas) -> None:
        draw_header(canvas, title, subtitle, _key(rows))
        columns = columns_of(canvas, rows)
        low, high = log_domain(_all_values(rows))
        canvas.x_scale = LogScale(low, high, *columns.plot)
        draw_panels(canvas, list(zip(facets, panels, strict=True)), columns, metric)
        draw_footer(canvas, provenance)

    return build(
        "contestants",
        title,
        _describe(facets, panels, provenance, metric),
        _table(facets, panels, metric),
        draw,
    )


def _panel(rows: Sequence[Contestant], facet: int, metric: Metric) -> list[Row]:
    """Rows of one facet, best first, those without an estimate last."""
    panel = [Row(system_token(row.system), row.label, row.detail, row.cells[facet]) for row in rows]
    sign = -1 if metric.better == "higher" else 1
    return sorted(panel, key=lambda row: sign * row.cell.value.estimate if row.cell.value else math.inf)


def _all_values(rows: Sequence[Contestant]) -> list[float]:
    values: list[float] = []
    for cell in cells_of(rows):
        values += [trial.value for trial in cell.trials]
        if cell.value:
            values += [cell.value.estimate, cell.value.low, cell.value.high]
        if cell.published:
            values.append(cell.published)
    return values


def _key(rows: Sequence[Contestant]) -> list[KeyItem]:
    cells = cells_of(rows)
    token = system_token(rows[0].system)
    counts = sorted({cell.value.n for cell in cells if cell.value})
    key = [key_estimate(token)]
    if any(cell.value and cell.value.bounded for cell in cells):
        key.append(key_interval(token))
    if counts:
        span = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]}–{counts[-1]}"
        key.append(key_dots(token, f"one trial, n = {span}"))
    if any(not trial.is_valid for cell in cells for trial in cell.trials):
        key.append(key_refused(token))
    if any(cell.published for cell in cells):
        key.append(key_published())
    return key


def _table(facets: Sequence[str], panels: list[list[Row]], metric: Metric) -> Table:
    columns = (metric.column, "95 % CI", "n", "published", "trials", "refused", "notes")
    head = ("condition",) if any(facets) else ()
    rows = [
        ((facet,) if head else ()) + _table_row(row, metric)
        for facet, panel in zip(facets, panels, strict=True)
        for row in panel
    ]
    return Table((*head, "system", "contestant", *columns), tuple(rows))


def _table_row(row: Row, metric: Metric) -> tuple[str, ...]:
    ours = row.cell.value
    bounds = f"[{metric.whole(ours.low)}–{metric.whole(ours.high)}]" if ours and ours.bounded else "–"
    valid = [metric.whole(trial.value) for trial in row.cell.trials if trial.is_valid]
    refused = [
        f"{metric.whole(trial.value)} ({trial.refusal})" for trial in row.cell.trials if not trial.is_valid
    ]
    notes = [*row.cell.flags, *([f"no valid trial: {row.cell.missing}"] if row.cell.missing else [])]
    return (
        row.label,
        row.detail,
        metric.whole(ours.estimate) if ours else "–",
        bounds,
        str(ours.n) if ours else "0",
        metric.whole(row.cell.published) if row.cell.published else "–",
        " · ".join(valid) or "–",
        " · ".join(refused) or "–",
        " · ".join(notes) or "–",
    )


def _describe(facets: Sequence[str], panels: list[list[Row]], provenance: Provenance, metric: Metric) -> str:
    parts = [f"Dot plot, log scale, {metric.words} in {metric.spoken} with 95 % confidence intervals."]
    for facet, panel in zip(facets, panels, strict=True):
        clauses = [_clause(row) for row in panel]
        parts.append(f"{facet}: {'; '.join(clauses)}." if facet else f"{'; '.join(clauses)}.")
    return " ".join([*parts, provenance.method])


def _clause(row: Row) -> str:
    name = f"{row.label}, {row.detail}"
    if row.cell.value is None:
        return f"{name}: no valid trial: {row.cell.missing}"
    published = f", published {format_count(row.cell.published)}" if row.cell.published else ""
    flags = f", {', '.join(row.cell.flags)}" if row.cell.flags else ""
    bounds = interval_text(row.cell).strip("[]")
    return f"{name} {ours_text(row.cell)} ({bounds}){published}{flags}"
