"""Waterfall: which differences produce a gap. Steps multiply, and the printed digits close."""

from __future__ import annotations

import math
from collections.abc import Sequence
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
from gapbook.charts._steps import Bar, Endpoint, Step
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
) -> Figure:
    """From ``start`` to ``end`` of a metric in steps that multiply; a step below ×1 goes left.

    ``total`` is the gap with its interval, for the text alternative and the table. Raises ValueError unless
    the printed factors multiply to the printed total.
    """
    if total and not math.isclose(total.estimate, end.value.estimate / start.value.estimate, rel_tol=1e-6):
        raise ValueError(
            f"the total ×{total.estimate:.6g} is not {end.value.estimate:.6g} ÷ {start.value.estimate:.6g}"
        )
    closing = close(
        start.value.estimate, [step.factor.estimate for step in steps], end.value.estimate, metric.unit
    )
    levels = accumulate((step.factor.estimate for step in steps), lambda level, factor: level * factor)
    before = [start.value.estimate, *(start.value.estimate * level for level in levels)]
    bars = [
        Bar(step, level, printed)
        for step, level, printed in zip(steps, before, closing.factors, strict=False)
    ]

    def draw(canvas: Canvas) -> None:
        draw_header(canvas, title, subtitle, _key(steps))
        low, high = log_domain(_all_values(start, bars, end))
        canvas.x_scale = LogScale(low, high, *plot_edges(canvas, start, bars, end, closing))
        top = canvas.y
        draw_rows(canvas, start, bars, end, closing)
        draw_axis(canvas, top, value_ticks(canvas), metric.axis)
        _draw_closing(canvas, closing)
        draw_footer(canvas, provenance)

    whole = total or _unbounded(closing, start)
    description = _describe(start, bars, end, whole, provenance, metric)
    return build("waterfall", title, description, _table(start, bars, end, whole, metric), draw)


def _unbounded(closing: Closing, start: Endpoint) -> Interval:
    return Interval(float(closing.total), math.nan, math.nan, start.value.n)


def _all_values(start: Endpoint, bars: Sequence[Bar], end: Endpoint) -> list[float]:
    values = [start.value.estimate, *start.blocks, end.value.estimate, *end.blocks]
    for bar in bars:
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


def _table(start: Endpoint, bars: Sequence[Bar], end: Endpoint, total: Interval, metric: Metric) -> Table:
    rows = [_end_row(start, metric)]
    for bar in bars:
        low_high = bar.step.order_range
        span = f"×{low_high[0]:.2f}–{low_high[1]:.2f}" if low_high else "–"
        blocks = " · ".join(f"×{block:.2f}" for block in bar.step.blocks) or "–"
        bounds = bar.bounds if bar.step.factor.bounded else "–"
        rows.append(
            (bar.step.name, bar.step.detail, f"×{bar.printed}", bounds, str(bar.step.factor.n), span, blocks)
        )
    rows.append(_end_row(end, metric))
    factor, _, bounds = total.as_factor().partition(" ")
    rows.append(("whole gap", f"{start.label} to {end.label}", factor, bounds or "–", str(total.n), "–", "–"))
    return Table(
        ("step", "what changes", "value", "95 % CI", "n", "range over orders", "blocks"), tuple(rows)
    )


def _end_row(endpoint: Endpoint, metric: Metric) -> tuple[str, ...]:
    value = endpoint.value
    bounds = f"[{metric.whole(value.low)}–{metric.whole(value.high)}]" if value.bounded else "–"
    blocks = " · ".join(map(metric.whole, endpoint.blocks)) or "–"
    return (
        endpoint.label,
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
) -> str:
    clauses = "; ".join(f"{bar.step.name} ×{bar.printed} ({bar.bounds.strip('[]')})" for bar in bars)
    factor, _, bounds = total.as_factor().partition(" ")
    spread = f" ({bounds.strip('[]')})" if bounds else ""
    return (
        f"Waterfall, log scale. {start.label} {format_count(start.value.estimate)}{metric.unit} to {end.label} "
        f"{format_count(end.value.estimate)}{metric.unit}, {factor}{spread}, n = {total.n} blocks. {clauses}. "
        f"Shares multiply to the gap. {provenance.method}"
    )
