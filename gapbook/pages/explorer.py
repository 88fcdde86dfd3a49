"""Two sides set as a reader would run them: every cell that published runs hold, and all that a script needs to divide two.

A ratio is of one run, paired by block. So the script is given what each block of a run gave, and computes as
:meth:`gapbook.method.cells.Cells.ratio` does; cells of two runs are never divided.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import msgspec

from gapbook.errors import RecordError
from gapbook.markup import Html, each, link
from gapbook.method.cell_key import cell_key
from gapbook.method.findings import Findings
from gapbook.method.interval import FEWEST_TOLD, WIDEST_TOLD, Interval, format_factor
from gapbook.method.student import quantile_of_t
from gapbook.pages.bibtex import book_as_cited
from gapbook.pages.choices import DIMENSIONS, Choice, explorer_address, exponent_of, load_choice, side_of
from gapbook.pages.gloss import busiest_share, share_words
from gapbook.pages.glued import glue_facts
from gapbook.pages.provenance import run_facts
from gapbook.pages.rerun import assigned, parameters_of
from gapbook.pages.versions import versioned_label
from gapbook.pages.words import JAMS, rate_cell
from gapbook.parameters import chapter_parameters
from gapbook.record.published import measurement_of, published_runs
from gapbook.record.run import Run, latest_published
from gapbook.record.scenario import RecordedContestant

__all__ = ["Explorer", "HeldCell", "held_cells"]

_PAGE = "notebooks/explorer.html"
_AFTER_THE_TRIALS = ("kills", "cuts")
_COLUMNS = ("side", "set as", "for both", "transfers a second", "run")


@dataclass(frozen=True)
class HeldCell:
    """A cell that a run holds; ``by_block`` is its rate in each block that has a valid trial of it."""

    key: str
    found: Findings
    contestant: RecordedContestant
    treatment: float
    side: tuple[Choice, ...]
    load: Choice
    exponent: float
    by_block: dict[int, float]
    jams: bool
    labels: tuple[str, ...]

    @property
    def at(self) -> tuple[float, float]:
        """The value of the run's treatment, and how unequal the accounts are drawn, which a contestant may set for itself."""
        return self.treatment, self.exponent


