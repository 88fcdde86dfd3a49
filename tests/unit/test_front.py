"""The first page says of its chart what its caller compares."""

from __future__ import annotations

import pytest

from gapbook import charts
from gapbook.pages import front


def test_the_chart_of_gaps_says_what_its_caller_divides(monkeypatch: pytest.MonkeyPatch) -> None:
    told: dict[str, object] = {}
    monkeypatch.setattr(charts, "ruler", lambda gaps, **words: told.update(words, gaps=gaps))
    front.gap_ruler(
        front.published("trailbase-family"),
        "today-note-ratio-postgres-alpha15",
        [],
        at=0.0,
        title="one",
        subtitle="Inserts per second of one divided by those of the other.",
    )
    assert told["subtitle"] == "Inserts per second of one divided by those of the other."
