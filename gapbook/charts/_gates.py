"""Gates: may these numbers be printed? One cell per gate, the worst trial against its limit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from gapbook.charts._canvas import Canvas, Plane
from gapbook.charts._figure import Figure, Table, build
from gapbook.charts._frame import Provenance, draw_footer, draw_header, sizes_of
from gapbook.charts._marks import VERDICT_SHAPES
from gapbook.charts._text import measure, wrap

__all__ = ["Gate", "GateState", "gates"]

GateState = Literal["refused none", "refused some", "refused all", "unassessed"]

_TOKENS: dict[str, str] = {
    "refused none": "confirmed",
    "refused some": "conditions",
    "refused all": "refuted",
    "unassessed": "unmeasurable",
}
_TICK = "M-0.95,0.05L-0.3,0.7L0.95,-0.65"
_CROSS = "M-0.7,-0.7L0.7,0.7M0.7,-0.7L-0.7,0.7"
_DASH = "M-0.8,0L0.8,0"
_STROKE = "M0,-0.9L0,0.25M0,0.8L0,0.9"
_GAP = 7.0
_INSET = 8.0
_WORST_SIZE = 13.0
_DOT_PITCH = 4.2


@dataclass(frozen=True)
class Gate:
    """One rule: the worst trial as text, its limit as text, and each trial's value on one linear scale.

    ``limit_value`` places the tick; None spaces the trials evenly, for rules that are only kept or broken.
    ``unassessed`` counts the trials that the rule could not judge: they have neither passed nor failed.
    """

    name: str
    worst: str
    limit: str
    values: tuple[float, ...]
    limit_value: float | None
    passed: int
    total: int
    state: GateState
    unassessed: int = 0

    def __post_init__(self) -> None:
        if self.state not in _TOKENS:
            raise ValueError(f"gate {self.name}: state {self.state!r} is unknown: use {', '.join(_TOKENS)}")
        if min(self.passed, self.unassessed) < 0 or self.passed + self.unassessed > self.total:
            raise ValueError(f"gate {self.name}: {self.passed} of {self.total} trials cannot have passed")
        if (self.state == "unassessed") != (self.unassessed == self.total > 0):
            raise ValueError(f"gate {self.name}: {self.state} of {self.unassessed} trials not assessed")

    @property
    def token(self) -> str:
        return _TOKENS[self.state]

    @property
    def count(self) -> str:
        """``12 of 20``: trials that passed, of those that were assessed."""
        return f"{self.passed} of {self.total - self.unassessed}"


@dataclass(frozen=True)
class _Layout:
    """What all cells share: width, and how many lines each part of a cell may take."""

    columns: int
    width: float
    names: int
    worsts: int
    limits: int
    count_beside: bool

    @property
    def inner(self) -> float:
        return self.width - 2 * _INSET

    @property
    def height(self) -> float:
        own_line = 0 if self.count_beside else 14
        return 12 + self.names * 14 + self.worsts * 17 + self.limits * 14 + own_line + 20


def gates(
    cells: Sequence[Gate], *, provenance: Provenance, title: str, subtitle: str, summary: str = ""
) -> Figure:
    """Cells in rows of three to six, two on a phone. ``summary`` says what follows: ``numbers published``."""
    if not cells:
        raise ValueError("a chart of gates needs at least one gate")

    def draw(canvas: Canvas) -> None:
        draw_header(canvas, title, subtitle, ())
        _draw_summary(canvas, cells, summary)
        layout = _layout(canvas, cells)
        top = canvas.y
        for index, gate in enumerate(cells):
            row, column = divmod(index, layout.columns)
            left = 1 + column * (layout.width + _GAP)
            y = top + row * (layout.height + _GAP)
            _draw_cell(canvas, gate, layout, left, y)
            canvas.y = y + layout.height
        canvas.y += 8
        draw_footer(canvas, provenance)

    return build("gates", title, _describe(cells, summary, provenance), _table(cells), draw)


def _layout(canvas: Canvas, cells: Sequence[Gate]) -> _Layout:
    """As many columns as leave every text on one line; three, or two on a phone, where none do."""
    if canvas.is_phone:
        return _layout_of(canvas, cells, 2)
    for most in (6, 5, 4):
        columns = math.ceil(len(cells) / math.ceil(len(cells) / most))
        layout = _layout_of(canvas, cells, max(3, columns))
        if layout.names == layout.worsts == layout.limits == 1:
            return layout
    return _layout_of(canvas, cells, 3)


def _layout_of(canvas: Canvas, cells: Sequence[Gate], columns: int) -> _Layout:
    sizes = sizes_of(canvas)
    width = (canvas.width - 2 - (columns - 1) * _GAP) / columns
    inner = width - 2 * _INSET
    beside = all(
        measure(gate.worst, _WORST_SIZE, bold=True) + 8 + measure(gate.count, sizes.footer) <= inner
        for gate in cells
    )
    return _Layout(
        columns,
        width,
        max(len(wrap(gate.name, sizes.tick, inner - 17, bold=True)) for gate in cells),
        max(len(wrap(gate.worst, _WORST_SIZE, inner, bold=True)) for gate in cells),
        max(len(wrap(gate.limit, sizes.footer, inner)) for gate in cells),
        beside,
    )


def _draw_summary(canvas: Canvas, cells: Sequence[Gate], summary: str) -> None:
    sizes = sizes_of(canvas)
    state = _worst_state(cells)
    canvas.y += 8
    _draw_icon(canvas, state, 7, canvas.y)
    for index, line in enumerate(wrap(_headline(cells, summary), sizes.label, canvas.width - 22)):
        canvas.y += 15 if index else 4.5
        canvas.text(20, canvas.y, line, size=sizes.label, token=_TOKENS[state])
    canvas.y += 10


def _worst_state(cells: Sequence[Gate]) -> GateState:
    states = {gate.state for gate in cells}
    order: tuple[GateState, ...] = ("refused all", "refused some", "refused none")
    return next((state for state in order if state in states), "unassessed")


def _headline(cells: Sequence[Gate], summary: str) -> str:
    counted = {state: sum(gate.state == state for gate in cells) for state in _TOKENS}
    if counted["refused none"] == len(cells):
        told = (
            f"none of {len(cells)} gates refused a trial" if len(cells) > 1 else "the gate refused no trial"
        )
    else:
        others = [f"{counted[state]} {state}" for state in ("refused some", "refused all") if counted[state]]
        others += [f"{counted['unassessed']} not assessed"] if counted["unassessed"] else []
        told = ", ".join([f"{counted['refused none']} of {len(cells)} gates refused no trial", *others])
    return f"{told}: {summary}" if summary else told


def _draw_icon(canvas: Canvas, state: GateState, x: float, y: float) -> None:
    size, glyph = {
        "refused none": (120.0, _TICK),
        "refused some": (160.0, _STROKE),
        "refused all": (120.0, _CROSS),
        "unassessed": (120.0, _DASH),
    }[state]
    token = _TOKENS[state]
    canvas.point(x, y, token=token, shape=VERDICT_SHAPES[token], size=size)
    canvas.point(x, y, token="bg", plane=Plane.TOP, shape=glyph, size=36, filled=False, stroke_width=1.8)


def _draw_cell(canvas: Canvas, gate: Gate, layout: _Layout, left: float, top: float) -> None:
    sizes = sizes_of(canvas)
    x = left + _INSET
    right = left + layout.width - _INSET
    corners = (left, top, left + layout.width, top + layout.height)
    if gate.state == "refused none":
        canvas.rect(corners, token="panel", plane=Plane.PANEL, radius=6)
    else:
        canvas.rect(corners, token=gate.token, plane=Plane.PANEL, radius=6, outline="solid")
    _draw_icon(canvas, gate.state, x + 6, top + 14)
    for index, line in enumerate(wrap(gate.name, sizes.tick, layout.inner - 17, bold=True)):
        canvas.text(x + 17, top + 18 + index * 14, line, size=sizes.tick, bold=True)
    y = top + 6 + layout.names * 14
    token = "ink" if gate.state in {"refused none", "unassessed"} else gate.token
    for index, line in enumerate(wrap(gate.worst, _WORST_SIZE, layout.inner, bold=True)):
        canvas.text(x, y + 15 + index * 17, line, size=_WORST_SIZE, token=token, bold=True)
    if layout.count_beside:
        canvas.text(right, y + 15, gate.count, size=sizes.footer, token="muted", align="right")
    y += layout.worsts * 17
    for index, line in enumerate(wrap(gate.limit, sizes.footer, layout.inner)):
        canvas.text(x, y + 13 + index * 14, line, size=sizes.footer, token="muted")
    if not layout.count_beside:
        canvas.text(x, y + 13 + layout.limits * 14, gate.count, size=sizes.footer, token="muted")
    _draw_trials(canvas, gate, (x, right), top + layout.height - 8)


def _draw_trials(canvas: Canvas, gate: Gate, span: tuple[float, float], y: float) -> None:
    """The magnitudes of all trials on a line, the limit as a tick; infinite ones stand at the end."""
    left, right = span
    canvas.line((left, y), (right, y), token="rule", plane=Plane.LINK)
    values = [abs(value) for value in gate.values if not math.isnan(value)]
    finite = [value for value in values if math.isfinite(value)]
    if gate.limit_value is None or not any((*values, gate.limit_value)):
        places = _evenly(len(values), left + 3, right - 3, y)
    else:
        farthest = max([gate.limit_value * 1.35, *finite]) or 1.0
        scale = (right - left - 3) / farthest
        places = [
            (left + 1.5 + min(value, farthest) * scale, y - 3 - index % 3 * 2.0)
            for index, value in enumerate(values)
        ]
        tick = left + 1.5 + gate.limit_value * scale
        canvas.line((tick, y - 7), (tick, y + 3), token="ink", plane=Plane.MARK, width=1.8)
    for x, y_dot in places:
        canvas.point(x, y_dot, token=gate.token, plane=Plane.TRIAL, size=9, opacity=0.75)


def _evenly(count: int, left: float, right: float, y: float) -> list[tuple[float, float]]:
    """Places in one row, or in as many as keep the dots apart."""
    rows = min(4, max(1, math.ceil(count * _DOT_PITCH / (right - left))))
    step = (right - left) / max(1, math.ceil(count / rows) - 1)
    return [(left + index // rows * step, y - 4 - index % rows * 3.2) for index in range(count)]


def _table(cells: Sequence[Gate]) -> Table:
    rows = tuple(
        (gate.name, gate.worst, gate.limit, gate.count, str(gate.unassessed), gate.state) for gate in cells
    )
    return Table(("gate", "worst trial", "limit", "trials passed", "not assessed", "state"), rows)


def _describe(cells: Sequence[Gate], summary: str, provenance: Provenance) -> str:
    clauses = "; ".join(
        f"{gate.name}: worst {gate.worst}, {gate.limit}, {gate.count} trials, {gate.state}" for gate in cells
    )
    return f"Gates of the run: {_headline(cells, summary)}. {clauses}. {provenance.method}"
