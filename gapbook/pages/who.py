"""Who is who: what the rows of a table are called, and what the short names of contestants stand for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from gapbook.markup import Html, values_table
from gapbook.method.cells import Named
from gapbook.method.findings import Findings

__all__ = ["Rows", "who_table"]

Rows: TypeAlias = Sequence[tuple[str, Named]]
"""What a row is called, and its contestant."""


def who_table(found: Findings, rows: Rows) -> Html:
    """What each short name stands for, how its requests are sent, and what an acknowledgement of it promises."""
    columns: tuple[str, ...] = ("short name", "what it is", "how it is loaded")
    known = [(label, found.contestant(one)) for label, one in rows]
    body = [[one.name, label, one.detail] for label, one in known]
    if found.scenario.workload.stores:
        columns += ("durability class",)
        body = [[*row, one.durability] for row, (_, one) in zip(body, known, strict=True)]
    return values_table(columns, body)
