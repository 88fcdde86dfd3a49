"""Interaction: what one factor is worth in every state of the others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from gapbook.charts._canvas import Canvas
from gapbook.charts._figure import Figure, Table, build
from gapbook.charts._frame import KeyItem, Provenance, draw_footer, draw_header, draw_ratio_axis, sizes_of
from gapbook.charts._marks import (
    draw_dots,
    draw_estimate,
    draw_interval,
    key_dots,
    key_interval,
)
from gapbook.charts._scale import LogScale, log_domain
from gapbook.charts._text import measure, wrap
from gapbook.method.interval import Interval, format_factor
from gapbook.record.metric import GOODPUT, Metric

__all__ = ["FactorStates", "interaction"]

_ROW = 46.0


@dataclass(frozen=True)
class FactorStates:
    """A factor: its share over the measured orders, and its multiplier in each state of the others."""

    name: str
    detail: str
    family: str
    share: Interval
    states: tuple[tuple[str, Interval], ...]


def interaction(
    factors: Sequence[FactorStates],
    *,
    provenance: Provenance,
    title: str,
    subtitle: str,
    metric: Metric = GOODPUT,
) -> Figure:
    """One row a factor: a dot for each state, the disc and its interval the share over the measured orders."""
    if not factors:
        raise ValueError("a chart of interactions needs at least one factor")

    def draw(canvas: Canvas) -> None:
        sizes = sizes_of(canvas)
        draw_header(
            canvas, title, subtitle, [_key_share(), key_interval("ink"), key_dots("ink", "one state")]
        )
        label_width = (
            0.0
            if canvas.is_phone
            else min(210.0, max(measure(f.name, sizes.label, bold=True) for f in factors))
        )
        values = (
            [v.estimate for f in factors for _, v in f.states] + [f.share.estimate for f in factors] + [1.0]
        )
        values += [b for f in factors if f.share.bounded for b in (f.share.low, f.share.high)]
        low, high = log_domain(values)
        canvas.x_scale = LogScale(low, high, label_width + 16, canvas.width - 12)
        top = canvas.y
        for factor in factors:
            _draw_row(canvas, factor, label_width)
        draw_ratio_axis(canvas, top, f"multiplier of {metric.label} (log scale)")
        draw_footer(canvas, provenance)

    return build("interaction", title, _description(title, factors), _table(factors), draw)


def _key_share() -> KeyItem:
    def draw(canvas: Canvas, x: float, y: float) -> None:
        canvas.point(x + 6, y, token="ink")

    return KeyItem("share over the measured orders", 12, draw)


def _draw_row(canvas: Canvas, factor: FactorStates, label_width: float) -> None:
    sizes = sizes_of(canvas)
    if canvas.is_phone:
        for line in wrap(factor.name, sizes.label, canvas.width, bold=True)[:2]:
            canvas.y += sizes.label + 4
            canvas.text(0, canvas.y, line, size=sizes.label, bold=True)
    else:
        lines = wrap(factor.name, sizes.label, label_width, bold=True)[:2]
        for index, line in enumerate(lines):
            canvas.text(0, canvas.y + 16 + 15 * index, line, size=sizes.label, bold=True)
    token = "ink" if factor.family == "residual" else factor.family
    middle = canvas.y + 12
    draw_estimate(canvas, factor.share.estimate, middle, token)
    if factor.share.bounded:
        draw_interval(canvas, factor.share.low, factor.share.high, middle, token)
    draw_dots(canvas, [value.estimate for _, value in factor.states], middle + 13, token)
    canvas.y += 34 if canvas.is_phone else _ROW


def _table(factors: Sequence[FactorStates]) -> Table:
    rows: list[tuple[str, ...]] = []
    for factor in factors:
        rows.append((factor.name, "share over the measured orders", factor.share.as_factor()))
        rows += [(factor.name, state, value.as_factor()) for state, value in factor.states]
    return Table(("factor", "state of the others", "multiplier"), tuple(rows))


def _description(title: str, factors: Sequence[FactorStates]) -> str:
    clauses = []
    for factor in factors:
        values = [value.estimate for _, value in factor.states if math.isfinite(value.estimate)]
        span = f", from ×{format_factor(min(values))} to ×{format_factor(max(values))}" if values else ""
        clauses.append(f"{factor.name} {factor.share.as_factor()}{span} over {len(values)} states")
    return f"Strip chart, log scale. {title}. {'; '.join(clauses)}."
