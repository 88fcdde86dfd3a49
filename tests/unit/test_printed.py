"""What readers call what runs store: one word for one thing, and nothing of a stored run is changed for it."""

from __future__ import annotations

import pytest

from gapbook.record.printed import detail_in_words, level_in_words, state_in_words
from gapbook.record.run import latest_published


@pytest.mark.parametrize(
    ("stored", "printed"),
    [
        ("Rust client · procedure · 1 in flight", "Rust client · stored procedure · one request at a time"),
        (
            "TypeScript client · Node RPC · Drizzle · 40 in flight · serializable",
            "TypeScript client · Node.js server · Drizzle · 40 in flight · serializable",
        ),
        (
            "Rust client · procedure, hot lock last · 1 in flight",
            "Rust client · stored procedure, hot lock last · one request at a time",
        ),
        (
            "Rust client · reducer, one call a payload · 64 in flight",
            "Rust client · reducer, each in a payload · 64 in flight",
        ),
        ("zig client · pond · quack · 21 in flight", "zig client · pond · quack · 21 in flight"),
    ],
)
def test_parts_of_a_description_have_the_words_of_readers(stored: str, printed: str) -> None:
    assert detail_in_words(stored) == printed


@pytest.mark.parametrize(
    ("dimension", "level", "printed"),
    [
        ("in flight", "1", "one request at a time"),
        ("in flight", "16", "16 in flight"),
        ("access", "one call, hot lock last", "stored procedure, hot lock last"),
        ("access", "SQL statements", "SQL statements"),
        ("tier", "rpc", "Node.js server"),
        ("client", "typescript", "TypeScript"),
        ("system", "procedure", "procedure"),
    ],
)
def test_a_level_has_words_by_its_dimension(dimension: str, level: str, printed: str) -> None:
    assert level_in_words(dimension, level) == printed


def test_levels_that_need_no_name_stand_without_it() -> None:
    levels = {"client": "rust", "access": "one call", "in flight": "1"}
    assert state_in_words(levels) == "client Rust · stored procedure · one request at a time"


def test_a_stored_run_keeps_its_words_and_prints_others() -> None:
    one = latest_published("both-optimized").scenario.find("procedure-rpc")
    assert one is not None
    assert one.detail_label == "TypeScript client · Node RPC · procedure · 1 in flight"
    assert one.level("access") == "one call"
    assert one.full_label.endswith(
        "(TypeScript client · Node.js server · stored procedure · one request at a time)"
    )
