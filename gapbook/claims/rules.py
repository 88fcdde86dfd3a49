"""The rules of ``book/verdicts.toml``, each with the hour at which it was fixed."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from typing import Any

from gapbook.errors import ParameterError
from gapbook.paths import CHECKOUT

__all__ = ["RULES", "VERDICT_BAND_FRAC", "fixed_at", "rules_by_claim", "tests_fixed"]

RULES: Mapping[str, str] = {
    "band": "our interval against a band round the published value",
    "bound": "our interval against the bound of its rule",
    "version": "measured on another version of the server than the claim was made of, which settles nothing",
    "arithmetic": "recomputed from published figures",
    "count": "counted in the published source",
    "source": "read in the published source",
    "not-measurable": "cannot be decided by a measurement here",
    "elsewhere": "belongs to another chapter",
}
VERDICT_BAND_FRAC = 0.10
"""Half the width of the band round a published value, as a fraction of it."""
_TESTED = {"band", "bound", "version", "arithmetic", "count"}


def tests_fixed(chapter: str) -> list[datetime]:
    """When each test that reads runs of this chapter was fixed, in ascending order."""
    tests = (test for rule in rules_by_claim().values() for test in rule.get("test", []))
    return sorted(fixed_at(test) for test in tests if test.get("chapter") == chapter)


def fixed_at(test: Mapping[str, Any]) -> datetime:
    """The hour at which a test was fixed: its own, or that of the file."""
    when: datetime = test.get("fixed", _file()["fixed"])
    return when


@cache
def _file() -> Mapping[str, Any]:
    return tomllib.loads((CHECKOUT / "book" / "verdicts.toml").read_text())


@cache
def rules_by_claim() -> Mapping[str, Mapping[str, Any]]:
    """Every rule by its claim; raises ParameterError for a claim with two, and for one without a test."""
    rows = _file()["verdict"]
    found = {row["claim"]: row for row in rows}
    if len(found) != len(rows):
        raise ParameterError("book/verdicts.toml: a claim has two rules")
    for name, row in found.items():
        if row["rule"] in _TESTED and not row.get("test"):
            raise ParameterError(f"verdict {name}: rule {row['rule']} without a test")
    return found
