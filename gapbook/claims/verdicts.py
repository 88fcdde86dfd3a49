"""Verdicts on published claims, by the rules of ``book/verdicts*.toml``, each with the hour at which it was fixed.

A rule names what is measured and what it must be; nothing here knows a result beforehand. A claim is
tested in one or several places:

- every place holds: *confirmed*; at least half do: *confirmed with conditions*; fewer do, or one fails whose failure
  refutes the claim by its own check: *refuted*;
- an interval that straddles its bound, or a place without a measurement: *not resolved*.

Where several published runs hold the same cells, all of them decide (:mod:`gapbook.method.over_runs`): the interval
held against the bound is that of what another run should find, never that of the newest alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from gapbook.claims.arithmetic import compute
from gapbook.claims.claim import Claim, claims
from gapbook.claims.quantities import SHARES, as_printed, decisive, over_runs, quantity, quantity_name
from gapbook.claims.rules import POOLING_FIXED, RULES, VERDICT_BAND_FRAC, fixed_at, rules_by_claim
from gapbook.errors import GapbookError, ParameterError
from gapbook.method.estimate import chance_within
from gapbook.method.findings import Findings, named_versions
from gapbook.method.interval import Interval, Lies
from gapbook.method.over_runs import OverRuns
from gapbook.record.run import Run, latest_published, published_folder

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

    ``chapter`` and ``run_id`` are empty where nothing was measured; ``run_id`` is the newest run of the chapter.
    ``runs`` is how many published runs decide, ``pooled`` says on how many machines and how far they are apart.
    ``newest`` is what the newest of several runs holds by itself, ``alike`` what each of them says where all say the
    same.
    ``runs_older`` says how many of them began before the rules were fixed. ``refutes`` says that it is not as claimed
    and refutes the whole claim by itself. ``chance_if_true`` is how likely the published number would have been
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
    runs: int = 0
    runs_older: int = 0
    pooled: str = ""
    newest: str = ""
    alike: Outcome | None = None
    refutes: bool = False
    chance_if_true: float | None = None


@dataclass(frozen=True)
class Judgement:
    """A claim, its verdict, and what it rests on."""

    claim: Claim
    verdict: Verdict
    rule: str
    why: str
    evidence: tuple[Evidence, ...] = ()
    condition: str = ""
    """Under which condition it holds, of a claim that was read in a source."""

    @property
    def summary(self) -> str:
        """The verdict's reason in one sentence."""
        if self.verdict == "unresolved":
            absent = [one.ours for one in self.evidence if one.outcome == "missing"]
            if absent:
                return f"{absent[0]}."
            if all(one.alike == "holds" for one in self.evidence if one.outcome == "straddles"):
                return (
                    "Each run by itself holds it, but they are so far apart that another machine might not."
                )
            return "An interval straddles its bound."
        if self.verdict == "conditions" and self.evidence:
            return f"Not for {self._places('fails')}."
        if self.verdict == "refuted" and (decisive := [one for one in self.evidence if one.refutes]):
            return f"Refuted by {'; '.join(one.quantity for one in decisive)}."
        if self.verdict == "refuted" and self._places("holds"):
            return f"Only for {self._places('holds')}."
        return self.condition

    def _places(self, outcome: Outcome) -> str:
        return "; ".join(one.quantity for one in self.evidence if one.outcome == outcome)


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
        return Judgement(claim, rule["verdict"], kind, rule["why"], condition=rule.get("condition", ""))
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
    if any(one.refutes for one in evidence):
        return "refuted"
    if "straddles" in outcomes:
        return "unresolved"
    holding = sum(one.outcome == "holds" for one in evidence)
    return (
        "confirmed"
        if holding == len(evidence)
        else "conditions"
        if 2 * holding >= len(evidence)
        else "refuted"
    )


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
    versions = ", ".join(named_versions(run.manifest.systems))
    if isinstance(ours, str):
        return Evidence(name, ours, "missing", expected, test["chapter"], run.run_id, 0, versions)
    several = over_runs(test, found)
    if several is None or several.runs == 1:
        decides, began, fixed, pooled, newest, alike = ours, [_began(run)], fixed_at(test), "", "", None
    else:
        decides, began = decisive(test, several), [one.began_unix_s for one in several.each]
        fixed, pooled = max(fixed_at(test), POOLING_FIXED), _spread(test, several, found)
        newest = as_printed(test, ours, found)
        each = {_OUTCOMES[one.interval.against(low, high)] for one in several.each}
        alike = each.pop() if len(each) == 1 else None
    outcome = _OUTCOMES[decides.against(low, high)]
    return Evidence(
        name,
        as_printed(test, decides, found),
        outcome,
        expected,
        test["chapter"],
        run.run_id,
        ours.n,
        versions,
        len(began),
        sum(unix_s < fixed.timestamp() for unix_s in began),
        pooled,
        newest,
        alike,
        outcome == "fails" and bool(test.get("decisive")),
        _chance_if_true(claim, test, decides),
    )


def _began(run: Run) -> float:
    return run.manifest.started_unix_s


def _spread(test: Mapping[str, Any], several: OverRuns, found: Findings) -> str:
    """``over 4 runs on 2 machines, from ×4.84 to ×8.53``: what the runs hold, as the quantity is printed."""
    if test["quantity"] == "proportion":
        return several.where()
    ends = (Interval(end, math.nan, math.nan, 1) for end in (several.least, several.greatest))
    return f"{several.where()}, from {' to '.join(as_printed(test, end, found) for end in ends)}"


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
        return numbers[0] - half, numbers[-1] + half, f"{_shown(numbers)}, to the digits printed"
    ends = [number * frac for number in numbers for frac in _BAND]
    return min(ends), max(ends), f"{_shown(numbers)} ±{VERDICT_BAND_FRAC:.0%}"


def _shown(numbers: Sequence[float]) -> str:
    return " to ".join(f"{number:,g}" for number in dict.fromkeys(numbers))


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
