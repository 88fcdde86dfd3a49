"""Verdicts on published claims, by the rules of ``book/verdicts*.toml``, each with the hour at which it was fixed.

A rule names what is measured and what it must be; nothing here knows a result beforehand. A claim is
tested in one or several places:

- every place holds: *confirmed*; none does: *refuted*; some do: *confirmed with conditions*;
- an interval that straddles its bound, or a place without a measurement: *not resolved*.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from gapbook.claims.arithmetic import compute
from gapbook.claims.claim import Claim, claims
from gapbook.claims.quantities import SHARES, as_printed, quantity, quantity_name
from gapbook.claims.rules import RULES, VERDICT_BAND_FRAC, fixed_at, rules_by_claim
from gapbook.errors import GapbookError, ParameterError
from gapbook.method.estimate import chance_within
from gapbook.method.findings import Findings, named_versions
from gapbook.method.interval import Interval, Lies
from gapbook.record.run import latest_published, published_folder

__all__ = [
    "Evidence",
    "Judgement",
    "Outcome",
    "Verdict",
    "judge",
    "judge_all",
    "judge_with",
]

Outcome = Literal["holds", "fails", "straddles", "missing"]
Verdict = Literal["confirmed", "conditions", "refuted", "unresolved", "version", "unmeasurable"]
Measured = Callable[[str], Findings | str]

_OUTCOMES: Mapping[Lies, Outcome] = {"inside": "holds", "outside": "fails", "straddles": "straddles"}


@dataclass(frozen=True)
class Evidence:
    """What one place says: the quantity, our value as printed, and whether it is as claimed.

    ``chapter`` and ``run_id`` are empty where nothing was measured. ``run_is_older`` says that the run
    began before the rules were fixed. ``chance_if_true`` is how likely the published number would have been
    confirmed at this precision if it were exactly true; None where no single published ratio stands against ours.
    """

    quantity: str
    ours: str
    outcome: Outcome
    expected: str
    chapter: str = ""
    run_id: str = ""
    n: int = 0
    versions: str = ""
    run_is_older: bool = False
    chance_if_true: float | None = None


@dataclass(frozen=True)
class Judgement:
    """A claim, its verdict, and what it rests on."""

    claim: Claim
    verdict: Verdict
    rule: str
    why: str
    evidence: tuple[Evidence, ...] = ()

    @property
    def summary(self) -> str:
        """The verdict's reason in one sentence."""
        if self.verdict == "unresolved":
            absent = [one.ours for one in self.evidence if one.outcome == "missing"]
            return f"{absent[0]}." if absent else "An interval straddles its bound."
        if self.verdict == "conditions" and self.evidence:
            failing = "; ".join(one.quantity for one in self.evidence if one.outcome == "fails")
            return f"Not for {failing}."
        return ""


def judge_all(prefix: str, measured: Measured | None = None) -> list[Judgement]:
    """A verdict for every claim of one document, from the latest published runs or what ``measured`` gives.

    Raises ParameterError for a rule that is malformed or missing.
    """
    rules = rules_by_claim()
    measured = cache(_published if measured is None else measured)
    known = claims(prefix)
    unruled = [one.identifier for one in known if one.identifier not in rules]
    if unruled:
        raise ParameterError(f"book/verdicts*.toml: no rule for {', '.join(unruled)}")
    return [judge(one, rules[one.identifier], measured) for one in known]


def judge_with(identifier: str, found: Findings) -> Judgement:
    """The verdict on one claim by this run, and by the latest published runs of other chapters."""
    rules = rules_by_claim()
    known = next((one for one in claims(identifier.partition("-")[0]) if one.identifier == identifier), None)
    if known is None or identifier not in rules:
        raise ParameterError(f"verdict {identifier}: no such claim, or no rule for it in book/verdicts*.toml")
    return judge(
        known,
        rules[identifier],
        lambda chapter: found if chapter == found.scenario.chapter else _published(chapter),
    )


def judge(claim: Claim, rule: Mapping[str, Any], measured: Measured) -> Judgement:
    """The verdict on one claim; ``measured`` gives the findings of a chapter, or says why there are none."""
    kind = rule["rule"]
    if kind not in RULES:
        raise ParameterError(f"verdict {claim.identifier}: rule {kind!r}; allowed: {', '.join(RULES)}")
    if kind == "source":
        return Judgement(claim, rule["verdict"], kind, rule["why"])
    if kind == "not-measurable":
        return Judgement(claim, "unmeasurable", kind, rule["why"])
    evidence = tuple(_examine(claim, rule, test, measured) for test in rule["test"])
    return Judgement(claim, _verdict(kind, evidence), kind, rule["why"], evidence)


def _verdict(rule: str, evidence: Sequence[Evidence]) -> Verdict:
    outcomes = {one.outcome for one in evidence}
    if "missing" in outcomes:
        return "unresolved"
    if rule == "version":
        return "version"
    if "straddles" in outcomes:
        return "unresolved"
    return "confirmed" if outcomes == {"holds"} else "refuted" if outcomes == {"fails"} else "conditions"


# --- one place --------------------------------------------------------------------------------


