"""Waterfall: which differences produce a gap. Steps multiply, and the printed digits close."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal

from gapbook.charts._canvas import Canvas, Plane
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
    draw_dots,
    draw_estimate,
    draw_interval,
    key_dots,
    key_interval,
    key_order_range,
    key_residual,
    key_share,
)
from gapbook.charts._scale import LogScale, log_domain
from gapbook.charts._text import measure, wrap
from gapbook.charts._tokens import FAMILIES, system_token
from gapbook.method.interval import Interval, format_count, format_factor
from gapbook.record.metric import GOODPUT, Metric

__all__ = ["Closing", "Endpoint", "Step", "close", "waterfall"]

Family = Literal["stack", "wire", "promise", "workload", "residual"]

_MOST_DIGITS = 6


@dataclass(frozen=True)
class Endpoint:
    """Where the gap starts or ends: a contestant, the value of its metric, and that of each block."""

    system: str
    label: str
    detail: str
    value: Interval
    blocks: tuple[float, ...] = ()


@dataclass(frozen=True)
class Step:
    """One factor of the gap; ``order_range`` is its least and greatest value over the orderings."""

    name: str
    detail: str
    family: Family
    factor: Interval
    order_range: tuple[float, float] | None = None
    blocks: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if self.family not in FAMILIES:
            raise ValueError(
                f"step {self.name}: family {self.family!r} is unknown: use {', '.join(FAMILIES)}"
            )


@dataclass(frozen=True)
class Closing:
    """The printed digits of a gap: the factors multiply to the total, and so does the quotient.

    ``unit`` stands right behind both ends where they are printed alone.
    """

    factors: tuple[str, ...]
    total: str
    end: str
    start: str
    unit: str = ""

    @property
    def line(self) -> str:
        return f"Closes: {' × '.join(self.factors)} = ×{self.total} = {self.end} ÷ {self.start}"

    @property
    def short_line(self) -> str:
        return f"Closes: {len(self.factors)} shares multiply to ×{self.total} = {self.end} ÷ {self.start}"


@dataclass(frozen=True)
class _Bar:
    step: Step
    before: float
    printed: str

    @property
    def after(self) -> float:
        return self.before * self.step.factor.estimate

    @property
    def bounds(self) -> str:
        """The interval, to as many decimals as the factor."""
        factor = self.step.factor
        decimals = len(self.printed.partition(".")[2])
        if not factor.bounded:
            return f"n = {factor.n}"
        return f"[{factor.low:.{decimals}f}–{factor.high:.{decimals}f}]"


def close(start: float, factors: Sequence[float], end: float, unit: str = "") -> Closing:
    """Print factors and values with as few digits, three or more, as still multiply to the printed total.

    Raises ValueError when no printing closes: the factors are then not those of this gap.
    """
    total = format_factor(end / start)
    for digits in range(3, _MOST_DIGITS + 1):
        printed = tuple(_factor_text(factor, digits) for factor in factors)
        if _rounds_to(math.prod(map(float, printed)), total):
            break
    else:
        product = math.prod(factors)
        raise ValueError(
            f"the factors multiply to ×{product:.6g}, but the gap is ×{end / start:.6g}: a waterfall must close"
        )
    for digits in range(3, _MOST_DIGITS + 1):
        end_text, start_text = _count_text(end, digits), _count_text(start, digits)
        if _rounds_to(_value(end_text) / _value(start_text), total):
            break
    return Closing(printed, total, end_text, start_text, unit)


def _factor_text(factor: float, digits: int) -> str:
    """As ``format_factor`` prints it, with more digits where three do not close."""
    if digits == 3:
        return format_factor(factor)
    return f"{factor:.{max(0, digits - 1 - math.floor(math.log10(factor)))}f}"


def _count_text(count: float, digits: int) -> str:
    decimals = digits - 1 - math.floor(math.log10(count))
    return f"{round(count, decimals):,.{max(0, decimals)}f}"


def _value(text: str) -> float:
    return float(text.replace(",", ""))


def _rounds_to(value: float, printed: str) -> bool:
    decimals = len(printed.partition(".")[2])
    return abs(value - float(printed)) <= 0.5 * 10.0**-decimals * (1 + 1e-9)


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
        _Bar(step, level, printed)
        for step, level, printed in zip(steps, before, closing.factors, strict=False)
    ]

    def draw(canvas: Canvas) -> None:
        draw_header(canvas, title, subtitle, _key(steps))
        low, high = log_domain(_all_values(start, bars, end))
        canvas.x_scale = LogScale(low, high, *_plot(canvas, start, bars, end, closing))
        top = canvas.y
        (_draw_phone_rows if canvas.is_phone else _draw_wide_rows)(canvas, start, bars, end, closing)
        draw_axis(canvas, top, value_ticks(canvas), metric.axis)
        _draw_closing(canvas, closing)
        draw_footer(canvas, provenance)

    whole = total or _unbounded(closing, start)
    description = _describe(start, bars, end, whole, provenance, metric)
    return build("waterfall", title, description, _table(start, bars, end, whole, metric), draw)


def _unbounded(closing: Closing, start: Endpoint) -> Interval:
    return Interval(float(closing.total), math.nan, math.nan, start.value.n)


def _all_values(start: Endpoint, bars: Sequence[_Bar], end: Endpoint) -> list[float]:
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


@dataclass(frozen=True)
class _Columns:
    """Where numbers begin, and where the last of them ends."""

    label_width: float
    share: float
    bounds: float
    right: float


def _columns(
    canvas: Canvas, start: Endpoint, bars: Sequence[_Bar], end: Endpoint, closing: Closing
) -> _Columns:
    sizes = sizes_of(canvas)
    right = canvas.width - 8.0
    factors = max((measure(f"×{bar.printed}", sizes.label, bold=True) for bar in bars), default=0.0)
    bounds = max((measure(bar.bounds, sizes.tick) for bar in bars), default=0.0)
    ends = max(
        measure(f"{text}{closing.unit}", sizes.label, bold=True) for text in (closing.start, closing.end)
    )
    details = [start.detail, end.detail, *(bar.step.detail for bar in bars)]
    label_width = min(max([140.0, *(measure(detail, sizes.footer) for detail in details)]), 190.0)
    share = right - max(factors + 12 + bounds, ends)
    return _Columns(label_width, share, share + factors + 12, right)


def _plot(
    canvas: Canvas, start: Endpoint, bars: Sequence[_Bar], end: Endpoint, closing: Closing
) -> tuple[float, float]:
    if canvas.is_phone:
        return 14.0, canvas.width - 14.0
    columns = _columns(canvas, start, bars, end, closing)
    return columns.label_width + 24, columns.share - 20


def _draw_wide_rows(
    canvas: Canvas, start: Endpoint, bars: Sequence[_Bar], end: Endpoint, closing: Closing
) -> None:
    sizes = sizes_of(canvas)
    columns = _columns(canvas, start, bars, end, closing)
    link = _draw_wide_end(canvas, start, f"{closing.start}{closing.unit}", columns, None)
    for bar in bars:
        top = canvas.y
        for index, line in enumerate(wrap(bar.step.name, sizes.label, columns.label_width, bold=True)):
            canvas.text(8, top + 16 + index * 13, line, size=sizes.label, bold=True)
            canvas.y = top + 16 + index * 13
        for line in wrap(bar.step.detail, sizes.footer, columns.label_width):
            canvas.y += 13
            canvas.text(8, canvas.y, line, size=sizes.footer, token="muted")
        canvas.text(columns.share, top + 19, f"×{bar.printed}", size=sizes.label, bold=True)
        canvas.text(columns.bounds, top + 19, bar.bounds, size=sizes.tick, token="muted")
        _draw_bar(canvas, bar, top + 15, link)
        link = top + 15
        canvas.y = max(canvas.y, top + 31) + 4
    _draw_wide_end(canvas, end, f"{closing.end}{closing.unit}", columns, link)


def _draw_wide_end(
    canvas: Canvas, endpoint: Endpoint, printed: str, columns: _Columns, link: float | None
) -> float:
    sizes = sizes_of(canvas)
    token = system_token(endpoint.system)
    top = canvas.y
    canvas.text(8, top + 14, endpoint.label, size=sizes.label, token=token, bold=True)
    canvas.y = top + 14
    for line in wrap(endpoint.detail, sizes.footer, columns.label_width):
        canvas.y += 13
        canvas.text(8, canvas.y, line, size=sizes.footer, token="muted")
    canvas.text(columns.share, top + 21, printed, size=sizes.label, token=token, bold=True)
    canvas.y = max(canvas.y, top + 27) + 6
    _draw_end_marks(canvas, endpoint, top, top + 12, link)
    return top + 12


def _draw_end_marks(canvas: Canvas, endpoint: Endpoint, top: float, y: float, link: float | None) -> None:
    """The row's panel down to the cursor, the disc and its trials."""
    token = system_token(endpoint.system)
    value = endpoint.value.estimate
    canvas.rect((0, top, canvas.width, canvas.y), token="panel", plane=Plane.PANEL)
    if link is not None:
        canvas.line((value, link), (value, y), token="rule", plane=Plane.LINK, space="x")
    draw_estimate(canvas, value, y, token, size=70)
    draw_dots(canvas, endpoint.blocks, y + 11, token)


