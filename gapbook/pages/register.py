"""The register's page: verdicts as a tally, a table, and facts for the prose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from gapbook.claims.claim import NOTE
from gapbook.claims.rules import RULES, VERDICT_BAND_FRAC
from gapbook.claims.verdicts import Evidence, Judgement, Verdict, judge_all
from gapbook.markup import Html
from gapbook.pages import page
from gapbook.pages.glued import glue_facts
from gapbook.pages.register_table import RegisterRow, register
from gapbook.pages.words import listed_html

__all__ = ["Register", "verdict_words"]

_OF_ANOTHER_VERSION = "measured on a version that may differ"
_SIGNS = {"holds": "as claimed", "fails": "not as claimed", "straddles": "straddles an end", "missing": ""}


def verdict_words() -> Mapping[Verdict, str]:
    """The verdicts in words, in the order in which a reader is offered them."""
    return {
        "confirmed": "Confirmed",
        "conditions": "Confirmed with conditions",
        "refuted": "Refuted",
        "version": f"No verdict: {_OF_ANOTHER_VERSION}",
        "unresolved": "Not resolved",
        "unmeasurable": "Not measurable here",
    }


_EVIDENCE: Mapping[str, frozenset[str]] = {
    "are decided by our measurements": frozenset({"band", "bound"}),
    "by arithmetic on published figures or a count in the published source": frozenset(
        {"arithmetic", "count"}
    ),
    "by reading the published source": frozenset({"source"}),
}
_NOTES, _OPEN = "our own notes", "are undecided"


class Register:
    """All claims of one document or several, named by their prefixes, with their verdicts from the latest
    published runs."""

    def __init__(self, *prefixes: str) -> None:
        self.judgements = [judged for prefix in prefixes for judged in judge_all(prefix)]

    @cached_property
    def words(self) -> Mapping[Verdict, str]:
        """The verdicts in words, in the order in which they are offered."""
        return verdict_words()

    def tally(self) -> page.Answer:
        """How many entries rest on which kind of evidence, and how many of each have which verdict."""
        groups = self.by_evidence()
        parts = [
            Html("{} {} ({})").format(page.estimate(f"{len(group)}"), evidence, self._counted(group))
            for evidence, group in groups.items()
            if group and evidence != _NOTES
        ]
        published = len(self.judgements) - len(groups[_NOTES])
        notes = Html(
            '<span class="gb-muted">Our own {} notes on '
            "their arithmetic are counted apart ({}); the buttons below count them too.</span>"
        ).format(page.estimate(f"{len(groups[_NOTES])}"), self._counted(groups[_NOTES]))
        return page.answer(
            Html("Of {} published claims, {}. {}").format(published, listed_html(parts), notes)
        )

    def by_evidence(self) -> Mapping[str, list[Judgement]]:
        """The entries by what decides them: our intervals, published figures, published source, or nothing;
        our own notes apart, whatever decides them."""
        groups: dict[str, list[Judgement]] = {name: [] for name in (*_EVIDENCE, _OPEN, _NOTES)}
        for one in self.judgements:
            groups[_evidence_of(one)].append(one)
        return groups

    def _counted(self, judgements: Sequence[Judgement]) -> str:
        phrases: Mapping[Verdict, str] = {
            "confirmed": "confirmed",
            "conditions": "confirmed with conditions",
            "refuted": "refuted",
            "version": _OF_ANOTHER_VERSION,
            "unresolved": "not resolved",
            "unmeasurable": "not measurable here",
        }
        counts = {verdict: sum(one.verdict == verdict for one in judgements) for verdict in phrases}
        return ", ".join(
            f"{counts[verdict]} {phrase}" for verdict, phrase in phrases.items() if counts[verdict]
        )

    def chances(self) -> list[float]:
        """For each measured ratio that stands against one published number: how likely that number would have
        been confirmed if it were exactly true, in ascending order."""
        places = [place for one in self.judgements for place in one.evidence]
        return sorted(place.chance_if_true for place in places if place.chance_if_true is not None)

    def table(self) -> Html:
        """Every claim with its verdict; a script lets the reader filter it."""
        return register(
            [_row(one) for one in self.judgements],
            {str(verdict): word for verdict, word in self.words.items()},
        )

    def glue(self) -> None:
        """Make the facts of the register available to the prose."""
        chances = self.chances()
        facts = {
            "compared": str(len(chances)),
            "never_confirmed": str(sum(chance == 0 for chance in chances)),
            "chances": _percents([chance for chance in chances if chance > 0]),
            "claims": str(len(self.judgements)),
            "band": f"±{VERDICT_BAND_FRAC:.0%}".replace("%", " %"),
            "version_verdict": _OF_ANOTHER_VERSION,
        }
        glue_facts(facts)


def _evidence_of(one: Judgement) -> str:
    if one.claim.kind == NOTE:
        return _NOTES
    if one.verdict not in {"confirmed", "conditions", "refuted"}:
        return _OPEN
    return next(name for name, rules in _EVIDENCE.items() if one.rule in rules)


def _percents(fractions: Sequence[float]) -> str:
    """``0 % to 18 %``"""
    if not fractions:
        return "no probability that can be told"
    return " to ".join(dict.fromkeys(f"{100 * end:.0f} %" for end in (fractions[0], fractions[-1])))


def _row(one: Judgement) -> RegisterRow:
    measured = next((place for place in one.evidence if place.run_id), None)
    note = "our arithmetic on " if one.claim.kind == NOTE else ""
    return RegisterRow(
        anchor=one.claim.identifier,
        verdict=one.verdict,
        says=one.claim.says,
        source=note + one.claim.place,
        published=one.claim.published,
        ours=_ours(one),
        why=one.why,
        details=_details(one),
        link=(f"{measured.chapter}.html", f"{measured.chapter}, run {measured.run_id}")
        if measured
        else ("", ""),
    )


def _ours(one: Judgement) -> list[str]:
    """What a reader sees without asking: each measured value, or in a word why there is none."""
    if one.rule in {"source", "count"}:
        counted = [place.ours.partition(":")[0] for place in one.evidence]
        return [f"{number} counted" for number in counted] or ["read in the source"]
    absent = [place.ours for place in one.evidence if place.outcome == "missing"]
    if absent:
        return list(dict.fromkeys(absent))
    values = [
        f"{place.ours.rpartition(' = ')[2]}{f', {place.runs} runs' if place.runs > 1 else ''}"
        for place in one.evidence
    ]
    if len(values) < 2:
        return values or ["–"]
    places = [place.quantity for place in one.evidence]
    short = [place.rpartition(", ")[2] for place in places]
    names = short if len(set(short)) == len(short) else places
    return [f"{name}: {value}" for name, value in zip(names, values, strict=True)]


def _details(one: Judgement) -> list[str]:
    return [
        f"Rule: {RULES[one.rule]}. {one.summary}".strip(),
        *map(_place, one.evidence),
        f"Check: {one.claim.check}",
    ]


def _place(place: Evidence) -> str:
    if place.outcome == "missing":
        return f"{place.quantity}, expected {place.expected}: {_lowered(place.ours)}."
    run = f" {_runs(place)}" if place.run_id else ""
    return f"{place.quantity}: {place.ours}; expected {place.expected}: {_SIGNS[place.outcome]}.{run}"


def _runs(place: Evidence) -> str:
    """What decides: one run, or how many on how many machines, and which of them are older than the rule."""
    if place.runs > 1:
        told = f"{place.pooled[0].upper()}{place.pooled[1:]}; the newest is run {place.run_id}, {place.versions}."
    else:
        told = f"Run {place.run_id}, n = {place.n} blocks, {place.versions}."
    if place.runs_older:
        told += (
            " The run is older than the rule."
            if place.runs == 1
            else (
                f" {'All' if place.runs_older == place.runs else place.runs_older} of these runs are older than the rule."
            )
        )
    return told


def _lowered(sentence: str) -> str:
    """A sentence's words inside another."""
    return sentence[0].lower() + sentence[1:]
