"""Losses: what each promise is worth. A row for each level, the fastest first, with its goodput; every cut a dot where
its loss reaches back to, and its class a band of what it allows. A log scale has no zero, so what lost nothing has a
lane of its own, and so has what left nothing usable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from gapbook.charts._canvas import Canvas, Plane
from gapbook.charts._figure import Figure, Table, build
from gapbook.charts._frame import KeyItem, Provenance, draw_footer, draw_header, sizes_of
from gapbook.charts._marks import key_dots
from gapbook.charts._scale import LogScale, log_domain, log_ticks
from gapbook.charts._text import measure
from gapbook.charts._tokens import system_token
from gapbook.method.interval import Interval

__all__ = ["Cut", "Level", "losses"]

_ROW, _NAME = 20.0, 20.0
"""How high a row of dots is, and on a phone the line of words over it, in pixels."""
_LANE = 58.0
_ACROSS, _DOWN = 0.7549, 0.5698
"""The steps that fill a plane most evenly: the inverse of the plastic number, and its square."""
_UNUSABLE, _PER_SECOND = "unusable", "goodput per second"

Allowed: TypeAlias = float | Literal["any", "all"]


@dataclass(frozen=True)
class Cut:
    """One cut: how far back the acknowledged work reaches that it took, in seconds, 0 for none, and None where it left
    nothing usable to count in. ``refutes``: it took more than the class allows."""

    window_s: float | None
    refutes: bool


@dataclass(frozen=True)
class Level:
    """One system at one durability level, in the colour of the system.

    ``allowed`` is what its class lets a cut take: so many seconds, ``any`` acknowledgement, or ``all``, the state
    itself included. ``goodput`` is that of trials on the disk beneath, never of the load that was cut.
    """

    system: str
    label: str
    declared: str
    allowed: Allowed
    goodput: Interval
    cuts: tuple[Cut, ...]


def losses(levels: Sequence[Level], *, provenance: Provenance, title: str, subtitle: str) -> Figure:
    """Raises ValueError when there is no level to draw."""
    if not levels:
        raise ValueError("a chart of losses needs at least one level")
    ranked = sorted(levels, key=lambda level: -level.goodput.estimate)

    def draw(canvas: Canvas) -> None:
        draw_header(
            canvas, title, subtitle, [key_dots("ink", "one power cut"), _key_refuted(), _key_allowed()]
        )
        _draw_rows(canvas, ranked)
        draw_footer(canvas, provenance)

    return build("losses", title, _description(title, ranked), _table(ranked), draw)


@dataclass(frozen=True)
class _Across:
    """The lane of cuts that took nothing, the scale of seconds, and the lane of cuts that left nothing usable."""

    zero: float
    scale: LogScale
    none: float

    @classmethod
    def between(cls, left: float, right: float, levels: Sequence[Level]) -> _Across:
        seen = [cut.window_s for level in levels for cut in level.cuts if cut.window_s]
        bounds = [level.allowed for level in levels if not isinstance(level.allowed, str) and level.allowed]
        low, high = log_domain([*seen, *bounds] or [0.001, 1.0], margin=0.06)
        return cls(
            left + _LANE / 2, LogScale(low, high, left + _LANE + 10, right - _LANE - 10), right - _LANE / 2
        )

    def of(self, cut: Cut, index: int) -> float:
        """Where a cut stands. A lane has no scale, so that its cuts are spread over its width."""
        if cut.window_s:
            return self.scale(max(cut.window_s, self.scale.low))
        return (self.none if cut.window_s is None else self.zero) + (_LANE - 12) * _spread(index, _ACROSS)

    def end_of(self, allowed: Allowed) -> float:
        """Where the band of a class ends."""
        if isinstance(allowed, str):
            return self.none + _LANE / 2 - 2 if allowed == "all" else self.scale.stop + 8
        return (
            self.zero + _LANE / 2 - 2
            if allowed == 0
            else min(self.scale(max(allowed, self.scale.low)), self.scale.stop)
        )


def _spread(index: int, step: float) -> float:
    """A place in -1/2..1/2 for a dot, far from those of the dots before it (an additive recurrence)."""
    return (0.5 + index * step) % 1 - 0.5


def _draw_rows(canvas: Canvas, ranked: Sequence[Level]) -> None:
    """A row for each level, the fastest first: what it is called, its goodput, and its cuts."""
    size = sizes_of(canvas)
    rates = [level.goodput.as_count() for level in ranked]
    counts = max(measure(_PER_SECOND, size.tick), *(measure(rate, size.label) for rate in rates))
    names = max(measure(level.label, size.label) for level in ranked)
    left = 2.0 if canvas.is_phone else names + counts + 30
    across = _Across.between(left, canvas.width - 2, ranked)
    rates_end = canvas.width if canvas.is_phone else names + counts + 16
    canvas.text(rates_end, canvas.y + 4, _PER_SECOND, size=size.tick, token="muted", align="right")
    canvas.y += 12
    spans: list[tuple[float, float]] = []
    for level, rate in zip(ranked, rates, strict=True):
        if canvas.is_phone:
            canvas.y += _NAME
        middle = canvas.y + _ROW / 2
        base = canvas.y - 4 if canvas.is_phone else middle + 4
        token = system_token(level.system)
        canvas.text(0, base, level.label, size=size.label, token=token)
        canvas.text(rates_end, base, rate, size=size.label, align="right")
        _draw_level(canvas, level, middle, across, left)
        spans.append((canvas.y, canvas.y + _ROW))
        canvas.y += _ROW
    # On a phone no line runs through the words between two rows.
    _draw_axis(canvas, across, spans if canvas.is_phone else [(spans[0][0], spans[-1][1])], left)


def _draw_level(canvas: Canvas, level: Level, middle: float, across: _Across, left: float) -> None:
    token, half = system_token(level.system), _ROW / 2 - 2
    band = (left, middle - half, across.end_of(level.allowed), middle + half)
    canvas.rect(band, token=token, plane=Plane.BAND, opacity=0.2, radius=2)
    for index, cut in enumerate(level.cuts):
        x, y = across.of(cut, index), middle + (_ROW - 9) * _spread(index, _DOWN)
        if cut.refutes:
            canvas.point(x, y, token="refuted", plane=Plane.MARK, shape="square", size=16, opacity=0.7)
        else:
            canvas.point(x, y, token=token, plane=Plane.TRIAL, size=10, opacity=0.6)


def _draw_axis(canvas: Canvas, across: _Across, spans: Sequence[tuple[float, float]], left: float) -> None:
    size, bottom = sizes_of(canvas).tick, canvas.y + 4
    for x in (across.zero + _LANE / 2, across.none - _LANE / 2):
        for start, stop in spans:
            canvas.line((x, start), (x, stop), token="rule", plane=Plane.GRID, dashed=True)
    canvas.text(across.zero, bottom + 15, "0", size=size, token="muted", align="center")
    half_of_last = measure(_UNUSABLE, size) / 2
    canvas.text(across.none, bottom + 15, _UNUSABLE, size=size, token="muted", align="center")
    end = across.zero + 8
    for tick in log_ticks(across.scale.low, across.scale.high, most=3 if canvas.is_phone else 5):
        label, x = _in_seconds(tick), across.scale(tick)
        half = measure(label, size) / 2
        if x - half > end + 6 and x + half < across.none - half_of_last - 6:
            for start, stop in spans:
                canvas.line((x, start), (x, stop), token="grid", plane=Plane.GRID)
            canvas.text(x, bottom + 15, label, size=size, token="muted", align="center")
            end = x + half
    title = "how far back acknowledged work is gone (log scale)"
    canvas.text((left + canvas.width) / 2, bottom + 31, title, size=size, token="muted", align="center")
    canvas.y = bottom + 36


def _key_refuted() -> KeyItem:
    def draw(canvas: Canvas, x: float, y: float) -> None:
        canvas.point(x + 5, y, token="refuted", plane=Plane.MARK, shape="square", size=16, opacity=0.7)

    return KeyItem("a cut that took more than promised", 10, draw)


def _key_allowed() -> KeyItem:
    def draw(canvas: Canvas, x: float, y: float) -> None:
        canvas.rect((x, y - 3, x + 18, y + 3), token="ink", plane=Plane.BAND, opacity=0.2, radius=2)

    return KeyItem("what may be lost", 18, draw)


def _in_seconds(value: float) -> str:
    return f"{value:.3g} s" if value >= 1 else f"{value * 1000:.3g} ms"


def _worst(level: Level) -> str:
    known = [cut.window_s for cut in level.cuts if cut.window_s is not None]
    ruined = sum(cut.window_s is None for cut in level.cuts)
    worst = _in_seconds(max(known)) if known else "unknown"
    return f"{worst}, {ruined} left nothing usable" if ruined else worst


def _table(ranked: Sequence[Level]) -> Table:
    rows = tuple(
        (
            level.label,
            level.declared,
            level.goodput.as_count(),
            str(len(level.cuts)),
            _worst(level),
            str(sum(cut.refutes for cut in level.cuts)),
        )
        for level in ranked
    )
    columns = (
        "level",
        "declared class",
        "goodput, transactions/s",
        "cuts",
        "worst loss",
        "cuts beyond the class",
    )
    return Table(columns, rows)


def _description(title: str, ranked: Sequence[Level]) -> str:
    clauses = [
        f"{level.label} {level.goodput.as_count()}/s, worst of {len(level.cuts)} cuts {_worst(level)}"
        for level in ranked
    ]
    return f"A row for each level, the fastest first: how far back acknowledged work is gone, log scale. {title}. {'; '.join(clauses)}."
