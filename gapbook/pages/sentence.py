"""The sentence of a first screen, and its line of conditions: written by a chapter's author, every number from the run.

A reader repeats one sentence. So it has its limits, which are checked wherever a page is made: at most
:data:`MOST_WORDS` words and :data:`MOST_NUMBERS` numbers, no brackets, no digit but those of its numbers and of versions.
"""

from __future__ import annotations

import re
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from gapbook.errors import ParameterError
from gapbook.markup import Html
from gapbook.method.cells import Named
from gapbook.method.findings import Findings
from gapbook.method.interval import Interval, format_count
from gapbook.method.over_runs import kept_beside
from gapbook.method.source import Kept, Rate, Source
from gapbook.pages import page
from gapbook.pages.answer import answer_of_pair, lacking
from gapbook.pages.gloss import wanted_words
from gapbook.pages.words import operations_of
from gapbook.record.elsewhere import systems_elsewhere
from gapbook.record.load_hosts import hosts_counted
from gapbook.record.machine import machine_with_sides, processor_and_cores
from gapbook.record.metric import GOODPUT

__all__ = [
    "MOST_CONDITION_WORDS",
    "MOST_NUMBERS",
    "MOST_WORDS",
    "Said",
    "Sentence",
    "Version",
    "answered",
    "conditions",
    "counted",
    "heading",
    "kept",
    "kept_across",
    "part_kept",
    "rate",
    "sentence",
    "times",
]

MOST_WORDS = 40
MOST_NUMBERS = 2
MOST_CONDITION_WORDS = 30
_RUNS_FOR_A_MEAN = 3
_A_MACHINE = "AMD EPYC, client and server on 2 cores"
_NUMBER = re.compile(r"×?([\d.,]*\d(?: %)?)")
_BRACKETS = re.compile(r"[()\[\]]")
_DIGIT = re.compile(r"(?<![A-Za-z])\d")
_VERSION = re.compile(r"\d+(?:\.\d+){2,}[\w.+-]*")


TOO_WIDE = "(not quoted: too few blocks, or too wide an interval)"
"""Stands in prose where a number would whose interval tells too little."""


@dataclass(frozen=True)
class Said:
    """A number as the run at hand has it, and how it is cited; without one, ``why`` says so in a sentence, and
    ``instead`` stands in prose where the number would. ``over_runs`` is what all published runs made of it, ``4.84–8.53``,
    where there are several: a sentence says that, for a reader's machine is none of ours."""

    printed: str = ""
    cited: page.Cited | None = None
    why: str = ""
    instead: str = "(not measured)"
    over_runs: str = ""

    @property
    def in_sentence(self) -> str:
        return self.over_runs or self.printed


class Version(str):
    """The name of a version: the one text in a sentence that may have digits."""

    __slots__ = ()


@dataclass(frozen=True)
class Sentence:
    """An author's sentence with its numbers. Where one of them is missing, it is what the run has to say instead."""

    text: Html
    said: tuple[Said, ...] = ()
    names: tuple[str, ...] = ()
    """Of its numbers, one each: what the author calls them, and what their addresses end with."""

    @property
    def plain(self) -> str:
        return self.text.striptags()

    @property
    def cited(self) -> tuple[page.Cited, ...]:
        return tuple(one.cited for one in self.said if one.cited is not None)

    @property
    def numbers(self) -> Sequence[tuple[str, str, page.Cited]]:
        """Name, number as printed, and how it is cited, of each that can be."""
        named = zip(self.names, self.said, strict=True)
        return [(name, one.printed, one.cited) for name, one in named if one.cited]

    @property
    def as_said(self) -> Sequence[str]:
        """Each number that can be cited, as the sentence has it."""
        return [one.in_sentence for one in self.said if one.cited]

    @property
    def printed(self) -> tuple[str, ...]:
        return tuple(one.printed for one in self.said)

    def __html__(self) -> Html:
        return Html('<p class="gb-sentence">{}</p>').format(self.text)


def times(
    found: Findings, over: Named, under: Named, *, at: float | None = None, metric: str = GOODPUT.name
) -> Said:
    """How many times the metric of ``under`` that of ``over`` is, for ``commits {…} times as many``.

    ``at`` is the value of the treatment; the last that both ran at, without it or where the run has not this one.
    """
    treatment = _at(found, at, over, under)
    return answered(answer_of_pair(found, "{ratios}", over, under, metric, at=[treatment]), 0)


