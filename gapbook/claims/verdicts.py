"""Verdicts on published claims, by the rules of ``book/verdicts*.toml``, each with the hour at which it was fixed.

A rule names what is measured and what it must be; nothing here knows a result beforehand. A claim is
tested in one or several places:

- every place holds: *confirmed*; at least half do: *confirmed, but only* for those;
- fewer do: *refuted*, where a direction, a limit, arithmetic or a source says so; *not here*, where it is a number that
  we measured and got another of. One place whose failure refutes the claim by its own check does so alone;
- an interval that straddles its bound in one of our runs, or a place without a measurement: it *cannot be decided here*;
- of another version than the claim's, or where the claim names none: *not here* if every place is outside, *confirmed,
  but only* with the versions measured if every place holds and says its version, else it cannot be decided here. Either
  way the line says our numbers and the reason;
- of the version that was the newest release when a claim that names none was made: those places decide alone, and where
  they hold it is *confirmed, but only* with that version.

What is our own arithmetic on published figures is never confirmed: where it holds, it is *our own note*.

Where several published runs hold the same cells, all of them decide (:mod:`gapbook.method.over_runs`): the interval
held against the bound is that of what another run should find, never that of the newest alone. Where that interval
straddles and each run alone says the same, the verdict is of our runs: *confirmed, but only in them*, or *not
here* where a number was published.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal

from gapbook.claims.arithmetic import compute
from gapbook.claims.claim import NOTE, Claim, claims
from gapbook.claims.quantities import (
    SHARES,
    TIMES,
    as_printed,
    at_a_glance,
    decisive,
    over_runs,
    quantity,
    quantity_name,
)
from gapbook.claims.rules import POOLING_FIXED, RULES, VERDICT_BAND_FRAC, fixed_at, rules_by_claim
from gapbook.declared.verdicts import SLOT
from gapbook.errors import GapbookError, ParameterError
from gapbook.method.estimate import chance_within
from gapbook.method.findings import Findings, named_versions
from gapbook.method.interval import Interval, Lies
from gapbook.method.over_runs import OverRuns
from gapbook.record.run import Run, latest_published, published_folder

__all__ = [
    "TO_THE_DIGITS",
    "WORDS",
    "Evidence",
    "Judgement",
    "Outcome",
    "Verdict",
    "judge",
    "judge_all",
    "judge_with",
    "published",
]

Outcome = Literal["holds", "fails", "straddles", "missing"]
Verdict = Literal["confirmed", "conditions", "not-here", "refuted", "undecided", "note"]
Measured = Callable[[str], Findings | str]

WORDS: Mapping[Verdict, str] = {
    "confirmed": "Confirmed",
    "conditions": "Confirmed, but only",
    "not-here": "Not here",
    "refuted": "Refuted",
    "undecided": "Cannot be decided here",
    "note": "Our own note",
}
"""The verdicts in words, in the order in which a reader is offered them."""
TO_THE_DIGITS = ", to the digits printed"
"""Goes on from a number that arithmetic must reach, where the document does not call it a round one."""
_VERSION_UNKNOWN = "the claim names no version"
_NOT_RUN = "no usable run of it yet"
_NOT_HELD = "our run does not hold it"
_MOST_REASON_WORDS = 6
_TOO_WIDE = "intervals are too wide"
_ONE_TOO_WIDE = "one interval is too wide"
_TWO_SIDED = ("band", "version")
"""Kinds of rules that hold a number against another one, and not against a bound."""
_PLACES_SHOWN = 2
"""How many of our numbers stand beside a published one at a glance."""

_INTERVAL = re.compile(r"\[([\d.,]+)–([\d.,]+)\]")
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
    place: str = ""
    """The place in a few words that go on from a number: ``with SpacetimeDB 1.2.0``; empty where the rule has none."""
    here: str = ""
    """The number that the run at hand holds, or that was computed, for a sentence that says its unit; empty where
    nothing was."""
    value: str = ""
    """The same with its unit and without its interval; empty where nothing published can stand beside it."""
    over: str = ""
    """From the least to the greatest number that our runs hold, ``55.5–71.2``; empty where one run holds it."""
    beside: bool = False
    """Whether it is only told beside the verdict, which rests on others or on nothing here."""


@dataclass(frozen=True)
class Judgement:
    """A claim, its verdict, and what it rests on."""

    claim: Claim
    verdict: Verdict
    rule: str
    why: str
    evidence: tuple[Evidence, ...] = ()
    condition: str = ""
    """What goes on from *Confirmed, but only*; empty for another verdict."""
    reason: str = ""
    """Why it cannot be decided here, or why our number need not be theirs, in at most six words."""
    agreement: str = ""
    """What came out where the version keeps it from being decided: ``our number may agree``; empty for all else."""
    ours: str = ""
    """What we measured, in words and units; empty where nothing was, or a run lacks a part of it."""
    told: tuple[Evidence, ...] = ()
    """What a chapter measured of the same thing, which decides nothing: a rate of ours beside one of another machine."""
    chapter: str = ""
    """The chapter whose page asked: at a glance it shows its own numbers, where it measured any. Empty in the register."""

    @property
    def word(self) -> str:
        """The verdict as a line: ``Confirmed, but only with Litestream 0.3``, ``Cannot be decided here: our number may
        agree, but the claim names no version``. That published figures fit each other is confirmed ``as arithmetic``."""
        word = WORDS[self.verdict]
        if self.verdict == "conditions":
            return f"{word} {self.condition}"
        if self.verdict == "confirmed" and self.rule == "arithmetic":
            return f"{word} as arithmetic"
        why = ", but ".join(filter(None, (self.agreement, self.reason)))
        return f"{word}: {why}" if self.verdict == "undecided" else word

    @property
    def line(self) -> tuple[str, str]:
        """The verdict's word, and what goes on from it with our numbers: ``Not here`` and ``: we got 115, not 316 (the
        claim names no version)``, ``Cannot be decided here`` and ``: the claim names no version; we got 7.99 with
        SpacetimeDB 1.2.0 and 21.1 with 2.8.3``."""
        if self.agreement and (ours := self._ours_and_what_agrees()):
            return WORDS[
                self.verdict
            ], f": {self.reason}; {'by our runs' if self._over_runs() else 'we got'} {ours}"
        if not (numbers := self.published_and_ours):
            return self.word, ""
        if self.verdict == "not-here":
            return self.word, f": {numbers[0].lower()}{numbers[1:]}"
        if self.verdict == "undecided":
            # The claim, with its number, stands right above.
            ours = self._ours_beside()
            return self.word, f". {ours[0].upper()}{ours[1:]}"
        return self.word, f". {numbers}"

    @property
    def published_and_ours(self) -> str:
        """``We got 115, not 316 (the claim names no version)``, or ``Published 600 MB, here 604 MiB``: the published number
        beside that of the run at hand. Where it cannot be decided, beside the interval that would decide: ``Published
        about 40, here 24.5 to 50.4``.

        Numbers of other chapters stand behind its own, for they decide too. Empty where no single number was published,
        nothing measured can stand beside it, or more places hold one than can be read at a glance.
        """
        ours, published = self._ours_beside(), self.claim.at_a_glance
        if not ours:
            return ""
        if self.verdict == "not-here":
            return f"We got {ours}, not {published}{f' ({self.reason})' if self.reason else ''}"
        return f"Published {published}, {ours}"

    def _ours_beside(self) -> str:
        """Our numbers that stand beside the published one, with whose they are where a verdict leaves that open: ``here
        604 MiB``, ``by our runs 24.5 to 50.4``; empty where none can."""
        if not (shown := self._at_a_glance()):
            return ""
        # The word itself ends with the place of a number that holds.
        numbers = [
            self._told(one) if one.place == self.condition else self._told_with_place(one) for one in shown
        ]
        # What holds it and what does not are not read as one.
        ours = (", but " if self.verdict == "conditions" else " and ").join(numbers)
        if self.verdict == "not-here":
            return ours
        return f"{'by our runs' if self._over_runs() else 'here'} {ours}"

    def _over_runs(self) -> bool:
        """Whether what stands in the line is what several runs hold."""
        return self.verdict == "undecided" and any(one.runs > 1 for one in self._at_a_glance())

    @property
    def numbers(self) -> Sequence[str]:
        """Our numbers in the line, as they are printed there."""
        return [self._told(one) for one in self._at_a_glance()]

    def _ours_and_what_agrees(self) -> str:
        """``7.73 with SpacetimeDB 2.8.3, which agrees, and 2.62 with 1.2.0``; empty where no number can stand there.

        An interval that reaches into the band agrees no more than one that misses it: both stand there as they are.
        """
        shown = self._at_a_glance()
        agreeing = [f"{self._told_with_place(one)}, which agrees" for one in shown if one.outcome == "holds"]
        others = [self._told_with_place(one) for one in shown if one.outcome != "holds"]
        return ", and ".join([*agreeing, *filter(None, [" and ".join(others)])])

    def _told(self, one: Evidence) -> str:
        """Our number: of what cannot be decided its interval, in which a reader looks for the published one; of what is
        not theirs here what all our runs hold, for a single one of them would be chosen."""
        if self.verdict == "not-here" and one.over:
            return one.over
        interval = _INTERVAL.search(one.ours) if self.verdict == "undecided" else None
        return " to ".join(interval.groups()) if interval else one.value.removeprefix(TIMES)

    def _told_with_place(self, one: Evidence) -> str:
        """``10.3 with SpacetimeDB 1.2.0``"""
        return f"{self._told(one)} {one.place}".strip()

    def _at_a_glance(self) -> Sequence[Evidence]:
        """The places whose numbers are shown beside the published one."""
        measured = [one for one in self.evidence if one.run_id]
        everywhere = _deciding(measured) or measured
        own = [one for one in everywhere if one.chapter == self.chapter]
        shown = self._shown([*own, *(one for one in everywhere if one not in own)])
        if own and len(shown) > _PLACES_SHOWN:
            shown = self._shown(own)
        return shown if 1 <= len(shown) <= _PLACES_SHOWN and self.claim.at_a_glance else ()

    def _shown(self, measured: Sequence[Evidence]) -> Sequence[Evidence]:
        return [one for one in measured if self._comparable(one) and (one.place or len(measured) == 1)]

    def _comparable(self, one: Evidence) -> bool:
        """Whether our number is of the same kind as the published one: both are ratios, or neither."""
        return bool(one.value) and one.value.startswith(TIMES) == (self.claim.unit == "x")

    @property
    def summary(self) -> str:
        """What the verdict's word does not say, in one sentence."""
        if self.verdict == "undecided":
            return self._undecided()
        if self.verdict in {"conditions", "note"} and self.evidence:
            return f"Not {failing}." if (failing := self._places("fails")) else ""
        if self.verdict == "refuted" and (decisive := [one for one in self.evidence if one.refutes]):
            return f"Refuted by {'; '.join(one.quantity for one in decisive)}."
        if self.verdict in {"refuted", "not-here"} and (holding := self._places("holds")):
            return f"Only {holding}."
        return ""

    def _undecided(self) -> str:
        absent = [one.ours for one in _deciding(self.evidence) if one.outcome == "missing"]
        return f"{absent[0]}." if absent else ""

    def _places(self, outcome: Outcome) -> str:
        return "; ".join(
            dict.fromkeys(_place_of(one) for one in _deciding(self.evidence) if one.outcome == outcome)
        )


