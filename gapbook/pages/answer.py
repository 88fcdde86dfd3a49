"""An answer: a sentence for each pair of contestants, and what it must be read with."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TypeAlias

from gapbook.markup import Html, each
from gapbook.method.cells import Named
from gapbook.method.findings import Findings
from gapbook.method.interval import Interval
from gapbook.method.over_runs import Between, ratio_beside
from gapbook.method.source import Ratio
from gapbook.pages import page
from gapbook.pages.caveats import answered_at, caveats
from gapbook.pages.citation import between_sessions, cited_value
from gapbook.pages.gloss import gloss_of
from gapbook.pages.promises import promises_of
from gapbook.pages.versions import versioned_label
from gapbook.pages.words import JAMS, listed, operation_of, operations_of
from gapbook.record.metric import GOODPUT
from gapbook.record.scenario import RecordedContestant

__all__ = ["Compared", "answer", "answer_of_pair", "lacking", "read_with"]

Compared: TypeAlias = tuple[str, Named, Named] | tuple[str, Named, Named, str]
"""A sentence, two contestants, and the metric whose ratio stands in it; goodput without one."""


def answer(found: Findings, *compared: Compared, at: Collection[float] = ()) -> page.Answer:
    """The answer: a sentence for each pair of contestants, then what it must be read with.

    In a sentence ``{over}`` and ``{under}`` become the systems with their versions, ``{ratios}`` how many
    times the metric of ``under`` that of ``over`` is, ``{operation}`` and ``{operations}`` what the
    workload calls its operations. Where that holds, and how many times it is elsewhere, ends the sentence.
    ``at`` are the values of the treatment that are answered for; without them, or where the run has none
    of them for both, the first and the last that both were measured at. What the run does not answer is
    said last, each once.
    """
    told = [answer_of_pair(found, *one, at=at) for one in compared]
    answered = [pair[1:3] for one, pair in zip(told, compared, strict=True) if one.cited]
    cited = [number for one in told for number in one.cited]
    sentences = dict.fromkeys(one.sentence for one in sorted(told, key=lambda one: not one.cited))
    return read_with(found, Html(" ").join(sentences), answered, cited, at=at)


def read_with(
    found: Findings,
    text: Html,
    compared: Sequence[Sequence[Named]],
    cited: Sequence[page.Cited],
    *,
    at: Collection[float] = (),
) -> page.Answer:
    """An answer with what it must be read with: promises, caveats, and what the treatment means.

    ``compared`` are the contestants of each comparison, ``at`` the values of the treatment that it is for, as in
    :func:`answer`. Without a number there is nothing to be read with.
    """
    if not cited:
        return page.answer(text)
    groups = [found.contestants(group) for group in compared]
    after = [
        gloss_of(found.scenario),
        promises_of(found, groups),
        *caveats(found, groups, at),
        between_sessions(found, cited),
    ]
    return page.answer(text, cited, " ".join(filter(None, after)))


def answer_of_pair(
    found: Findings,
    sentence: str,
    above: Named,
    beneath: Named,
    metric: str = GOODPUT.name,
    *,
    at: Collection[float],
) -> page.Answer:
    """One sentence of :func:`answer`, without what it must be read with."""
    parts, untold, cited, vague, even = [], [], [], [], []
    over, under = found.contestants((above, beneath))
    counted = (
        f"{operations_of(found.scenario.workload)} per second"
        if metric == GOODPUT.name
        else found.metric(metric).words
    )
    for treatment in answered_at(found, at, over, under):
        ratio = found.ratio(over.name, under.name, treatment, metric)
        if why := lacking(found, over, under):
            return page.Answer(Html.escape(why))
        if ratio is None:
            return page.Answer(
                Html.escape(
                    f"Not answered by this run: {over.name} or {under.name} has no valid trial "
                    f"at {found.at(treatment)}."
                )
            )
        if why := _why_untold(found, ratio, treatment, over, under):
            untold.append((found.at(treatment), why))
            continue
        between = _between_runs(found, over, under, treatment, metric)
        told = f" ({between})" if between else ""
        parts.append((Html("{}{}").format(page.estimate(ratio.as_times()), told), found.at(treatment)))
        if ratio.vague:
            vague.append(ratio.n)
        elif ratio.bounded and ratio.low < 1 < ratio.high:
            even.append(found.at(treatment))
        cited.append(
            cited_value(
                found,
                f"{over.full_label} ÷ {under.full_label}, {counted}",
                treatment,
                ratio,
                found.over_sessions(found.ratio_by_block(over.name, under.name, treatment, metric)),
                between,
                Ratio(over.name, under.name, treatment, metric),
            )
        )
    if not parts:
        named = f"{versioned_label(found, over)} against {versioned_label(found, under)}"
        reasons = "; ".join(f"at {where} {why}" for where, why in untold)
        return page.Answer(Html.escape(f"Not answered by this run, {named}: {reasons}."))
    text = _told(Html.escape(sentence), parts).replace("{operations}", operations_of(found.scenario.workload))
    text = text.replace("{operation}", operation_of(found.scenario.workload))
    for place, contestant in (("{over}", over), ("{under}", under)):
        text = text.replace(place, versioned_label(found, contestant))
    text += "".join(f" At {where} {why}: no ratio." for where, why in untold)
    if vague:
        text += f" That rests on {min(vague)} blocks alone and says next to nothing."
    if even:
        where = "This" if len(even) == len(parts) else f"At {listed(even)} this"
        text += f" {where} run cannot tell the two apart."
    text += _opposed(found, over, under, metric, at)
    return page.Answer(text, tuple(cited))


def lacking(found: Findings, *contestants: RecordedContestant) -> str:
    """Which of these contestants the run does not have, as a sentence; empty where it has all."""
    if absent := [one.name for one in contestants if one.name in found.absent]:
        return f"Not measured here: {'; '.join(f'{name}: {found.absent[name]}' for name in absent)}."
    planned = {contestant.name for contestant in found.scenario.contestants}
    # A notebook can name others when the run is older, or when its reader did not ask for them.
    if unplanned := [one.full_label for one in contestants if one.name not in planned]:
        return f"Not in this run: {', '.join(unplanned)}."
    return ""


def _between_runs(
    found: Findings, over: RecordedContestant, under: RecordedContestant, treatment: float, metric: str
) -> Between | None:
    """From the least to the greatest that published runs made of the same ratio, and on how many machines; None where
    there is but one run, and on a reader's own."""
    over_runs = ratio_beside(found, over.name, under.name, treatment, metric)
    return over_runs.between if over_runs and over_runs.runs > 1 else None


