"""``book/verdicts*.toml``: one rule for each claim; the head of ``book/verdicts.toml`` says what its fields mean."""

from __future__ import annotations

import datetime
import re
from typing import Literal, TypeAlias

from msgspec import UNSET, UnsetType

from gapbook.declared.reading import Declared

__all__ = ["REASON_WORDS", "SLOT", "TESTED", "RuleKind", "RuleTest", "VerdictRule", "VerdictsDeclaration"]

RuleKind: TypeAlias = Literal["band", "bound", "version", "arithmetic", "count", "source", "not-measurable"]
REASON_WORDS = 6
"""How long the reason may be for which a claim cannot be decided: it stands in the verdict's own line."""
SLOT = re.compile(r"\{(\d+)\}")
"""In a sentence of what we measured: the number of the test whose value stands there."""
TESTED = frozenset({"band", "bound", "version", "arithmetic", "count"})
"""The kinds of rule that are decided by tests."""
Quantity: TypeAlias = Literal[
    "ratio", "goodput", "value", "mean", "proportion", "worst", "log-share", "ceiling-frac"
]


class RuleTest(Declared, frozen=True, kw_only=True):
    """One place where a claim is tested."""

    chapter: str | UnsetType = UNSET
    quantity: Quantity | UnsetType = UNSET
    metric: str | UnsetType = UNSET
    over: str | tuple[str, ...] | UnsetType = UNSET
    under: str | tuple[str, ...] | UnsetType = UNSET
    whole_over: str | tuple[str, ...] | UnsetType = UNSET
    whole_under: str | tuple[str, ...] | UnsetType = UNSET
    alpha: int | float | UnsetType = UNSET
    treatment: int | float | UnsetType = UNSET
    compute: str | UnsetType = UNSET
    counted: tuple[str, ...] | UnsetType = UNSET
    above: int | float | str | UnsetType = UNSET
    below: int | float | str | UnsetType = UNSET
    within: tuple[int | float, int | float] | UnsetType = UNSET
    equals: int | float | tuple[int | float, int | float] | UnsetType = UNSET
    about: bool | UnsetType = UNSET
    decisive: bool | UnsetType = UNSET
    newest_then: bool | UnsetType = UNSET
    of: str | UnsetType = UNSET
    place: str | UnsetType = UNSET
    fixed: datetime.datetime | UnsetType = UNSET


class ToldTest(Declared, frozen=True, kw_only=True):
    """What was measured beside a claim that no test decides: it is told, and decides nothing."""

    chapter: str
    quantity: Quantity
    over: str | tuple[str, ...]
    metric: str | UnsetType = UNSET
    under: str | tuple[str, ...] | UnsetType = UNSET
    alpha: int | float | UnsetType = UNSET
    treatment: int | float | UnsetType = UNSET


class VerdictRule(Declared, frozen=True, kw_only=True):
    """How one claim is judged."""

    claim: str
    rule: RuleKind
    why: str
    test: tuple[RuleTest, ...] | UnsetType = UNSET
    terms: dict[str, str | int | float] | UnsetType = UNSET
    verdict: Literal["confirmed", "conditions", "refuted", "undecided"] | UnsetType = UNSET
    condition: str | UnsetType = UNSET
    reason: str | UnsetType = UNSET
    told: tuple[ToldTest, ...] | UnsetType = UNSET
    ours: str | UnsetType = UNSET

    def __post_init__(self) -> None:
        self._require_words_of_ours()
        if self.rule in TESTED and not self.test:
            raise ValueError(f"verdict {self.claim}: rule {self.rule} without a test; add one")
        if self.rule != "version" and any(test.newest_then for test in self.test or ()):
            raise ValueError(
                f"verdict {self.claim}: rule {self.rule} has a test of newest_then; allowed: in rule version"
            )
        if self.rule == "source" and not self.verdict:
            raise ValueError(f"verdict {self.claim}: rule source without a verdict; state it")
        if self.verdict == "conditions" and not self.condition:
            raise ValueError(f"verdict {self.claim}: verdict conditions without a condition; name it")
        if (self.rule == "not-measurable" or self.verdict == "undecided") and not self.reason:
            raise ValueError(f"verdict {self.claim}: nothing decides it and no reason says why; add one")
        if self.reason and len(self.reason.split()) > REASON_WORDS:
            raise ValueError(
                f"verdict {self.claim}: reason {self.reason!r} has {len(self.reason.split())} words; "
                f"allowed: at most {REASON_WORDS}; the rest belongs into why"
            )

    def _require_words_of_ours(self) -> None:
        """Whatever is measured is told in words, and the words name only tests that measure."""
        measured = {number for number, test in enumerate(self.test or ()) if test.chapter}
        if measured and self.told:
            raise ValueError(
                f"verdict {self.claim}: its tests measure, so told has nothing to add; leave it out"
            )
        measured = set(range(len(self.told))) if self.told else measured
        if bool(measured) != bool(self.ours):
            raise ValueError(
                f"verdict {self.claim}: ours says in words what its tests measure; "
                + ("add it" if measured else "nothing is measured, so leave it out")
            )
        named = {int(number) for number in SLOT.findall(self.ours or "")}
        if measured and not (named and named <= measured):
            raise ValueError(
                f"verdict {self.claim}: ours names {', '.join(f'{{{number}}}' for number in sorted(named)) or 'no test'}; "
                f"allowed: {', '.join(f'{{{number}}}' for number in sorted(measured))}, its tests that measure"
            )


class VerdictsDeclaration(Declared, frozen=True, kw_only=True):
    """The rules of one document, and when they were fixed."""

    fixed: datetime.datetime
    verdict: tuple[VerdictRule, ...]