def judge_all(prefix: str, measured: Measured | None = None) -> list[Judgement]:
    """A verdict for every claim of one document, from the latest published runs or what ``measured`` gives.

    Raises ParameterError for a rule that is malformed or missing.
    """
    rules = rules_by_claim()
    measured = cache(published if measured is None else measured)
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
    own = found.scenario.chapter
    judged = judge(known, rules[identifier], lambda chapter: found if chapter == own else published(chapter))
    return replace(judged, chapter=own)


def judge(claim: Claim, rule: Mapping[str, Any], measured: Measured) -> Judgement:
    """The verdict on one claim; ``measured`` gives the findings of a chapter, or says why there are none."""
    kind = rule["rule"]
    if kind not in RULES:
        raise ParameterError(f"verdict {claim.identifier}: rule {kind!r}; allowed: {', '.join(RULES)}")
    evidence = tuple(_examine(claim, rule, test, measured) for test in rule.get("test", ()))
    told = tuple(_tell(test, measured) for test in rule.get("told", ()))
    verdict: Verdict
    if kind == "source":
        verdict = rule["verdict"]
    elif kind == "not-measurable":
        verdict = "undecided"
    else:
        verdict = _verdict(kind, _deciding(evidence), of_its_day=_of_its_day(rule))
    if claim.kind == NOTE and verdict in {"confirmed", "conditions"}:
        verdict = "note"
    condition = rule.get("condition", "") or _condition(evidence)
    return Judgement(
        claim,
        verdict,
        kind,
        rule["why"],
        evidence,
        condition if verdict == "conditions" else "",
        _reason(rule, verdict, _deciding(evidence)),
        _agreement(_deciding(evidence))
        if kind == "version" and verdict == "undecided" and not _of_its_day(rule)
        else "",
        _ours(rule.get("ours", ""), told or evidence),
        told,
    )


