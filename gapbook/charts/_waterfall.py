"""Waterfall: which differences produce a gap. Steps multiply, and the printed digits close."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

from gapbook.charts._canvas import Canvas
from gapbook.charts._closing import Closing, close
from gapbook.charts._figure import Figure, Table, build
from gapbook.charts._frame import (
    KeyItem,
    Provenance,
    draw_axis,
    draw_footer,
    draw_header,
    ratio_ticks,
    sizes_of,
    value_ticks,
)
from gapbook.charts._marks import (
    key_dots,
    key_interval,
    key_order_range,
    key_residual,
    key_share,
)
from gapbook.charts._scale import LogScale, log_domain
from gapbook.charts._steps import Bar, End, Endpoint, Step, Then
from gapbook.charts._text import wrap
from gapbook.charts._waterfall_rows import draw_rows, plot_edges
from gapbook.method.interval import Interval, format_count
from gapbook.record.metric import GOODPUT, Metric

__all__ = ["waterfall"]


def waterfall(
    start: Endpoint,
    steps: Sequence[Step],
    end: Endpoint,
    *,
    provenance: Provenance,
    title: str,
    subtitle: str,
    total: Interval | None = None,
    metric: Metric = GOODPUT,
    then: Then | None = None,
) -> Figure:
    """From ``start`` to ``end`` of a metric in steps that multiply; a step below ×1 goes left.

    ``total`` is the gap with its interval, for the text alternative and the table. With ``then``, one step leads on to
    the same gap elsewhere, and everything is drawn as a multiple of the start. Raises ValueError unless the printed
    factors multiply to the printed total.
    """
    _require_quotient(total, start.value, end.value)
    if then:
        _require_quotient(then.total, then.start, then.end)
    closing = close(
        start.value.estimate,
        [step.factor.estimate for step in steps],
        end.value.estimate,
        metric.unit,
        (then.step.factor.estimate, then.start.estimate, then.end.estimate) if then else None,
    )
    levels = accumulate((step.factor.estimate for step in steps), lambda level, factor: level * factor)
    before = [start.value.estimate, *(start.value.estimate * level for level in levels)]
    bars = [
        Bar(step, level, printed)
        for step, level, printed in zip(steps, before, closing.factors, strict=False)
    ]
    rows = _rows(start, bars, end, closing, then)

    def draw(canvas: Canvas) -> None:
        draw_header(canvas, title, subtitle, _key([row.step for row in rows if isinstance(row, Bar)]))
        low, high = log_domain(_all_values(rows))
        canvas.x_scale = LogScale(low, high, *plot_edges(canvas, rows))
        top = canvas.y
        draw_rows(canvas, rows)
        if then:
            axis = f"times {start.label}, {then.place} (log scale)"
            draw_axis(canvas, top, ratio_ticks(canvas, start.value.estimate), axis)
        else:
            draw_axis(canvas, top, value_ticks(canvas), metric.axis)
        _draw_closing(canvas, closing)
        draw_footer(canvas, provenance)

    whole = total or _unbounded(closing, start)
    description = _describe(start, bars, end, whole, provenance, metric, then, closing)
    table = _table(start, bars, end, whole, metric, then, closing)
    return build("waterfall", title, description, table, draw)


def _require_quotient(total: Interval | None, start: Interval, end: Interval) -> None:
    if total and not math.isclose(total.estimate, end.estimate / start.estimate, rel_tol=1e-6):
        raise ValueError(f"the total ×{total.estimate:.6g} is not {end.estimate:.6g} ÷ {start.estimate:.6g}")


def _rows(
    start: Endpoint, bars: Sequence[Bar], end: Endpoint, closing: Closing, then: Then | None
) -> list[Bar | End]:
    """All rows from the top down. Where a step leads on, the ends are printed as multiples of the start."""
    if then is None or closing.then is None:
        printed = (f"{text}{closing.unit}" for text in (closing.start, closing.end))
        return [End(start, next(printed)), *bars, End(end, next(printed))]
    one, last = start.value.estimate, then.total
    there = Endpoint(
        end.system,
        f"Whole gap, {then.there}",
        f"{closing.then.end} ÷ {closing.then.start}{closing.unit}",
        Interval(one * last.estimate, one * last.low, one * last.high, last.n),
    )
    here = [
        replace(each, label=f"{each.label}, {then.place}", detail=f"{each.detail} · {text}{closing.unit}")
        for each, text in ((start, closing.start), (end, closing.end))
    ]
    return [
        End(here[0], "×1"),
        *bars,
        End(here[1], f"×{closing.total}"),
        Bar(then.step, end.value.estimate, closing.then.factor),
        End(there, f"×{closing.then.total}"),
    ]


def _unbounded(closing: Closing, start: Endpoint) -> Interval:
    return Interval(float(closing.total.replace(",", "")), math.nan, math.nan, start.value.n)


def _all_values(rows: Sequence[Bar | End]) -> list[float]:
    ends = [row.endpoint for row in rows if isinstance(row, End)]
    values = [value for end in ends for value in (end.value.estimate, *end.blocks)]
    for bar in rows:
        if not isinstance(bar, Bar):
            continue
        factors = [bar.step.factor.estimate, *bar.step.blocks, *(bar.step.order_range or ())]
        if bar.step.factor.bounded:
            factors += [bar.step.factor.low, bar.step.factor.high]
        values += [bar.before * factor for factor in factors]
    return values


def _key(steps: Sequence[Step]) -> list[KeyItem]:
    named = next((step.family for step in steps if step.family != "residual"), None)
    ranged = next((step.family for step in steps if step.order_range), None)
    key = [key_share(named)] if named else []
    if any(step.family == "residual" for step in steps):
        key.append(key_residual())
    if any(step.factor.bounded for step in steps):
        key.append(key_interval("ink"))
    if ranged:
        key.append(key_order_range(ranged))
    counts = sorted({step.factor.n for step in steps})
    if any(step.blocks for step in steps):
        span = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]}–{counts[-1]}"
        key.append(key_dots("ink", f"one block, n = {span}"))
    return key


def _draw_closing(canvas: Canvas, closing: Closing) -> None:
    size = sizes_of(canvas).label
    line = closing.short_line if canvas.is_phone else closing.line
    canvas.y += 6
    for text in wrap(line, size, canvas.width - 16, bold=True):
        canvas.y += size + 4
        canvas.text(8, canvas.y, text, size=size, bold=True)
    canvas.y += 2


def _table(
    start: Endpoint,
    bars: Sequence[Bar],
    end: Endpoint,
    total: Interval,
    metric: Metric,
    then: Then | None,
    closing: Closing,
) -> Table:
    names = f"{start.label} to {end.label}"
    rows = [_end_row(start, metric), *map(_bar_row, bars), _end_row(end, metric)]
    rows.append(_gap_row("whole gap", f"{names}, {then.place}" if then else names, total))
    if then and closing.then:
        rows.append(_bar_row(Bar(then.step, end.value.estimate, closing.then.factor)))
        for each, value in ((start, then.start), (end, then.end)):
            rows.append(
                _end_row(replace(each, value=value, blocks=()), metric, f"{each.label}, {then.there}")
            )
        rows.append(_gap_row("whole gap", f"{names}, {then.there}", then.total))
    return Table(
        ("step", "what changes", "value", "95 % CI", "n", "range over orders", "blocks"), tuple(rows)
    )


def _bar_row(bar: Bar) -> tuple[str, ...]:
    low_high = bar.step.order_range
    span = f"×{low_high[0]:.2f}–{low_high[1]:.2f}" if low_high else "–"
    blocks = " · ".join(f"×{block:.2f}" for block in bar.step.blocks) or "–"
    bounds = bar.bounds if bar.step.factor.bounded else "–"
    return bar.step.name, bar.step.detail, f"×{bar.printed}", bounds, str(bar.step.factor.n), span, blocks


def _gap_row(name: str, between: str, total: Interval) -> tuple[str, ...]:
    factor, _, bounds = total.as_factor().partition(" ")
    return name, between, factor, bounds or "–", str(total.n), "–", "–"


def _end_row(endpoint: Endpoint, metric: Metric, label: str = "") -> tuple[str, ...]:
    value = endpoint.value
    bounds = f"[{metric.whole(value.low)}–{metric.whole(value.high)}]" if value.bounded else "–"
    blocks = " · ".join(map(metric.whole, endpoint.blocks)) or "–"
    return (
        label or endpoint.label,
        endpoint.detail,
        f"{metric.whole(value.estimate)}{metric.unit}",
        bounds,
        str(value.n),
        "–",
        blocks,
    )


def _describe(
    start: Endpoint,
    bars: Sequence[Bar],
    end: Endpoint,
    total: Interval,
    provenance: Provenance,
    metric: Metric,
    then: Then | None,
    closing: Closing,
) -> str:
    clauses = "; ".join(f"{bar.step.name} ×{bar.printed} ({bar.bounds.strip('[]')})" for bar in bars)
    factor, _, bounds = total.as_factor().partition(" ")
    spread = f" ({bounds.strip('[]')})" if bounds else ""
    leads = ""
    if then and closing.then:
        last = Bar(then.step, end.value.estimate, closing.then.factor)
        leads = (
            f" {then.step.name} ×{last.printed} ({last.bounds.strip('[]')}) leads from {then.place} to the gap at "
            f"{then.there}, {then.total.as_factor()}."
        )
    return (
        f"Waterfall, log scale. {start.label} {format_count(start.value.estimate)}{metric.unit} to {end.label} "
        f"{format_count(end.value.estimate)}{metric.unit}, {factor}{spread}, n = {total.n} blocks. {clauses}. "
        f"Shares multiply to the gap.{leads} {provenance.method}"
    )
