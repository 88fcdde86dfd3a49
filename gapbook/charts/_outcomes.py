"""Outcomes: how each of a number of trials ended, one mark a trial, for what is right or wrong and not more or less."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gapbook.charts._canvas import Canvas, Plane
from gapbook.charts._figure import Figure, Table, build
from gapbook.charts._frame import KeyItem, Provenance, draw_footer, draw_header, sizes_of
from gapbook.charts._marks import VERDICT_SHAPES
from gapbook.charts._text import wrap

__all__ = ["Outcome", "Outcomes", "outcomes"]

_PITCH = 15.0
_SIZE = 90.0
_NAMES = 300.0
_PRINTED = 150.0
_TOKENS = ("confirmed", "conditions", "refuted")


@dataclass(frozen=True)
class Outcome:
    """A way to end, and the token of its mark: ``confirmed``, ``conditions`` or ``refuted``."""

    name: str
    token: str

    def __post_init__(self) -> None:
        if self.token not in _TOKENS:
            raise ValueError(f"outcome {self.name}: token {self.token!r}: use {', '.join(_TOKENS)}")


@dataclass(frozen=True)
class Outcomes:
    """How many trials of something ended in each way; ``printed`` is said at the end of its row."""

    name: str
    counts: tuple[int, ...]
    printed: str


def outcomes(
    rows: Sequence[Outcomes],
    kinds: Sequence[Outcome],
    *,
    provenance: Provenance,
    title: str,
    subtitle: str,
) -> Figure:
    """A row of marks for each of ``rows``, in the order of ``kinds``.

    Raises ValueError without a row, and for a row that does not count each kind.
    """
    if not rows:
        raise ValueError("a chart of outcomes needs at least one row")
    for row in rows:
        if len(row.counts) != len(kinds) or min(row.counts) < 0:
            raise ValueError(f"{row.name}: {row.counts} for {len(kinds)} outcomes")

    def draw(canvas: Canvas) -> None:
        draw_header(canvas, title, subtitle, [_key(kind) for kind in kinds])
        for row in rows:
            _draw_row(canvas, row, kinds)
        draw_footer(canvas, provenance)

    return build("outcomes", title, _describe(title, rows, kinds), _table(rows, kinds), draw)


def _key(kind: Outcome) -> KeyItem:
    def draw(canvas: Canvas, x: float, y: float) -> None:
        canvas.point(x + 6, y, token=kind.token, shape=VERDICT_SHAPES[kind.token], size=_SIZE)

    return KeyItem(kind.name, 12, draw)


def _draw_row(canvas: Canvas, row: Outcomes, kinds: Sequence[Outcome]) -> None:
    sizes = sizes_of(canvas)
    left, right = (0.0, canvas.width) if canvas.is_phone else (_NAMES, canvas.width - _PRINTED)
    top = canvas.y
    lines = wrap(row.name, sizes.label, canvas.width if canvas.is_phone else _NAMES - 12)
    for index, words in enumerate(lines):
        canvas.text(0, top + 14 + 15 * index, words, size=sizes.label)
    if canvas.is_phone:
        canvas.text(0, top + 14 + 15 * len(lines), row.printed, size=sizes.label, bold=True)
        canvas.y += 15 * (len(lines) + 1) + 4
    else:
        canvas.text(canvas.width, top + 14, row.printed, size=sizes.label, bold=True, align="right")
    marks = [kind.token for kind, count in zip(kinds, row.counts, strict=True) for _ in range(count)]
    in_line = max(1, int((right - left) // _PITCH))
    for index, token in enumerate(marks):
        line, place = divmod(index, in_line)
        x, y = left + _PITCH * (place + 0.5), canvas.y + 10 + _PITCH * line
        canvas.point(x, y, token=token, plane=Plane.TRIAL, shape=VERDICT_SHAPES[token], size=_SIZE)
    canvas.y += _PITCH * max(1, -(-len(marks) // in_line)) + 8
    if not canvas.is_phone:
        canvas.y = max(canvas.y, top + 15 * len(lines) + 8)
    canvas.y += 4


def _table(rows: Sequence[Outcomes], kinds: Sequence[Outcome]) -> Table:
    return Table(
        ("case", *(kind.name for kind in kinds), "in words"),
        tuple((row.name, *(f"{count}" for count in row.counts), row.printed) for row in rows),
    )


def _describe(title: str, rows: Sequence[Outcomes], kinds: Sequence[Outcome]) -> str:
    clauses = [
        f"{row.name}: "
        + ", ".join(f"{count} {kind.name}" for kind, count in zip(kinds, row.counts, strict=True))
        for row in rows
    ]
    return f"One mark for each trial. {title}. {'; '.join(clauses)}."