def kept(found: Findings, one: Named, of: Named, *, at: float | None = None) -> Said:
    """Which part of the goodput of ``of`` another contestant has, for ``keeps … of its rate``: ``26.0 %`` where
    :func:`times` says ``0.260``, and cited as that ratio."""
    said = times(found, one, of, at=at)
    return replace(said, printed=_in_percent(said.printed), over_runs=_in_percent(said.over_runs))


def kept_across(found: Findings, one: Named, *, at: float, base: float) -> Said:
    """Which part of its goodput at the value ``base`` of the treatment a contestant has at ``at``."""
    contestant = found.contestant(one)
    where = f"{contestant.full_label}, goodput kept, {found.at(at)} against {found.at(base)}"
    part = found.across_treatments(contestant.name, at, base)
    if part is None:
        none = f"Not answered by this run: {where}: no block has both ends."
        return Said(why=lacking(found, contestant) or none)
    if found.run.published and not part.tells:
        return Said(
            why=f"Not answered by this run: {where} has an interval that is too wide.", instead=TOO_WIDE
        )
    over_runs = kept_beside(found, contestant.name, at, base)
    between = over_runs.between_in_percent if over_runs and over_runs.runs > 1 else None
    return Said(
        f"{format_count(100 * part.estimate)} %",
        page.Cited(
            where,
            part.as_percent(),
            part.n,
            between_runs=between,
            source=Kept(contestant.name, at, base),
        ),
        over_runs=between.in_sentence if between else "",
    )


def part_kept(found: Findings, one: Named, *, at: float, base: float) -> Interval | None:
    """The same as an interval: the mean over all published runs where there are three of them or more, else of the run
    at hand."""
    name = found.contestant(one).name
    over_runs = kept_beside(found, name, at, base)
    if over_runs and over_runs.runs >= _RUNS_FOR_A_MEAN:
        return over_runs.mean
    return found.across_treatments(name, at, base)


def rate(found: Findings, one: Named, *, at: float | None = None, metric: str = GOODPUT.name) -> Said:
    """The metric of a contestant, its goodput without a name; ``at`` as in :func:`times`."""
    treatment, contestant = _at(found, at, one), found.contestant(one)
    value = found.estimate(contestant.name, treatment, metric)
    where = f"{contestant.full_label} at {found.at(treatment)}"
    if value is None:
        return Said(
            why=lacking(found, contestant) or f"Not answered by this run: {where} has no valid trial."
        )
    if found.run.published and not value.tells:
        return Said(
            why=f"Not answered by this run: {where} has an interval that is too wide.", instead=TOO_WIDE
        )
    unit = (
        f" {operations_of(found.scenario.workload)}/s"
        if metric == GOODPUT.name
        else found.metric(metric).unit
    )
    source = Rate(contestant.name, treatment, metric)
    return counted(format_count(value.estimate), where, value, unit=unit, source=source)


def counted(
    printed: str,
    quantity: str,
    value: Interval | None = None,
    *,
    unit: str = "",
    n: int = 0,
    within: str = "",
    source: Source | None = None,
) -> Said:
    """A number of another kind, as printed: what it is of, and its interval where it has one; ``within`` is that in words
    where it is none over blocks: ``46–78 %``, ``source`` what it is made of."""
    shown = f"{value.as_count() if value and value.bounded else printed}{unit}"
    shown += f" [{within}]" if within else ""
    return Said(printed, page.Cited(quantity, shown, value.n if value else n, source=source))


def answered(answer: page.Answer, place: int) -> Said:
    """One of the numbers that an answer gives, by its place among what is cited."""
    if place >= len(answer.cited):
        return Said(why=answer.sentence.striptags())
    cited = answer.cited[place]
    number = _NUMBER.match(cited.value)
    over_runs = cited.between_runs.in_sentence if cited.between_runs else ""
    return Said(number.group(1) if number else cited.value, cited, over_runs=over_runs)


def heading(text: str, **parts: Said | str) -> str:
    """The title of a chart, with numbers as in :func:`sentence`; empty where one of them is missing, for then the chart
    has a title of its own."""
    if any(isinstance(part, Said) and part.why for part in parts.values()):
        return ""
    return text.format(
        **{name: part.printed if isinstance(part, Said) else part for name, part in parts.items()}
    )