def _why_untold(found: Findings, ratio: Interval, treatment: float, *pair: RecordedContestant) -> str:
    """Why a ratio is in no answer, as the rest of a sentence; empty where it may stand there."""
    if found.stands_alone(ratio, treatment, *pair):
        return ""
    if stuck := [versioned_label(found, one) for one in pair if found.jams(one.name, treatment)]:
        return f"{listed(stuck)} {JAMS}"
    return f"its interval over {ratio.n} block{'s' if ratio.n > 1 else ''} is too wide"


def _opposed(
    found: Findings, over: RecordedContestant, under: RecordedContestant, metric: str, at: Collection[float]
) -> str:
    """That older published runs said the opposite, where one did."""
    held = (
        ratio_beside(found, over.name, under.name, treatment, metric)
        for treatment in answered_at(found, at, over, under)
    )
    opposed = [one.interval.as_times() for ratio in held if ratio for one in ratio.opposed(found.run)]
    if not opposed:
        return ""
    return f" Another run of this book held the opposite, {listed(opposed)}: see Corrections."


def _told(sentence: Html, parts: Sequence[tuple[Html, str]]) -> Html:
    """A sentence with its first ratio in it; where that holds ends it, and what the ratio is elsewhere.

    ``parts`` are ratios, each with where it holds: ``A does 1.72 times as many as B at α = 0, and 2.04 times
    at α = 1.5.``
    """
    (first, where), *others = parts
    *between, last = [Html(""), *(Html("{} at {}").format(*other) for other in others)]
    tail = each(Html(", {}"), filter(None, between)) + (Html(", and {}").format(last) if last else "")
    return Html("{} at {}{}.").format(sentence.removesuffix(".").replace("{ratios}", first), where, tail)