class Explorer:
    """The cells of the published run that each chapter shows which loads transfers, save those of simulated servers;
    or those of given runs, the last of each chapter."""

    def __init__(self, runs: Sequence[Run] | None = None) -> None:
        newest = {run.manifest.chapter: run for run in (_shown_runs() if runs is None else runs)}
        banks = [run for run in newest.values() if run.scenario.workload.accounts]
        banks.sort(key=lambda run: run.manifest.started_unix_s, reverse=True)
        every = [Findings(run, run.manifest.chapter) for run in banks]
        self.cells = [cell for found in every for cell in held_cells(found)]
        self.found = list(dict.fromkeys(cell.found for cell in self.cells))

    @cached_property
    def by_key(self) -> dict[str, list[HeldCell]]:
        """All that hold the same cell, the newest run first."""
        found: dict[str, list[HeldCell]] = {}
        for cell in self.cells:
            found.setdefault(cell.key, []).append(cell)
        return found

    def pairs(self) -> Iterable[tuple[HeldCell, HeldCell]]:
        """Every two cells that have a ratio: of one run, under one load, with a block that holds both."""
        for one, other in combinations(self.cells, 2):
            together = one.found is other.found and one.at == other.at
            if together and one.by_block.keys() & other.by_block.keys():
                yield one, other

    def page(self, chapter: str, left: str, right: str, exponent: float) -> Html:
        """The form that a script makes of the cells, set at first to two contestants of a chapter's run; raises
        RecordError where there are no such cells."""
        start = self._pair(chapter, left, right, exponent)
        content = msgspec.json.encode(self.content(*start)).decode()
        return Html(
            '<section class="gb-explorer" aria-label="Two sides" data-cells="{}"><p>Two sides are set by a script, and none '
            "runs here. All that it would show of a side stands in the table of this page.</p></section>"
        ).format(content)

    def examples(self, *examples: tuple[str, str, str, str, float]) -> Html:
        """Pairs to begin with, each a link: in words what one does as many of as the other, then chapter, the two
        contestants and the exponent."""
        return Html("<ul>{}</ul>").format(
            each(
                Html("<li>{}</li>"),
                (
                    self._example(words, *self._pair(chapter, over, under, exponent))
                    for words, chapter, over, under, exponent in examples
                ),
            )
        )

    def _example(self, words: str, over: HeldCell, under: HeldCell) -> Html:
        ratio = over.found.ratio(over.contestant.name, under.contestant.name, over.treatment)
        if ratio is None or not ratio.tells or ratio.low <= 1 or over.jams or under.jams:
            raise RecordError(
                f"explorer: {over.contestant.name} is not shown to do more than {under.contestant.name}"
            )
        newest = self._newest_with(over, under)
        if measurement_of(newest.run) != measurement_of(over.found.run):
            raise RecordError(
                f"explorer: a newer run than that of {over.found.scenario.chapter} holds the same two; name that"
            )
        left, right = ((one.contestant, versioned_label(one.found, one.contestant)) for one in (over, under))
        address = explorer_address(over.found, left, right, over.treatment)
        return link(address, f"{words}: {ratio.as_times()}")

    def _newest_with(self, one: HeldCell, other: HeldCell) -> Findings:
        """The run whose ratio the script shows first."""
        load = one.load, one.exponent
        held: dict[Findings, set[tuple[Choice, ...]]] = {}
        for cell in self.cells:
            if (cell.load, cell.exponent) == load:
                held.setdefault(cell.found, set()).add(cell.side)
        return next(found for found, sides in held.items() if {one.side, other.side} <= sides)

    def _pair(self, chapter: str, left: str, right: str, exponent: float) -> tuple[HeldCell, HeldCell]:
        held = {(one.found.scenario.chapter, one.contestant.name, one.exponent): one for one in self.cells}
        for name in (left, right):
            if (chapter, name, exponent) not in held:
                raise RecordError(
                    f"explorer: the published run of {chapter} has no cell of {name} at {exponent:g}"
                )
        return held[chapter, left, exponent], held[chapter, right, exponent]

    def content(self, left: HeldCell, right: HeldCell) -> dict[str, Any]:
        """What the script is given. Rates are in transfers per window, so that most are whole numbers."""
        sides = list(dict.fromkeys(cell.side for cell in self.cells))
        choices = [list(dict.fromkeys(side[place] for side in sides)) for place in range(len(DIMENSIONS))]
        for place in (0, 4):
            choices[place].sort(key=lambda one: (one.name.isdigit() and int(one.name), one.name))
        loads = list(dict.fromkeys(cell.load for cell in self.cells))
        exponents = sorted({cell.exponent for cell in self.cells})
        shares = {
            load: [share_words(busiest_share(scenario, value)) for value in exponents]
            for load, scenario in {cell.load: cell.found.scenario for cell in self.cells}.items()
        }
        _, address = book_as_cited()
        labels = list(dict.fromkeys(cell.labels for cell in self.cells))
        most_blocks = max(len(cell.by_block) for cell in self.cells)
        return {
            "choices": [
                {"name": name, "label": label, "values": [_told(one) for one in values]}
                for (name, label), values in zip(DIMENSIONS.items(), choices, strict=True)
            ],
            "sides": [
                [values.index(one) for values, one in zip(choices, side, strict=True)] for side in sides
            ],
            "loads": [_told(load) for load in loads],
            "exponents": exponents,
            "shares": [shares[load] for load in loads],
            "labels": [", ".join(one) for one in labels],
            "runs": [self._run(found, sides, loads, exponents, labels) for found in self.found],
            "t": [quantile_of_t(n) for n in range(1, most_blocks)],
            "fewest": FEWEST_TOLD,
            "widest": WIDEST_TOLD,
            "base": f"{address.rstrip('/')}/{_PAGE}" if address else "",
            "start": [
                sides.index(left.side),
                sides.index(right.side),
                exponents.index(left.exponent),
                loads.index(left.load),
            ],
        }

    def _run(
        self,
        found: Findings,
        sides: Sequence[tuple[Choice, ...]],
        loads: Sequence[Choice],
        exponents: Sequence[float],
        labels: Sequence[tuple[str, ...]],
    ) -> dict[str, Any]:
        cells = [cell for cell in self.cells if cell.found is found]
        contestants = {cell.contestant.name: cell for cell in reversed(cells)}
        names = sorted(contestants)
        facts, varied = run_facts(found), found.scenario.treatment.name
        parameter = chapter_parameters(found.scenario.workload.name)[varied]
        return {
            "chapter": found.scenario.chapter,
            "id": found.run.run_id,
            "measured": measurement_of(found.run),
            "date": facts["date"],
            "machine": f"{facts['processor']}, {facts['cores']}",
            "warmup": found.scenario.warmup_s,
            "treatment": varied,
            "command": _command(found),
            "contestants": [
                [name, sides.index(contestants[name].side), contestants[name].contestant.window_s]
                for name in names
            ],
            "at": [
                [
                    assigned(int(treatment) if treatment == int(treatment) else treatment, parameter),
                    exponents.index(exponent),
                    loads.index(at[0].load),
                    [
                        [
                            names.index(cell.contestant.name),
                            int(cell.jams),
                            labels.index(cell.labels),
                            *_per_window(cell),
                        ]
                        for cell in at
                    ],
                ]
                for treatment, exponent in sorted({cell.at for cell in cells})
                if (at := [cell for cell in cells if cell.at == (treatment, exponent)])
            ],
        }

    def table(self) -> Html:
        """Every cell, for who has no script and who wishes to read them all."""
        head = each(Html('<th scope="col">{}</th>'), _COLUMNS)
        rows = Html("").join(_row(key, held) for key, held in self.by_key.items())
        return Html(
            '<details class="gb-fold gb-cells"><summary>All {} settings</summary><div class="gb-table"><table>'
            "<thead><tr>{}</tr></thead><tbody>{}</tbody></table></div></details>"
        ).format(len(self.by_key), head, rows)

    def facts(self) -> dict[str, str]:
        """For the prose: how many cells, pairs and runs there are, and how far apart equal cells of two runs lie."""
        apart: dict[bool, list[float]] = {True: [1.0], False: [1.0]}
        for held in self._by_choices().values():
            for one, other in combinations(held, 2):
                rates = _rate(one), _rate(other)
                if all(rate and rate.tells for rate in rates):
                    low, high = sorted(rate.estimate for rate in rates if rate)
                    apart[_processor(one) == _processor(other)].append(high / low)
        return {
            "cells": f"{len(self.by_key):,}",
            "pairs": f"{sum(1 for _ in self.pairs()):,}",
            "runs": str(len({measurement_of(found.run) for found in self.found})),
            "apart": format_factor(max(apart[False])),
            "apart_alike": format_factor(max(apart[True])),
        }

    def glue(self) -> None:
        glue_facts(self.facts())

    def _by_choices(self) -> dict[tuple[Any, ...], list[HeldCell]]:
        found: dict[tuple[Any, ...], list[HeldCell]] = {}
        for cell in self.cells:
            found.setdefault((cell.side, cell.load, cell.exponent), []).append(cell)
        return found