def _examine(claim: Claim, rule: Mapping[str, Any], test: Mapping[str, Any], measured: Measured) -> Evidence:
    if rule["rule"] == "arithmetic":
        return _recompute(claim, rule.get("terms", {}), test)
    if rule["rule"] == "count":
        return _count(claim, test)
    return _measure(claim, test, measured)


def _recompute(claim: Claim, terms: Mapping[str, str | float], test: Mapping[str, Any]) -> Evidence:
    values = {name: _term(term) for name, term in terms.items()}
    done = compute(test["compute"], values)
    low, high, expected = _expected(claim, test, values, exact=True)
    outcome: Outcome = "holds" if low <= done.result <= high else "fails"
    return Evidence(test.get("of", "arithmetic"), done.shown, outcome, expected)


def _term(term: str | float) -> float:
    if not isinstance(term, str):
        return float(term)
    return next(one for one in claims(term.partition("-")[0]) if one.identifier == term).value


def _count(claim: Claim, test: Mapping[str, Any]) -> Evidence:
    counted = test["counted"]
    low, high, expected = _expected(claim, test, {}, exact=True)
    outcome: Outcome = "holds" if low <= len(counted) <= high else "fails"
    shown = f"{len(counted)}: {'; '.join(counted)}" if counted else "0"
    return Evidence(test["of"], shown, outcome, expected)


def _measure(claim: Claim, test: Mapping[str, Any], measured: Measured) -> Evidence:
    found = measured(test["chapter"])
    low, high, expected = _expected(claim, test, {}, exact=False)
    if isinstance(found, str):
        name = quantity_name(test)
        return Evidence(name, found, "missing", expected, test["chapter"])
    name, ours = quantity_name(test, found), quantity(test, found)
    run = found.run
    versions = ", ".join(named_versions(run.manifest["systems"]))
    if isinstance(ours, str):
        return Evidence(name, ours, "missing", expected, test["chapter"], run.run_id, 0, versions)
    return Evidence(
        name,
        as_printed(test, ours, found),
        _OUTCOMES[ours.against(low, high)],
        expected,
        test["chapter"],
        run.run_id,
        ours.n,
        versions,
        float(run.manifest["started_unix_s"]) < fixed_at(test).timestamp(),
        _chance_if_true(claim, test, ours),
    )


def _chance_if_true(claim: Claim, test: Mapping[str, Any], ours: Interval) -> float | None:
    point = test["quantity"] == "ratio" and not {"above", "below", "within"} & test.keys()
    point = point and isinstance(test.get("equals", claim.printed), int | float)
    return chance_within(ours, VERDICT_BAND_FRAC) if point and ours.bounded else None


# --- what is expected -------------------------------------------------------------------------


def _expected(
    claim: Claim, test: Mapping[str, Any], terms: Mapping[str, float], *, exact: bool
) -> tuple[float, float, str]:
    """The least and the greatest value that are as claimed, and both in words.

    ``exact`` values need no interval: they must agree to the digits that were printed, unless the
    document itself says that its number is a round one.
    """
    # A share is printed in percent, so its bound is too.
    scale, unit = (100, " %") if test.get("quantity") in SHARES else (1, "")
    if "above" in test:
        bound = _bound(test["above"], terms)
        return bound, math.inf, f"above {scale * bound:,.3g}{unit}"
    if "below" in test:
        bound = _bound(test["below"], terms)
        return -math.inf, bound, f"below {scale * bound:,.3g}{unit}"
    if "within" in test:
        low, high = test["within"]
        return low, high, f"{scale * low:g} to {scale * high:g}{unit}"
    printed = test.get("equals", claim.printed)
    if printed is None:
        raise ParameterError(f"verdict {claim.identifier}: a test with nothing to compare with")
    numbers = printed if isinstance(printed, tuple | list) else (printed, printed)
    if exact and not test.get("about", claim.about):
        half = 0.5 * 10.0 ** -_decimals(numbers[0])
        return numbers[0] - half, numbers[-1] + half, f"{numbers[0]:,g}, to the digits printed"
    ends = [number * frac for number in numbers for frac in _BAND]
    shown = " to ".join(f"{number:,g}" for number in dict.fromkeys(numbers))
    return min(ends), max(ends), f"{shown} ±{VERDICT_BAND_FRAC:.0%}"


_BAND = (1 - VERDICT_BAND_FRAC, 1 + VERDICT_BAND_FRAC)


def _bound(bound: str | float, terms: Mapping[str, float]) -> float:
    return compute(bound, terms).result if isinstance(bound, str) else float(bound)


def _decimals(number: float) -> int:
    _, point, decimals = f"{number:.10g}".partition(".")
    return len(decimals) if point else 0


# --- where from -------------------------------------------------------------------------------


def _published(chapter: str) -> Findings | str:
    """The findings of the newest published run, or why there are none."""
    if not any(published_folder(chapter).glob("*/manifest.json")):
        return f"No run of {chapter} yet"
    try:
        return Findings(latest_published(chapter), chapter)
    except GapbookError as error:
        return f"The run of {chapter} cannot be used ({error})"