def _ours(sentence: str, evidence: Sequence[Evidence]) -> str:
    """The rule's own sentence with the value of each place that it names."""
    named = [int(number) for number in SLOT.findall(sentence)]
    if any(evidence[number].outcome == "missing" for number in named):
        return ""
    return SLOT.sub(lambda slot: evidence[int(slot[1])].here, sentence)


def _of_its_day(rule: Mapping[str, Any]) -> bool:
    """Whether the newest release of the day of the claim is measured, which then decides alone."""
    return any(test.get("newest_then") for test in rule.get("test", ()))


def _deciding(evidence: Sequence[Evidence]) -> Sequence[Evidence]:
    return [one for one in evidence if not one.beside]


def _verdict(rule: str, evidence: Sequence[Evidence], *, of_its_day: bool) -> Verdict:
    found = [_in_our_runs(one, rule) for one in evidence]
    outcomes = set(found)
    if "missing" in outcomes:
        return "undecided"
    if rule == "version" and not of_its_day:
        if outcomes == {"holds"} and all(one.place for one in evidence):
            return "conditions"
        return "not-here" if outcomes == {"fails"} else "undecided"
    if any(one.refutes for one in evidence):
        return "refuted"
    if "straddles" in outcomes:
        return "undecided"
    holding = found.count("holds")
    if holding == len(evidence):
        return "conditions" if of_its_day or any(map(_only_in_our_runs, evidence)) else "confirmed"
    if 2 * holding >= len(evidence):
        return "conditions"
    return "not-here" if rule == "band" or of_its_day else "refuted"


