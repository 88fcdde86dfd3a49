"""Losses: what each promise is worth. Goodput over the loss window, every cut a dot, each class a band of what it
allows. A log scale has no zero, so what lost nothing has a lane of its own, and so has what left no state."""

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
from gapbook.charts._upright import LABEL_STEP, LEFT, apart, draw_counts
from gapbook.method.interval import Interval

__all__ = ["Cut", "Level", "losses"]

_HEIGHT = 300.0
_LANE = 46.0
_JITTER = (0.0, -3.5, 3.5)
_NO_STATE = "no state"

Allowed: TypeAlias = float | Literal["any", "all"]


@dataclass(frozen=True)
class Cut:
    """One cut: how far back the acknowledged work reaches that it took, in seconds, 0 for none, and None where it left
    no state to count in. ``refutes``: it took more than the class allows."""

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
        draw_header(canvas, title, subtitle, [key_dots("ink", "one cut"), _key_refuted(), _key_allowed()])
        _draw_plot(canvas, ranked)
        if canvas.is_phone:
            _draw_names_beneath(canvas, ranked)
        draw_footer(canvas, provenance)

    return build("losses", title, _description(title, ranked), _table(ranked), draw)


@dataclass(frozen=True)
class _Across:
    """The lane of cuts that took nothing, the scale of seconds, and the lane of cuts that left no state."""

    zero: float
    scale: LogScale
    none: float

    def __call__(self, window_s: float | None) -> float:
        if window_s is None:
            return self.none
        return self.scale(max(window_s, self.scale.low)) if window_s > 0 else self.zero

    def end_of(self, allowed: Allowed) -> float:
        """Where the band of a class ends."""
        if isinstance(allowed, str):
            return self.none + _LANE / 2 if allowed == "all" else self.scale.stop
        return (
            self.zero + 6 if allowed == 0 else min(self.scale(max(allowed, self.scale.low)), self.scale.stop)
        )


def _draw_plot(canvas: Canvas, ranked: Sequence[Level]) -> None:
    size = sizes_of(canvas)
    canvas.text(
        0, canvas.y + 4, "verified goodput, transactions/s (log scale)", size=size.tick, token="muted"
    )
    names = 20.0 if canvas.is_phone else 14 + max(measure(level.label, size.label) for level in ranked)
    right = canvas.width - names
    top, bottom = canvas.y + 16, canvas.y + 16 + max(_HEIGHT, LABEL_STEP * len(ranked))
    rates = [rate for level in ranked for rate in _rates(level.goodput)]
    up = LogScale(*log_domain(rates, margin=0.08), bottom, top)
    across = _Across(LEFT + _LANE / 2, _seconds(ranked, right), right - _LANE / 2)
    _draw_frame(canvas, up, across, (top, bottom), right)
    for level in ranked:
        _draw_level(canvas, level, up(level.goodput.estimate), across)
    _draw_names(canvas, ranked, up, right + 6, bottom)
    canvas.y = bottom + 40


def _rates(goodput: Interval) -> list[float]:
    return [goodput.estimate, *([goodput.low, goodput.high] if goodput.bounded else [])]


def _seconds(levels: Sequence[Level], right: float) -> LogScale:
    seen = [cut.window_s for level in levels for cut in level.cuts if cut.window_s]
    bounds = [level.allowed for level in levels if not isinstance(level.allowed, str) and level.allowed]
    low, high = log_domain([*seen, *bounds] or [0.001, 1.0], margin=0.06)
    return LogScale(low, high, LEFT + _LANE + 10, right - _LANE - 10)


def _draw_frame(
    canvas: Canvas, up: LogScale, across: _Across, span: tuple[float, float], right: float
) -> None:
    size = sizes_of(canvas).tick
    draw_counts(canvas, up, right, most=6)
    for x in (LEFT + _LANE, right - _LANE):
        canvas.line((x, span[0]), (x, span[1]), token="rule", plane=Plane.GRID, dashed=True)
    canvas.text(across.zero, span[1] + 17, "0", size=size, token="muted", align="center")
    half_of_last = measure(_NO_STATE, size) / 2
    canvas.text(across.none, span[1] + 17, _NO_STATE, size=size, token="muted", align="center")
    end = across.zero + 8
    for tick in log_ticks(across.scale.low, across.scale.high, most=3 if canvas.is_phone else 5):
        label, x = _in_seconds(tick), across.scale(tick)
        half = measure(label, size) / 2
        if x - half > end + 6 and x + half < across.none - half_of_last - 6:
            canvas.line((x, span[0]), (x, span[1]), token="grid", plane=Plane.GRID)
            canvas.text(x, span[1] + 17, label, size=size, token="muted", align="center")
            end = x + half
    title = "how far back acknowledged work is gone"
    canvas.text((LEFT + right) / 2, span[1] + 34, title, size=size, token="muted", align="center")


def _draw_level(canvas: Canvas, level: Level, y: float, across: _Across) -> None:
    token = system_token(level.system)
    band = (LEFT + 4, y - 3, across.end_of(level.allowed), y + 3)
    canvas.rect(band, token=token, plane=Plane.BAND, opacity=0.24, radius=2)
    for index, cut in enumerate(level.cuts):
        x, y_cut = across(cut.window_s), y + _JITTER[index % len(_JITTER)]
        if cut.refutes:
            canvas.point(x, y_cut, token="refuted", plane=Plane.MARK, shape="square", size=26, opacity=0.8)
        else:
            canvas.point(x + index % 5 - 2, y_cut, token=token, plane=Plane.TRIAL, size=12, opacity=0.6)


def _draw_names(canvas: Canvas, ranked: Sequence[Level], up: LogScale, x: float, bottom: float) -> None:
    """Names (on a phone their numbers) at the height of their goodput, moved apart where they would touch."""
    size = sizes_of(canvas).label
    placed = apart([up(level.goodput.estimate) + 4 for level in ranked], bottom)
    for number, (level, y) in enumerate(zip(ranked, placed, strict=True), 1):
        name = str(number) if canvas.is_phone else level.label
        canvas.text(x, y, name, size=size, token=system_token(level.system))


def _draw_names_beneath(canvas: Canvas, ranked: Sequence[Level]) -> None:
    size = sizes_of(canvas).tick
    for number, level in enumerate(ranked, 1):
        canvas.y += LABEL_STEP
        canvas.text(0, canvas.y, f"{number} {level.label}", size=size, token=system_token(level.system))
    canvas.y += 8


def _key_refuted() -> KeyItem:
    def draw(canvas: Canvas, x: float, y: float) -> None:
        canvas.point(x + 5, y, token="refuted", plane=Plane.MARK, shape="square", size=26, opacity=0.8)

    return KeyItem("a cut that took more than its class allows", 10, draw)


def _key_allowed() -> KeyItem:
    def draw(canvas: Canvas, x: float, y: float) -> None:
        canvas.rect((x, y - 3, x + 18, y + 3), token="ink", plane=Plane.BAND, opacity=0.24, radius=2)

    return KeyItem("what the class allows", 18, draw)


def _in_seconds(value: float) -> str:
    return f"{value:.3g} s" if value >= 1 else f"{value * 1000:.3g} ms"


def _worst(level: Level) -> str:
    known = [cut.window_s for cut in level.cuts if cut.window_s is not None]
    ruined = sum(cut.window_s is None for cut in level.cuts)
    worst = _in_seconds(max(known)) if known else "unknown"
    return f"{worst}, {ruined} without a state" if ruined else worst


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
    return (
        f"Goodput on a log scale over how far back acknowledged work is gone. {title}. {'; '.join(clauses)}."
    )