def _draw_phone_rows(
    canvas: Canvas, start: Endpoint, bars: Sequence[_Bar], end: Endpoint, closing: Closing
) -> None:
    sizes = sizes_of(canvas)
    columns = _columns(canvas, start, bars, end, closing)
    link = _draw_phone_end(canvas, start, f"{closing.start}{closing.unit}", columns, None)
    for bar in bars:
        canvas.y += 2
        top = canvas.y
        for line in wrap(bar.step.name, sizes.label, columns.share - 16, bold=True):
            canvas.y += 13
            canvas.text(6, canvas.y, line, size=sizes.label, bold=True, halo="bg")
        canvas.text(columns.share, top + 13, f"×{bar.printed}", size=sizes.label, bold=True, halo="bg")
        canvas.text(columns.bounds, top + 13, bar.bounds, size=sizes.tick, token="muted", halo="bg")
        y = canvas.y + 15
        _draw_bar(canvas, bar, y, link)
        link = y
        canvas.y = y + 16
    _draw_phone_end(canvas, end, f"{closing.end}{closing.unit}", columns, link)


def _draw_phone_end(
    canvas: Canvas, endpoint: Endpoint, printed: str, columns: _Columns, link: float | None
) -> float:
    sizes = sizes_of(canvas)
    token = system_token(endpoint.system)
    top = canvas.y
    canvas.text(
        columns.right,
        top + 14,
        printed,
        size=sizes.label,
        token=token,
        bold=True,
        align="right",
        halo="panel",
    )
    canvas.y = top + 1
    for line in wrap(endpoint.label, sizes.label, columns.share - 16, bold=True):
        canvas.y += 13
        canvas.text(6, canvas.y, line, size=sizes.label, token=token, bold=True, halo="panel")
    y = canvas.y + 11
    canvas.y = y + 18
    _draw_end_marks(canvas, endpoint, top, y, link)
    return y


