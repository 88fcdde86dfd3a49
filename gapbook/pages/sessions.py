"""What one figure hides: several comparisons at once, sessions apart, long windows, processor time."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TypeAlias

import polars as pl

from gapbook import charts
from gapbook.markup import Html, values_table
from gapbook.method.cells import Named
from gapbook.method.interval import Interval, format_factor, format_percent
from gapbook.method.sessions import session_means
from gapbook.model.work import EXPONENT
from gapbook.pages.gloss import busiest_share
from gapbook.pages.provenance import FindingsWithProvenance
from gapbook.pages.words import JAMS, NO_VALID_TRIAL, listed, operations_of
from gapbook.record.gates import LIMITS
from gapbook.record.labels import CLIENT_BOUND, NOT_SUSTAINED
from gapbook.record.machine import allowed_count
from gapbook.record.metric import GOODPUT, Metric
from gapbook.record.scenario import RecordedContestant

__all__ = ["SessionResults"]

Pair: TypeAlias = tuple[str, Named, Named]
_NO_TRIAL = "not measured"
_NOT_PLANNED = "not run"
_LABEL_WORDS = {
    CLIENT_BOUND: " Client-bound: the client held the server back.",
    NOT_SUSTAINED: " Not sustained: work was left when the load ended, so a longer run may show a lower rate.",
    "perhaps": " Perhaps: the trials do not rule it out.",
}


class SessionResults(FindingsWithProvenance):
    """Tables over pairs of contestants: what is compared, the one above the line, the one below it."""

    def comparisons_table(
        self, pairs: Sequence[Pair], metric: str = GOODPUT.name, at: Sequence[float] = ()
    ) -> Html:
        """How many times a metric of the second the first has, for each pair at each value of the treatment, or
        at those named."""
        values = at or self.treatments
        rows: list[list[str | Html]] = []
        for name, *pair in pairs:
            told = [self._told_ratio(pair, value, metric) for value in values]
            rows.append([name, *(ratio.as_factor() if ratio else why for ratio, why in told)])
        return values_table(("comparison", *map(self.at, values)), rows)

    def comparisons_chart(
        self,
        pairs: Sequence[Pair],
        published: Mapping[tuple[str, float], float] | None = None,
        metric: str = GOODPUT.name,
        at: Collection[float] = (),
        title: str = "",
    ) -> charts.Figure:
        """The same as a picture, with what each block says; ``published`` is what somebody else printed,
        by name of the pair and value of the treatment. ``at`` are the values that are shown, all without it;
        ``title`` says what was found, in the author's words."""
        printed = published or {}
        rows = [
            charts.Comparison(
                name,
                self.contestant(over).colour,
                tuple(
                    self._condition((over, under), treatment, metric, printed.get((name, treatment)))
                    for treatment in self._shown_at(at, (over, under))
                ),
            )
            for name, over, under in pairs
        ]
        if not any(condition.ratio for row in rows for condition in row.conditions):
            return charts.missing(
                "No comparison was measured", "No pair has a block with both.", provenance=self.provenance
            )
        return charts.comparisons(
            rows,
            provenance=self.provenance,
            title=title or self._comparisons_title(pairs, rows),
            **self._divided(
                self.metric(metric),
                sorted({value for _, *pair in pairs for value in self._shown_at(at, pair)}),
            ),
        )

    def _told_ratio(
        self, pair: Sequence[Named], treatment: float, metric: str
    ) -> tuple[Interval | None, str]:
        """The ratio of a pair, or without one the word for it: a contestant that jams has a rate of its first answers, and
        what is divided by that is no ratio of rates."""
        names = [self.contestant(one).name for one in pair]
        if any(self.jams(name, treatment) for name in names):
            return None, JAMS
        return self.ratio(names[0], names[1], treatment, metric), _NO_TRIAL

    def _condition(
        self, pair: Sequence[Named], treatment: float, metric: str, printed: float | None
    ) -> charts.Condition:
        ratio, missing = self._told_ratio(pair, treatment, metric)
        over, under = (self.contestant(one).name for one in pair)
        blocks = tuple(self.ratio_by_block(over, under, treatment, metric).values()) if ratio else ()
        return charts.Condition(self.at(treatment), ratio, blocks, printed if ratio else None, missing)

    def _comparisons_title(self, pairs: Sequence[Pair], rows: Sequence[charts.Comparison]) -> str:
        """The range of the ratios of a bank and what it is made of; of another workload the ratio farthest from ×1.

        A ratio that cannot stand alone is in the chart and not in its title.
        """
        known = [
            (condition.ratio.estimate, row.name, condition.label)
            for row in rows
            for condition in row.conditions
            if condition.ratio is not None and (condition.ratio.tells or not self.run.published)
        ]
        if not known:
            return "No ratio of this run has an interval narrow enough to say something"
        if self.scenario.workload.accounts:
            least, most = (format_factor(pick(known)[0]) for pick in (min, max))
            by, conditions = self._what_varies(pairs), {label for _, _, label in known}
            if len(conditions) > 1:
                by, where = [*by, "how many want the same account"], ""
            else:
                where = f", at {conditions.pop()}"
            divided = {tuple(self.contestant(one).system_label for one in pair) for _, *pair in pairs}
            over_label, under_label = next(iter(divided))
            one_quotient = len(divided) == 1 and over_label != under_label
            ratios = f"{over_label} ÷ {under_label}: ×{least}" if one_quotient else f"From ×{least}"
            return f"{ratios} to ×{most}{f', by {listed(by)}' if by else ''}{where}"
        ratio, pair, condition_label = max(known, key=lambda one: abs(math.log(one[0])))
        return f"×{format_factor(ratio)} at {condition_label}: {pair}"

    def _what_varies(self, pairs: Sequence[Pair]) -> list[str]:
        """What differs from pair to pair; within a pair, where each compares a system with itself."""
        both = [tuple(self.contestant(one) for one in pair) for _, *pair in pairs]
        if all(over.system == under.system for over, under in both):
            moved = any(over.settings.backend != under.settings.backend for over, under in both)
            return ["the system", "where it runs" if moved else "how it is called"]

        def differs(told: Callable[[RecordedContestant], object]) -> bool:
            return any(len(set(map(told, side))) > 1 for side in zip(*both, strict=True))

        systems = differs(lambda one: one.system)
        called = differs(lambda one: (one.access, one.tier, one.client, one.in_flight))
        promised, isolated = (
            differs(lambda one: one.durability),
            differs(lambda one: one.settings.isolation),
        )
        words = {
            "the systems": systems,
            "the version": not systems and differs(lambda one: one.version),
            "how both sides are called": called,
            "what they promise" if called else "what both sides promise": promised,
            "isolation": isolated,
        }
        return [word for word, does in words.items() if does]

    def _shown_at(self, at: Collection[float], pair: Sequence[Named]) -> Sequence[float]:
        """The values of the treatment that are shown of a pair: those of ``at`` that both ran at, or all."""
        names = [one.name for one in pair]
        return self.wanted_of(at, *names) or self.treatments_of(*names)

    def _divided(self, metric: Metric, at: Sequence[float]) -> dict[str, str]:
        """What was divided by what, under the axis and over the picture."""
        if metric is not GOODPUT:
            of = metric.words[0].upper() + metric.words[1:]
            return {
                "axis": f"{metric.label} of the first ÷ that of the second (log scale)",
                "subtitle": f"{of}, of the first divided by that of the second. {metric.better.capitalize()} is better.",
            }
        operations = operations_of(self.scenario.workload)
        return {
            "axis": f"how many times as many {operations} per second (log scale)",
            "subtitle": f"{operations.capitalize()} per second of the first divided by those of the second. "
            f"Right of ×1 the first is faster. {self._who_wants_one(at)}".strip(),
        }

    def _who_wants_one(self, at: Sequence[float]) -> str:
        """What the exponents of a bank mean: ``α = 0.5: 3.4 % of transfers want one account; 1.5: 57 %.``"""
        if not self.scenario.workload.accounts or self.scenario.treatment.name != EXPONENT:
            return ""
        shares = [f"{value:g}: {format_percent(busiest_share(self.scenario, value))} %" for value in at]
        first, *others = shares
        return f"{self.scenario.treatment.label} = {'; '.join([f'{first} of transfers want one account', *others])}."

    def sessions_table(self, pairs: Sequence[Pair]) -> Html:
        """Each pair's ratio in each session, how far the highest is above the lowest, and the ratio with its
        interval over blocks, which takes sessions as they were, and over sessions, which does not; the latter
        alone where each block is a session. The caption says what that means for the intervals of the page."""
        intervals = ("over sessions",) if self.each_block_is_a_session else ("over blocks", "over sessions")
        rows: list[list[str | Html]] = []
        for name, over, under in pairs:
            for treatment in self.treatments_of(over.name, under.name):
                ratios = self.ratio_by_block(over.name, under.name, treatment)
                found = session_means(ratios, self.sessions)
                known = [ratio for ratio in found.values() if ratio is not None]
                apart = f"{max(known) / min(known) - 1:.0%}" if len(known) > 1 else "–"
                both = self._sessions_with(over, treatment) & self._sessions_with(under, treatment)
                cells = [
                    f"×{format_factor(ratio)}"
                    if ratio
                    else NO_VALID_TRIAL
                    if session in both
                    else _NOT_PLANNED
                    for session, ratio in found.items()
                ]
                within, between = self.ratio(over.name, under.name, treatment), self.over_sessions(ratios)
                told = [one.as_factor() if one else "–" for one in (within, between)]
                rows.append([f"{name}, {self.at(treatment)}", *cells, apart, *told[-len(intervals) :]])
        numbered = (f"session {number + 1}" for number in self.sessions)
        columns = ("comparison", *numbered, "highest above lowest", *intervals)
        return values_table(columns, rows, caption=self._intervals_words())

    def _sessions_with(self, contestant: Named, treatment: float) -> set[int]:
        """The sessions in which a contestant was tried at a value of the treatment."""
        return set(self.trials_of(contestant.name, treatment)["session"])

    def _intervals_words(self) -> str:
        """What the intervals of a page say of sessions."""
        if len(self.sessions) < 2:
            return "This run has one session, so it cannot tell what another would give."
        if self.each_block_is_a_session:
            return (
                "Each session has one block, so every interval on this page also holds what changes from one "
                "session to the next."
            )
        return (
            "Intervals over blocks, here and elsewhere on this page, leave out what changes from one session to "
            "the next. Intervals over sessions hold it, and are wide where sessions are few."
        )

    def long_windows_table(self, pairs: Sequence[tuple[Named, Named]]) -> Html:
        """Whether a short window speaks for a long one: pairs of a contestant and the same with a long window."""
        rows: list[list[str | Html]] = []
        for short, long in pairs:
            for treatment in self.treatments_of(short.name, long.name):
                rates = [self.goodput(contestant.name, treatment) for contestant in (short, long)]
                if rates[0] is None or rates[1] is None:
                    rows.append([f"{short.name}, {self.at(treatment)}", _NO_TRIAL, _NO_TRIAL, "–"])
                    continue
                kept = f"{rates[1].estimate / rates[0].estimate:.0%}"
                rows.append(
                    [
                        f"{short.name}, {self.at(treatment)}",
                        *(f"{rate.as_count()}/s" for rate in rates if rate),
                        kept,
                    ]
                )
        windows = {f"{self.contestant(long).window_s:g} s" for _, long in pairs}
        columns = ("contestant", f"{self.scenario.window_s:g} s", ", ".join(sorted(windows)), "long ÷ short")
        return values_table(columns, rows)

    def processor_table(self, labels: Mapping[str, str] | None = None) -> Html:
        """Microseconds of processor time that one operation took in client, tier and server: medians over
        valid trials.

        Where the hypervisor took more of the machine than it may take for others, the share that it took stands
        beside them. ``labels`` are what rows are called by the names of their contestants; one without has its
        name.
        """
        called = labels or {}
        rows: list[list[str | Html]] = []
        taken: list[float] = []
        cautions: list[list[str]] = []
        for contestant in self.scenario.contestants:
            for treatment in self.treatments:
                goodput = self.goodput(contestant.name, treatment)
                if goodput is not None:
                    parts = [
                        self._spent(contestant, treatment, f"{part}-cpu")
                        for part in ("client", "tier", "server")
                    ]
                    rows.append(
                        [
                            f"{called.get(contestant.name, contestant.name)}, {self.at(treatment)}",
                            f"{goodput.as_count()}/s",
                            *parts,
                        ]
                    )
                    taken.append(self._taken_frac(contestant.name, treatment))
                    cautions.append(self.labels(contestant.name, treatment))
        more: tuple[str, ...] = ()
        caption = (
            "A dash: there is no such process, because nothing stands before the database, or because it runs "
            "inside its caller."
        )
        if any(cautions):
            more = ("label",)
            told = ", ".join(", ".join(one) for one in cautions)
            caption += "".join(words for label, words in _LABEL_WORDS.items() if label in told)
            rows = [[*row, ", ".join(one)] for row, one in zip(rows, cautions, strict=True)]
        if any(frac > LIMITS.steal_frac for frac in taken):
            more = (*more, "machine time taken by the hypervisor")
            caption += (
                " A hypervisor takes time for its own work for a server too, such as writing to the disk; the "
                "gate “steal” leaves out what is usual for a contestant."
            )
            rows = [[*row, _share(frac)] for row, frac in zip(rows, taken, strict=True)]
        return values_table(
            (
                "contestant",
                f"{operations_of(self.scenario.workload)} per second",
                "client, µs",
                "HTTP server or proxy, µs",
                "server, µs",
                *more,
            ),
            rows,
            caption=caption,
        )

    def _spent(self, contestant: RecordedContestant, treatment: float, metric: str) -> str:
        """The median of some processor times; a dash where none was ever spent, for then nothing ran."""
        of_trials = self.trial_values(contestant.name, treatment, metric)
        if not of_trials:
            return "not readable"
        if any(of_trials):
            return f"{statistics.median(of_trials):,.1f}"
        ever = any(any(self.trial_values(contestant.name, value, metric)) for value in self.treatments)
        return "less than the kernel counts" if ever else "–"

    def _taken_frac(self, contestant: str, treatment: float) -> float:
        """The share of the machine that the hypervisor took, median over valid trials; NaN where none tells it."""
        trials = self.trials_of(contestant, treatment).filter("valid")
        window_s = pl.col("window_s").fill_null(self.scenario.window_s)
        machine_s = window_s * allowed_count(self.run.manifest.machine)
        found = trials.select((pl.col("steal_s") / machine_s).median()).item()
        return math.nan if found is None else float(found)


def _share(frac: float) -> str:
    return f"{format_percent(frac)} %" if math.isfinite(frac) else "not readable"
