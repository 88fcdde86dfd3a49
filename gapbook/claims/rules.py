"""The rules of ``book/verdicts*.toml``, a file for each published document, each rule with the hour at which it
was fixed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from gapbook.declared.reading import read
from gapbook.declared.verdicts import VerdictsDeclaration
from gapbook.errors import ParameterError
from gapbook.paths import CHECKOUT

__all__ = ["POOLING_FIXED", "RULES", "VERDICT_BAND_FRAC", "fixed_at", "rules_by_claim", "tests_fixed"]

RULES: Mapping[str, str] = {
    "band": "our interval against a band round the published value",
    "bound": "our interval against the bound of its rule",
    "version": "measured on another version than the claim's, or where it names none, so that nothing is confirmed",
    "arithmetic": "recomputed from published figures",
    "count": "counted in the published source",
    "source": "read in the published source",
    "not-measurable": "cannot be decided by a measurement here",
}
VERDICT_BAND_FRAC = 0.10
"""Half the width of the band round a published value, as a fraction of it."""
POOLING_FIXED = datetime(2026, 11, 27, 16, 40, tzinfo=UTC)
"""When it was fixed that all published runs of the same cells decide together; before, the newest did alone."""


def tests_fixed(chapter: str) -> list[datetime]:
    """When each test that reads runs of this chapter was fixed, in ascending order."""
    tests = (test for rule in rules_by_claim().values() for test in rule.get("test", []))
    return sorted(fixed_at(test) for test in tests if test.get("chapter") == chapter)


def fixed_at(test: Mapping[str, Any]) -> datetime:
    """The hour at which a test was fixed: its own, or that of its file."""
    when: datetime = test["fixed"]
    return when


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of one file, each of whose tests has its hour."""
    file = read(path, VerdictsDeclaration)
    for rule in file.verdict:
        row = msgspec.to_builtins(rule, builtin_types=(datetime,))
        tests = [{"fixed": file.fixed, **test} for test in row.get("test", [])]
        yield {**row, "test": tests} if tests else row


@cache
def rules_by_claim() -> Mapping[str, Mapping[str, Any]]:
    """Every rule by its claim; raises ParameterError for a claim with two, DeclarationError for what no rule may say."""
    rows = [row for path in sorted((CHECKOUT / "book").glob("verdicts*.toml")) for row in _rows(path)]
    found = {row["claim"]: row for row in rows}
    if len(found) != len(rows):
        raise ParameterError("book/verdicts*.toml: a claim has two rules")
    return found