def _shown_runs() -> Iterable[Run]:
    return map(latest_published, dict.fromkeys(run.manifest.chapter for run in published_runs()))


def held_cells(found: Findings) -> Iterable[HeldCell]:
    for contestant in found.scenario.contestants:
        # A simulated server is no choice; of requests on a schedule the rate is given.
        if contestant.simulated or contestant.loop == "open":
            continue
        side = side_of(found, contestant, versioned_label(found, contestant))
        for treatment in found.treatments:
            by_block = found.values(contestant.name, treatment)
            if by_block:
                yield HeldCell(
                    cell_key(found.run, contestant, treatment),
                    found,
                    contestant,
                    treatment,
                    side,
                    load_choice(found, treatment),
                    exponent_of(found, contestant, treatment),
                    by_block,
                    found.jams(contestant.name, treatment),
                    tuple(found.labels(contestant.name, treatment)),
                )


def _told(choice: Choice) -> list[str]:
    """A choice in as few texts as say it."""
    return [choice.name, choice.words, *([choice.short] if choice.short != choice.words else [])]


def _rate(cell: HeldCell) -> Interval | None:
    return cell.found.goodput(cell.contestant.name, cell.treatment)


def _processor(cell: HeldCell) -> str:
    return cell.found.run.manifest.machine.processor


def _per_window(cell: HeldCell) -> list[float]:
    """What each block gave in its window, block by block; 0 of one that gave nothing."""
    last = max(cell.by_block)
    counts = [round(cell.by_block.get(block, 0.0) * cell.contestant.window_s, 4) for block in range(last + 1)]
    return [int(count) if count == int(count) else count for count in counts]


def _command(found: Findings) -> str:
    """The command that measures again as a run did, without the contestants and the value of the treatment. What is
    killed after the trials is no part of a rate."""
    given, _ = parameters_of(found)
    given |= {name: 0 for name in _AFTER_THE_TRIALS if name in given}
    table = {**chapter_parameters(), **chapter_parameters(found.scenario.workload.name)}
    chosen = {"contestants", found.scenario.treatment.name}
    words = [
        word
        for name, value in given.items()
        if name not in chosen and (name != "servers" or value)
        for word in ("-p", f"{name}={assigned(value, table[name])}")
    ]
    return shlex.join(["gapbook", "run", found.scenario.chapter, *words])


def _row(key: str, held: Sequence[HeldCell]) -> Html:
    first = held[0]
    told = [one.words for one in first.side[1:-1]] + [first.side[-1].short]
    share = share_words(busiest_share(first.found.scenario, first.exponent))
    measured: dict[str, list[HeldCell]] = {}
    for cell in held:
        measured.setdefault(measurement_of(cell.found.run), []).append(cell)
    rates = [
        ", ".join(
            [
                rate_cell(_rate(cell)),
                f"n = {len(cell.by_block)}",
                *([JAMS] if cell.jams else []),
                *cell.labels,
            ]
        )
        for cell, *_ in measured.values()
    ]
    runs = [Html(", ").join([_run_link(cell) for cell in same]) for same in measured.values()]
    return Html(
        '<tr id="cell-{}"><td>{}</td><td>{}</td><td>α = {:g}: {}; {}</td><td>{}</td><td>{}</td></tr>'
    ).format(
        key,
        link(f"#cell-{key}", first.side[0].words),
        " · ".join(filter(None, told)),
        first.exponent,
        share,
        first.load.words,
        Html("<br>").join(rates),
        Html("<br>").join(runs),
    )


def _run_link(cell: HeldCell) -> Html:
    chapter = cell.found.scenario.chapter
    return link(f"{chapter}.html", f"{chapter} {cell.found.run.run_id}")
