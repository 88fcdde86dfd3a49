"""Comparisons: ratios of two contestants each, one row a pair and condition, on one logarithmic axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gapbook.charts._canvas import Canvas, Plane
from gapbook.charts._figure import Figure, Table, build
from gapbook.charts._frame import Provenance, draw_footer, draw_header, draw_ratio_axis, sizes_of
from gapbook.charts._marks import (
    draw_dots,
    draw_elsewhere,
    draw_estimate,
    draw_interval,
    draw_published,
    key_dots,
    key_elsewhere,
    key_estimate,
    key_interval,
    key_published,
)
from gapbook.charts._scale import LogScale, log_domain
from gapbook.charts._text import measure, wrap
from gapbook.method.interval import Interval, format_factor

__all__ = ["ELSEWHERE", "Comparison", "Condition", "comparisons"]

ELSEWHERE = "other runs of ours"
"""The column of what other runs made of a ratio: no number of the run that the chart shows."""
_ROW = 24.0
_VALUE_WIDTH = 162.0
_NAME_GAP = 10.0
"""Between a name and its condition, so that a full line does not run into it."""


@dataclass(frozen=True)
class Condition:
    """One ratio: under which condition, with its interval and what each block says of it; None where there is none,
    and ``missing`` says why in a word or two. ``published`` is what somebody else printed for it, ``elsewhere`` what
    other runs of ours made of it, of which one says the opposite where it is ``turned``."""

    label: str
    ratio: Interval | None
    blocks: tuple[float, ...] = ()
    published: float | None = None
    missing: str = "not measured"
    elsewhere: tuple[float, ...] = ()
    turned: bool = False

    @property
    def printed(self) -> str:
        return self.ratio.as_factor() if self.ratio else self.missing

    @property
    def drawn(self) -> str:
        """What stands beside its marks: the ratio with what all runs made of it, ``×115, 4 runs 115–144``, for that is
        how far it travels; with its interval where there is one run."""
        if self.ratio is None or not self.elsewhere:
            return self.printed
        every = sorted([self.ratio.estimate, *self.elsewhere])
        ends = f"{format_factor(every[0])}–{format_factor(every[-1])}"
        return f"×{format_factor(self.ratio.estimate)}, {len(every)} runs {ends}"


@dataclass(frozen=True)
class Comparison:
    """A pair of contestants under several conditions. ``token`` is the colour of the one above the line."""

    name: str
    token: str
    conditions: tuple[Condition, ...]


def comparisons(
    rows: Sequence[Comparison],
    *,
    axis: str,
    provenance: Provenance,
    title: str,
    subtitle: str,
    estimate: str = "our estimate, geometric mean",
) -> Figure:
    """``axis`` says what was divided, ``estimate`` what a point is. Raises ValueError when no pair has a ratio."""
    known = [c for row in rows for c in row.conditions if c.ratio is not None]
    if not known:
        raise ValueError("a chart of comparisons needs at least one ratio")

    def draw(canvas: Canvas) -> None:
        any_published = any(c.published is not None for c in known)
        key = [key_estimate("ink", estimate), key_interval("ink")]
        if any(c.blocks for c in known):
            key.append(key_dots("ink", "one block"))
        if any(c.elsewhere for c in known):
            key.append(key_elsewhere("ink"))
        draw_header(canvas, title, subtitle, [*key, key_published()] if any_published else key)
        names = 0.0 if canvas.is_phone else 270.0
        low, high = log_domain(_drawn(known))
        labels = max(measure(c.label, sizes_of(canvas).tick) for row in rows for c in row.conditions)
        left, right = (8.0, 8.0) if canvas.is_phone else (names + labels + 22, _VALUE_WIDTH + 12)
        canvas.x_scale = LogScale(low, high, left, canvas.width - right)
        top = canvas.y
        for row in rows:
            _draw_comparison(canvas, row, names)
        draw_ratio_axis(canvas, top, axis)
        draw_footer(canvas, provenance)

    figure = build("comparisons", title, _description(title, rows), _table(rows), draw)
    return replace(figure, turned=tuple(row.name for row in rows if any(c.turned for c in row.conditions)))


def _drawn(known: Sequence[Condition]) -> list[float]:
    """Every value that needs a place on the axis, and one itself."""
    found = [1.0]
    for condition in known:
        found += [*condition.blocks, *condition.elsewhere]
        found += [condition.published] if condition.published else []
        if condition.ratio is not None:
            ratio = condition.ratio
            found += [ratio.estimate, *([ratio.low, ratio.high] if ratio.bounded else [])]
    return found


def _draw_comparison(canvas: Canvas, row: Comparison, names: float) -> None:
    sizes = sizes_of(canvas)
    lines = wrap(row.name, sizes.label, names - _NAME_GAP if names else canvas.width, bold=True)
    top = canvas.y
    for index, line in enumerate(lines):
        canvas.text(0, top + 16 + 15 * index, line, size=sizes.label, bold=True)
    if canvas.is_phone:
        canvas.y += 15 * len(lines) + 6
        _clear(canvas, top)
    for condition in row.conditions:
        _draw_condition(canvas, condition, row.token, names)
    canvas.y = max(canvas.y, top + 15 * len(lines)) + 12


def _draw_condition(canvas: Canvas, condition: Condition, token: str, names: float) -> None:
    sizes, ratio, printed = sizes_of(canvas), condition.ratio, condition.drawn
    if canvas.is_phone:
        top = canvas.y
        canvas.y += 16
        canvas.text(0, canvas.y - 2, f"{condition.label}: {printed}", size=sizes.tick, token="muted")
        _clear(canvas, top)
    middle = canvas.y + 12
    if not canvas.is_phone:
        canvas.text(names, middle + 4, condition.label, size=sizes.tick, token="muted")
        canvas.text(canvas.width, middle + 4, printed, size=sizes.tick, align="right")
    if ratio is not None:
        if condition.published is not None:
            draw_published(canvas, condition.published, ratio.estimate, middle)
        if ratio.bounded:
            draw_interval(canvas, ratio.low, ratio.high, middle, token)
        draw_estimate(canvas, ratio.estimate, middle, token)
        draw_elsewhere(canvas, condition.elsewhere, middle, token)
        draw_dots(canvas, condition.blocks, middle + 9, token)
    canvas.y += _ROW + (4 if canvas.is_phone else 0)


def _clear(canvas: Canvas, top: float) -> None:
    """No grid line runs through the words from ``top`` to the cursor."""
    canvas.rect((0, top + 2, canvas.width, canvas.y + 2), token="bg", plane=Plane.HALO)


def _table(rows: Sequence[Comparison]) -> Table:
    return Table(
        ("comparison", "condition", "ratio", "published", ELSEWHERE),
        tuple(
            (
                row.name,
                condition.label,
                condition.printed,
                f"×{format_factor(condition.published)}" if condition.published else "–",
                ", ".join(f"×{format_factor(one)}" for one in condition.elsewhere) or "–",
            )
            for row in rows
            for condition in row.conditions
        ),
    )


def _description(title: str, rows: Sequence[Comparison]) -> str:
    clauses = [
        f"{row.name}, {condition.label}: {condition.printed}" for row in rows for condition in row.conditions
    ]
    return f"Dot plot, log scale. {title}. {'; '.join(clauses)}."