def sentence(text: str, **parts: Said | str) -> Sentence:
    """An author's sentence; ``{name}`` is a number of the run, a :class:`Version`, or words.

    Raises ParameterError for a sentence that is over the limits, has brackets, or a digit that somebody typed or words
    bring: nobody would count it, look for it in the chart, or cite it.
    """
    names = [name for _, name, _, _ in string.Formatter().parse(text) if name is not None]
    if unknown := sorted(set(names) ^ set(parts)):
        raise ParameterError(
            f"first screen: {', '.join(unknown)}: stands either in the sentence or beside it"
        )
    numbers = {name: part for name in dict.fromkeys(names) if isinstance(part := parts[name], Said)}
    said = tuple(numbers.values())
    _refuse(text, "sentence", said)
    _refuse_digits_in_words(parts)
    if missing := next((one.why for one in said if one.why), ""):
        return Sentence(Html.escape(missing))
    shown = {
        name: Html('<strong class="gb-number">{}</strong>').format(part.in_sentence)
        if isinstance(part, Said)
        else part
        for name, part in parts.items()
    }
    done = Sentence(Html.escape(text).format(**shown), said, tuple(numbers))
    _refuse_long(done.plain, MOST_WORDS, "sentence")
    return done


def conditions(
    found: Findings,
    text: str,
    *,
    at: float | None = None,
    sides: str = "client and server",
    **parts: str,
) -> str:
    """The line of conditions: version, promise about the disk, how many want the same account, machine.

    ``{wanted}`` says how many transfers want one account at ``at``, ``{wanted_first}`` at the first value of the
    treatment; ``{machine}`` is the processor with the cores that the run could use and the ``sides`` that
    share them, and other names are what is given.

    Raises ParameterError as :func:`sentence` does.
    """
    _refuse(text, "line of conditions", ())
    known: dict[str, str] = {"machine": _machine_words(found, sides), **parts}
    if found.scenario.workload.accounts:
        known["wanted"] = wanted_words(found.scenario, _at(found, at))
        known["wanted_first"] = wanted_words(found.scenario, found.treatments[0])
    # The machine of a reader may have a longer name, for which no author can leave room.
    _refuse_long(text.format(**known | {"machine": _A_MACHINE}), MOST_CONDITION_WORDS, "line of conditions")
    return text.format(**known)


def _in_percent(ratios: str) -> str:
    """``26.0–31.2 %`` of ``0.260–0.312``; nothing of nothing."""
    parts = (format_count(100 * float(one.replace(",", ""))) for one in ratios.split("–")) if ratios else ()
    return f"{'–'.join(parts)} %" if ratios else ""


def _machine_words(found: Findings, sides: str) -> str:
    """The machine of both sides, that of the server and from how many hosts its load came, or that of the client and
    which servers were elsewhere."""
    machine, hosts = found.run.manifest.machine, len(found.run.manifest.load_hosts)
    if elsewhere := systems_elsewhere(found.run):
        return f"client on {processor_and_cores(machine)}; {' and '.join(elsewhere)} on another machine"
    if not hosts:
        return machine_with_sides(machine, sides)
    return f"{processor_and_cores(machine)}, load from {hosts_counted(hosts)}"


def _at(found: Findings, at: float | None, *named: Named) -> float:
    names = [found.contestant(one).name for one in named]
    values = found.treatments_of(*names) if names else found.treatments
    return at if at is not None and at in values else values[-1]


def _refuse(text: str, what: str, said: tuple[Said, ...]) -> None:
    if len(said) > MOST_NUMBERS:
        raise ParameterError(f"first screen: the {what} has {len(said)} numbers; at most {MOST_NUMBERS}")
    for pattern, named in ((_BRACKETS, "brackets"), (_DIGIT, "a digit that no run gave")):
        if pattern.search(text):
            raise ParameterError(f"first screen: the {what} has {named}: {text}")


def _refuse_digits_in_words(parts: Mapping[str, Said | str]) -> None:
    for name, part in parts.items():
        if isinstance(part, Said) or not _DIGIT.search(part):
            continue
        if not isinstance(part, Version) or not _VERSION.fullmatch(part):
            raise ParameterError(
                f"first screen: {name} brings a digit into the sentence and is no number of the run and no version: {part}"
            )


def _refuse_long(text: str, most: int, what: str) -> None:
    if (words := len(text.split())) > most:
        raise ParameterError(f"first screen: the {what} has {words} words; at most {most}: {text}")
