"""The register's page: verdicts as a tally, a table, and facts for the prose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gapbook.claims.claim import NOTE
from gapbook.claims.rules import RULES, VERDICT_BAND_FRAC
from gapbook.claims.verdicts import WORDS, Evidence, Judgement, judge_all
from gapbook.markup import Html
from gapbook.pages import page
from gapbook.pages.glued import glue_facts
from gapbook.pages.register_table import RegisterRow, register

__all__ = ["Register"]

_SIGNS = {"holds": "as claimed", "fails": "not as claimed", "straddles": "straddles an end", "missing": ""}
_MEASURED, _RECOMPUTED, _READ = "measured", "recomputed", "read"
_NOTES, _OPEN = "notes", "open"
_EVIDENCE: Mapping[str, frozenset[str]] = {
    _MEASURED: frozenset({"band", "bound", "version"}),
    _RECOMPUTED: frozenset({"arithmetic", "count"}),
    _READ: frozenset({"source"}),
}
"""The rules by what decides them: our intervals, published figures, published source."""


class Register:
    """All claims of one document or several, named by their prefixes, with their verdicts from the latest
    published runs."""

    def __init__(self, *prefixes: str) -> None:
        self.judgements = [judged for prefix in prefixes for judged in judge_all(prefix)]

    def tally(self) -> page.Answer:
        """How many of the published claims our measurements decide, in a sentence that can be repeated; then how many
        rest on something else, and our own notes apart."""
        counts = {name: len(group) for name, group in self.by_evidence().items()}
        told = {name: page.estimate(f"{count}") for name, count in counts.items()}
        published = len(self.judgements) - counts[_NOTES]
        first = (
            Html(
                "Most published claims cannot be decided here: of {published}, our measurements decide {measured}."
            )
            if 2 * counts[_OPEN] > published
            else Html("Of {published} published claims, our measurements decide {measured}.")
        )
        rest = Html(
            "Arithmetic on published figures or a count in the published source decides {recomputed}, and reading that "
            "source {read}. {open} are undecided. Our own notes are {notes} more."
        )
        return page.answer(
            Html('{} <span class="gb-muted">{}</span>').format(
                first.format(published=published, **told), rest.format(**told)
            )
        )

    def by_evidence(self) -> Mapping[str, list[Judgement]]:
        """The entries by what decides them: our intervals, published figures, published source, or nothing;
        our own notes apart, whatever decides them."""
        groups: dict[str, list[Judgement]] = {name: [] for name in (*_EVIDENCE, _OPEN, _NOTES)}
        for one in self.judgements:
            groups[_evidence_of(one)].append(one)
        return groups

    def chances(self) -> list[float]:
        """For each measured ratio that stands against one published number: how likely that number would have
        been confirmed if it were exactly true, in ascending order."""
        places = [place for one in self.judgements for place in one.evidence if not place.beside]
        return sorted(place.chance_if_true for place in places if place.chance_if_true is not None)

    def table(self) -> Html:
        """Every claim with its verdict; a script lets the reader filter it."""
        return register(
            [_row(one) for one in self.judgements],
            {str(verdict): word for verdict, word in WORDS.items()},
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
        }
        glue_facts(facts)


def _evidence_of(one: Judgement) -> str:
    if one.claim.kind == NOTE:
        return _NOTES
    if one.verdict == "undecided":
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
        word=one.word,
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
    # What is recomputed beside a measurement is published: only the evidence tells it.
    own = [place for place in one.evidence if place.chapter or not place.beside]
    absent = [place.ours for place in own if place.outcome == "missing"]
    if absent:
        return list(dict.fromkeys(absent))
    values = [
        f"{place.ours.rpartition(' = ')[2]}{f', {place.runs} runs' if place.runs > 1 else ''}"
        for place in own
    ]
    if len(values) < 2:
        return values or ["–"]
    places = [place.quantity for place in own]
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
    beside = "Beside it: " if place.beside else ""
    return f"{beside}{place.quantity}: {place.ours}; expected {place.expected}: {_SIGNS[place.outcome]}.{run}"


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