def _in_our_runs(one: Evidence, rule: str) -> Outcome:
    """What a place says of our runs. One that another run might turn says what each of ours did: that it holds, or that
    it is another number than the published one, which refutes nothing."""
    if _only_in_our_runs(one):
        return "holds"
    return (
        "fails" if one.outcome == "straddles" and one.alike == "fails" and rule in _TWO_SIDED else one.outcome
    )


def _only_in_our_runs(one: Evidence) -> bool:
    return one.outcome == "straddles" and one.alike == "holds"


def _condition(evidence: Sequence[Evidence]) -> str:
    """Where it holds: the places whose tests all do, and in each of our runs where another might not hold it."""
    deciding = _deciding(evidence)
    holding = [one for one in deciding if one.outcome == "holds" or _only_in_our_runs(one)]
    fails = {_place_of(one) for one in deciding if one not in holding}
    held = dict.fromkeys(_place_of(one) for one in holding if _place_of(one) not in fails)
    ours = [one.runs for one in holding if _only_in_our_runs(one)]
    runs = f"in our {min(ours)} runs" if ours else ""
    places = "" if runs and not fails and not any(one.place for one in deciding) else " and ".join(held)
    return ", ".join(filter(None, (places, runs)))


def _place_of(one: Evidence) -> str:
    return one.place or f"for {one.quantity}"


def _reason(rule: Mapping[str, Any], verdict: Verdict, evidence: Sequence[Evidence]) -> str:
    """In at most six words; empty for a verdict that needs none."""
    kind = rule["rule"]
    if absent := [one for one in evidence if one.outcome == "missing"]:
        return _NOT_HELD if any(one.run_id for one in absent) else _NOT_RUN
    if kind == "version" and (verdict == "not-here" or not _of_its_day(rule)):
        return str(rule.get("reason", _VERSION_UNKNOWN))
    if verdict != "undecided":
        return ""
    if "reason" in rule:
        return str(rule["reason"])
    deciding = _deciding(evidence)
    wide = [one for one in deciding if one.outcome == "straddles"]
    if len(wide) == len(deciding):
        return _TOO_WIDE
    named = f"{wide[0].place}, the interval is too wide" if len(wide) == 1 and wide[0].place else ""
    return named if named and len(named.split()) <= _MOST_REASON_WORDS else _ONE_TOO_WIDE


def _agreement(evidence: Sequence[Evidence]) -> str:
    """What came out of places not all of which are outside; empty where one was not measured."""
    outcomes, several = {_in_our_runs(one, "version") for one in evidence}, len(evidence) > 1
    if "missing" in outcomes:
        return ""
    if "holds" not in outcomes:
        return (
            "one of our numbers" if "fails" in outcomes else "our numbers" if several else "our number"
        ) + " may agree"
    if outcomes == {"holds"}:
        return "our numbers agree" if several else "our number agrees"
    return "our numbers agree in part"


# --- one place --------------------------------------------------------------------------------


