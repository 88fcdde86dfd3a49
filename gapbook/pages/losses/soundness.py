"""Copies that replicators left: in how many trials they were whole, lacked rows or could not be used, and why."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from gapbook import charts
from gapbook.markup import Html, values_table
from gapbook.method.cells import Named
from gapbook.method.findings import Findings
from gapbook.method.proportions import wilson_interval
from gapbook.pages import page
from gapbook.pages.losses.copies import NOTHING_RESTORED, places, told_by_trials
from gapbook.pages.provenance import method_of_marks, provenance
from gapbook.pages.versions import versioned_label
from gapbook.pages.who import Rows
from gapbook.record.stored_trial import ValidTrial

__all__ = ["Ends", "ends_of", "soundness_answer", "soundness_chart", "soundness_table", "why_table"]

_KINDS = (
    charts.Outcome("every row came back", "confirmed"),
    charts.Outcome("rows are missing", "conditions"),
    charts.Outcome("the copy fails its check or restore", "refuted"),
)
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[T ][\d:.]+Z? ?")


@dataclass(frozen=True)
class Ends:
    """How the trials of a contestant ended that count: ``lacking`` left a copy without some rows, ``unusable`` one
    that fails its integrity check or could not be restored."""

    whole: int
    lacking: int
    unusable: int

    @property
    def trials(self) -> int:
        return self.whole + self.lacking + self.unusable

    @property
    def unusable_of_all(self) -> str:
        """``3 of 20``, ``none of 20``"""
        return f"{self.unusable or 'none'} of {self.trials}"

    @property
    def worst_of_all(self) -> str:
        """``3 of 20 fail``, or where none does ``3 of 20 lack rows``, or ``none of 20 fail``"""
        if self.lacking and not self.unusable:
            return f"{self.lacking} of {self.trials} lack rows"
        return f"{self.unusable_of_all} fail"

    @property
    def interval(self) -> str:
        """The interval of Wilson around the share that cannot be used: ``5–36 %``."""
        low, high = wilson_interval(self.unusable, self.trials)
        return f"{100 * low:.0f}–{100 * high:.0f} %"


def ends_of(found: Findings, one: Named) -> Ends:
    """Over all numbers of databases that the run has for it."""
    unusable, lost = (
        [value for at in places(found, one) for value in told_by_trials(found, one.name, at, metric)]
        for metric in ("copies unusable", "rows lost")
    )
    bad = sum(count > 0 for count in unusable)
    lacking = sum(rows > 0 and not count for rows, count in zip(lost, unusable, strict=True))
    return Ends(len(unusable) - bad - lacking, lacking, bad)


def soundness_answer(found: Findings, pairs: Sequence[tuple[Named, Named | None]]) -> page.Answer:
    """How often the copy of each could not be used after a kill, and how often beside it without one: pairs of the
    killed and the undisturbed, None where it was not measured beside it."""
    cited: list[page.Cited] = []
    told = [sentence for killed, alone in pairs for sentence in _sentences(found, killed, alone, cited)]
    return page.answer(Html(" ").join(told) or "This run has no valid trial of a killed replicator.", cited)


def _sentences(
    found: Findings, killed: Named, alone: Named | None, cited: list[page.Cited]
) -> Iterator[str | Html]:
    struck = ends_of(found, killed)
    if not struck.trials:
        return
    label = versioned_label(found, found.contestant(killed))
    number = f"{struck.unusable_of_all} [{struck.interval}]"
    told = (
        Html("{}, killed in the same way, left one in {} {}")
        if cited
        else Html(
            "{}, killed with kill -9 under load and started again, left a copy that fails SQLite's integrity check or its "
            "restore in {} {}"
        )
    )
    sentence = told.format(label, page.estimate(number), "trial" if struck.trials == 1 else "trials")
    if struck.lacking:
        sentence += f", and one that lacks rows in {struck.lacking}"
    yield sentence + "."
    if alone is not None and (control := ends_of(found, alone)).trials:
        yield f"Left alone, it did in {control.unusable_of_all}."
    cited.append(
        page.Cited(
            f"trials with a copy that fails SQLite's integrity check or its restore, {label}, killed and started again",
            number,
            len({row["block"] for row in _counting(found, killed)}),
        )
    )


def _counting(found: Findings, one: Named) -> list[ValidTrial]:
    """The rows of its trials that count."""
    return [row for at in places(found, one) for row in found.valid_rows(one.name, at)]


def soundness_chart(found: Findings, rows: Rows) -> charts.Figure:
    """A mark for each trial that counts, by what its copy was worth."""
    ended = [(label, ends) for label, one in rows if (ends := ends_of(found, one)).trials]
    title = "What the copies were worth"
    if not ended:
        return charts.missing(title, NOTHING_RESTORED, provenance=provenance(found))
    label, worst = max(ended, key=lambda row: row[1].unusable)
    if worst.unusable:
        title = f"{label}: {worst.unusable_of_all} copies fail SQLite's integrity check or their restore"
    return charts.outcomes(
        [
            charts.Outcomes(label, (ends.whole, ends.lacking, ends.unusable), ends.worst_of_all)
            for label, ends in ended
        ],
        _KINDS,
        provenance=replace(provenance(found), method=method_of_marks(found)),
        title=title,
        subtitle="One mark for each trial, after the copy was restored and compared with its database.",
    )


def soundness_table(found: Findings, rows: Rows) -> Html:
    """The same in numbers, with the interval of the share that cannot be used."""
    columns = (
        "replicator",
        "trials that count",
        "every row came back",
        "rows are missing",
        "the copy fails its check or restore",
        "95 % interval of that share",
    )
    body: list[list[str | Html]] = [
        [label, f"{ends.trials}", f"{ends.whole}", f"{ends.lacking}", f"{ends.unusable}", ends.interval]
        for label, one in rows
        if (ends := ends_of(found, one)).trials
    ]
    if not body:
        return page.banner("note", NOTHING_RESTORED)
    return values_table(columns, body)


def why_table(found: Findings, rows: Rows) -> Html:
    """What was wrong with the copies, in the words of the restore or of SQLite, and in how many trials."""
    body: list[list[str | Html]] = [
        [label, reason, f"{count}"]
        for label, one in rows
        for reason, count in _reasons(found, one).most_common()
    ]
    if not body:
        return page.banner("note", "Every copy of this run was whole.")
    return values_table(("replicator", "what was found", "trials"), body)


def _reasons(found: Findings, one: Named) -> Counter[str]:
    return Counter(
        _MOMENT.sub("", remark)
        for row in _counting(found, one)
        for remark in json.loads(row["remarks"] or "[]")
    )