def _draw_bar(canvas: Canvas, bar: _Bar, y: float, link: float) -> None:
    """Order range, bar, interval at its end, blocks beneath, and the hairline from the row above."""
    step = bar.step
    canvas.line((bar.before, link), (bar.before, y), token="rule", plane=Plane.LINK, space="x")
    if step.order_range:
        low, high = (bar.before * factor for factor in step.order_range)
        opacity = 0.12 if step.family == "residual" else 0.24
        corners = (low, y - 9, high, y + 9)
        canvas.rect(corners, token=step.family, plane=Plane.BAND, space="x", opacity=opacity, radius=2)
    corners = (min(bar.before, bar.after), y - 5.5, max(bar.before, bar.after), y + 5.5)
    if step.family == "residual":
        canvas.rect(corners, token="ink", plane=Plane.BAR, space="x", outline="dashed")
    else:
        canvas.rect(corners, token=step.family, plane=Plane.BAR, space="x")
    if step.factor.bounded:
        draw_interval(
            canvas, bar.before * step.factor.low, bar.before * step.factor.high, y, "ink", halo=True
        )
    draw_dots(canvas, [bar.before * block for block in step.blocks], y + 11, "ink")


def _draw_closing(canvas: Canvas, closing: Closing) -> None:
    size = sizes_of(canvas).label
    line = closing.short_line if canvas.is_phone else closing.line
    canvas.y += 6
    for text in wrap(line, size, canvas.width - 16, bold=True):
        canvas.y += size + 4
        canvas.text(8, canvas.y, text, size=size, bold=True)
    canvas.y += 2


def _table(start: Endpoint, bars: Sequence[_Bar], end: Endpoint, total: Interval, metric: Metric) -> Table:
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
        ("step", "what changes", "value", "95 % CI", "n", "range over orderings", "blocks"), tuple(rows)
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
    bars: Sequence[_Bar],
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