def _examine(claim: Claim, rule: Mapping[str, Any], test: Mapping[str, Any], measured: Measured) -> Evidence:
    kind = rule["rule"]
    if "compute" in test:
        found = _recompute(claim, rule.get("terms", {}), test)
    elif "counted" in test:
        found = _count(claim, test)
    else:
        found = _measure(claim, test, measured)
    # What is recomputed beside a measurement explains it and decides nothing; without a measurement of the claim's own
    # subject, nothing does.
    beside = kind == "not-measurable" or ("compute" in test and kind != "arithmetic")
    # Where the version of the claim's day was measured, what others give is told beside it.
    beside |= _of_its_day(rule) and not test.get("newest_then")
    return replace(found, place=test.get("place", ""), beside=beside)


def _recompute(claim: Claim, terms: Mapping[str, str | float], test: Mapping[str, Any]) -> Evidence:
    values = {name: _term(term) for name, term in terms.items()}
    done = compute(test["compute"], values)
    low, high, expected = _expected(claim, test, values, exact=True)
    outcome: Outcome = "holds" if low <= done.result <= high else "fails"
    result = done.shown.rpartition(" = ")[2]
    return Evidence(
        test.get("of", "arithmetic"),
        done.shown,
        outcome,
        expected,
        here=result,
        value="" if {"above", "below", "within", "equals"} & test.keys() else claim.with_unit(result),
    )


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
        decides, began, fixed, alike = ours, [_began(run)], fixed_at(test), None
        pooled, newest, over = "", "", ""
    else:
        decides, began = decisive(test, several), [one.began_unix_s for one in several.each]
        fixed, pooled = max(fixed_at(test), POOLING_FIXED), _spread(test, several, found)
        newest, over = as_printed(test, ours, found), _over(test, several, found)
        each = {_OUTCOMES[one.interval.against(low, high)] for one in several.each}
        alike = each.pop() if len(each) == 1 else None
    outcome = _OUTCOMES[decides.against(low, high)]
    glance = at_a_glance(test, ours, found)
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
        here=_number(glance),
        value=glance if _stands_beside(test) else "",
        over=over,
    )


def _over(test: Mapping[str, Any], several: OverRuns, found: Findings) -> str:
    """``55.5–71.2``, ``10.2–11.0 MiB``: the least and the greatest, one number where both are printed alike."""
    ends = [
        at_a_glance(test, Interval(end, math.nan, math.nan, 1), found).removeprefix(TIMES)
        for end in (several.least, several.greatest)
    ]
    numbers = dict.fromkeys(map(_number, ends))
    return "–".join(numbers) + ends[0].removeprefix(_number(ends[0]))


def _number(glance: str) -> str:
    """``115`` of ``×115``, ``10.2`` of ``10.2 MiB``"""
    return glance.removeprefix(TIMES).partition(" ")[0].partition("/")[0]


def _tell(test: Mapping[str, Any], measured: Measured) -> Evidence:
    """What the newest run holds, held against nothing."""
    found = measured(test["chapter"])
    ours = found if isinstance(found, str) else quantity(test, found)
    if isinstance(found, str) or isinstance(ours, str):
        return Evidence(quantity_name(test), str(ours), "missing", "", test["chapter"])
    versions = ", ".join(named_versions(found.run.manifest.systems))
    return Evidence(
        quantity_name(test, found),
        as_printed(test, ours, found),
        "holds",
        "",
        test["chapter"],
        found.run.run_id,
        ours.n,
        versions,
        runs=1,
        here=_number(at_a_glance(test, ours, found)),
        beside=True,
    )


def _began(run: Run) -> float:
    return run.manifest.started_unix_s


def _spread(test: Mapping[str, Any], several: OverRuns, found: Findings) -> str:
    """``over 4 runs on 2 machines, from ×4.84 to ×8.53``: what the runs hold, as the quantity is printed."""
    if test["quantity"] == "proportion":
        return several.where
    ends = (Interval(end, math.nan, math.nan, 1) for end in (several.least, several.greatest))
    return f"{several.where}, from {' to '.join(as_printed(test, end, found) for end in ends)}"


def _stands_beside(test: Mapping[str, Any]) -> bool:
    """Whether our number answers the published one: it is held against that number, or its rule names its place."""
    return "place" in test or not {"above", "below", "within"} & test.keys()


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
        return numbers[0] - half, numbers[-1] + half, f"{_shown(numbers)}{TO_THE_DIGITS}"
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


def published(chapter: str) -> Findings | str:
    """The findings of the newest published run, or why there are none."""
    if not any(published_folder(chapter).glob("*/manifest.json")):
        return f"No run of {chapter} yet"
    try:
        return Findings(latest_published(chapter), chapter)
    except GapbookError as error:
        return f"The run of {chapter} cannot be used ({error})"
