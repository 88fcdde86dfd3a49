"""Pictures that every chapter has: contestants, the waterfall of the gap, latency, gates."""

from __future__ import annotations

import json
import math
import statistics
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from gapbook import charts
from gapbook.claims.claim import claim
from gapbook.method.cells import Named
from gapbook.method.factors import Decomposition, Factor, Share
from gapbook.method.interval import FEWEST_TOLD, Interval, format_count, format_factor
from gapbook.pages.answer import AnswerResults
from gapbook.pages.factors import order_range_words
from gapbook.pages.failures import refusal_reasons
from gapbook.pages.words import state_row_of
from gapbook.record.describe import USUAL_DURABILITY
from gapbook.record.metric import GOODPUT, Metric
from gapbook.record.scenario import RecordedContestant
from gapbook.record.tables import StoredGate

__all__ = ["PictureResults"]

_REASON_CHARACTERS = 120


class PictureResults(AnswerResults):
    """The findings of a run as figures."""

    def contestants_chart(
        self, published: Mapping[tuple[str, float], str], metric: str = GOODPUT.name, title: str = ""
    ) -> charts.Figure:
        """A metric of every contestant, one panel a value of the treatment; ``published`` maps cells to claim ids.

        Without a title, it says who is best.
        """
        measured = self.metric(metric)
        rows = [
            charts.Contestant(
                system=contestant.colour,
                label=contestant.system_label,
                detail=contestant.detail_label,
                cells=tuple(
                    self._chart_cell(
                        contestant.name, treatment, published.get((contestant.name, treatment)), measured
                    )
                    for treatment in self.treatments
                ),
            )
            for contestant in self.scenario.contestants
        ]
        return charts.contestants(
            rows,
            facets=[self.at(value) for value in self.treatments],
            provenance=self.provenance,
            title=title or self._contestants_title(measured),
            subtitle=self._sentence(measured)
            + (
                f" Durability {self.scenario.durability}, where a row names no other."
                if self.scenario.workload.stores
                else ""
            ),
            metric=measured,
        )

    def _sentence(self, metric: Metric) -> str:
        """``Verified goodput: acknowledged in the window.``"""
        words = metric.words[0].upper() + metric.words[1:]
        told = metric.told.format(row=state_row_of(self.scenario.workload))
        return f"{words}{f': {told}' if told else ''}."

    def _contestants_title(self, metric: Metric) -> str:
        """Who is best at each end of the treatment; a simulated server is nobody, nor is a known defect, nor who has no
        interval that tells something. With how many others may be as good: those whose interval, or estimate where
        there is none, reaches into that of the best."""
        parts, nobody = [], "has a valid trial"
        for treatment in self.ends:
            known = [
                (value, c)
                for c in self.scenario.contestants
                if c.sound and not c.simulated and (value := self.estimate(c.name, treatment, metric.name))
            ]
            if known:
                pick = max if metric.better == "higher" else min
                told = [(value, c) for value, c in known if value.tells]
                if not told and self.run.published:
                    nobody = "has an interval narrow enough to say something"
                    continue
                told = told or [(value, c) for value, c in known if value.bounded and not value.vague]
                value, best = pick(told or known, key=lambda pair: pair[0].estimate)
                name = f"{self.versioned_label(best)}, {best.detail_label}"
                rivals = sum(_reaches(other, value, metric) for other, c in known if c is not best)
                also = (
                    f" (not distinguishable from {rivals} other{'s' if rivals > 1 else ''})" if rivals else ""
                )
                parts.append(
                    f"at {self.at(treatment)} {name}, {format_count(value.estimate)}{metric.unit}{also}"
                )
        faulty = " without a defect" if not all(c.sound for c in self.scenario.contestants) else ""
        return (
            f"{metric.best}{faulty}: {'; '.join(parts)}"
            if parts
            else f"No contestant without a defect {nobody}"
        )

    def _chart_cell(
        self, contestant: str, treatment: float, claim_id: str | None, metric: Metric
    ) -> charts.Cell:
        rows = self.trials_of(contestant, treatment).with_columns(metric.value.alias("value")).to_dicts()
        trials = tuple(
            charts.Trial(row["value"], row["refused_because"] or "") for row in rows if row["value"]
        )
        value = self.estimate(contestant, treatment, metric.name)
        flags = set(self.labels(contestant, treatment))
        if (warmth := self.warmth(contestant)).suspected:
            shown = warmth.reading == "still rising"
            flags.add("still warming up" if shown else "perhaps still warming up")
        return charts.Cell(
            value=value,
            trials=trials,
            published=claim(claim_id).value if claim_id else None,
            flags=tuple(sorted(flags)),
            missing="" if value else textwrap.shorten(_why_none(rows), _REASON_CHARACTERS, placeholder=" …"),
        )

    def waterfall(
        self,
        factors: Sequence[Factor],
        treatment: float,
        metric: str = GOODPUT.name,
        title: str = "",
        then: tuple[str, float] | None = None,
    ) -> charts.Figure:
        """The gap of a metric in steps that multiply to it, from all ``before`` to all ``after``; ``title`` says what was
        found, in the author's words.

        ``then`` is the name of a last step, and the value of the treatment to whose gap it leads.
        """
        parts = self.decompose(factors, treatment, metric=metric)
        start, end = self.ends_of(factors)
        if parts is None or start is None or end is None:
            return charts.missing(
                f"The gap at {self.at(treatment)} cannot be taken apart by this run",
                self._why_not_apart(factors, treatment, metric),
                provenance=self.provenance,
            )
        leads_on, note = self._then(factors, treatment, then, metric)
        steps = [
            charts.Step(
                name=share.factor.name,
                detail=self._detail_of(share.factor),
                family=share.factor.family,
                factor=share.multiplier,
                order_range=(share.order_low, share.order_high),
                blocks=tuple(share.contrast.told_factor_by_block.values()),
            )
            for share in parts.shares
        ]
        return charts.waterfall(
            self._endpoint(start, treatment, parts.start, metric),
            steps,
            self._endpoint(end, treatment, parts.end, metric),
            provenance=self.provenance,
            title=title or self._waterfall_title(parts, treatment, start, end),
            subtitle=f"{parts.gap.as_factor()}, durability "
            f"{' → '.join(dict.fromkeys((start.durability, end.durability)))}. "
            f"{_over_orders(parts)} "
            + self._two_fits(parts, start, end, treatment, metric)
            + self._without_client_bound(factors, treatment, metric)
            + note,
            total=parts.gap,
            metric=self.metric(metric),
            then=leads_on,
        )

    def _then(
        self, factors: Sequence[Factor], treatment: float, then: tuple[str, float] | None, metric: str
    ) -> tuple[charts.Then | None, str]:
        """The step that leads on to another value of the treatment, and what the reader must know of it."""
        if then is None or then[1] == treatment:
            return None, ""
        name, to = then
        found = self.further(factors, treatment, to, metric=metric)
        if found is None:
            return None, f" {name} is missing: an end of the gap has no valid trial at {self.at(to)}."
        place, there = self.at(treatment), self.at(to)
        step = charts.Step(
            name=name,
            detail=f"{place} → {there}",
            family="workload",
            factor=found.step.interval,
            blocks=tuple(found.step.told_factor_by_block.values()),
        )
        leads_on = charts.Then(step, place, there, found.start, found.end, found.whole.interval)
        return leads_on, f" {name}: the whole gap at {there}, divided by the one at {place}."

    def _why_not_apart(self, factors: Sequence[Factor], treatment: float, metric: str) -> str:
        """What is missing of a gap that does not close, in one sentence."""
        for end, levels in zip(self.ends_of(factors), self.levels_of_ends(factors), strict=True):
            if end is None:
                wanted = ", ".join(f"{dimension} {level}" for dimension, level in levels.items())
                return f"This run has no contestant with {wanted}."
            if not self.values(end.name, treatment, metric):
                return f"{end.full_label} has no valid trial at {self.at(treatment)}."
        between = [
            one.full_label for one in self.between(factors) if not self.values(one.name, treatment, metric)
        ]
        return (
            "Both ends of the gap have valid trials, but every order of the steps passes a combination that has none"
            f"{': ' if between else ''}{'; '.join(between)}."
        )

    def _detail_of(self, factor: Factor) -> str:
        """``rpc → direct``; all that it changes, its own first."""
        return " · ".join(
            " → ".join(self._level_of(dimension, level) for level in levels)
            for dimension, levels in factor.changes.items()
        )

    def _waterfall_title(self, parts: Decomposition, treatment: float, *ends: Named) -> str:
        """The whole gap, the largest named factor, and the residual with its range over orders: each that may stand
        alone."""
        if not self.stands_alone(parts.gap, treatment, *ends):
            return f"The gap at {self.at(treatment)} has no interval narrow enough to say something"
        shares = [share for share in parts.shares if self.stands_alone(share.multiplier, treatment)]
        named = [share for share in shares if share.factor.family != "residual"]
        residual = [share for share in shares if share.factor.family == "residual"]
        largest = sorted(named, key=lambda share: -abs(math.log(share.multiplier.estimate)))[:1]
        words = [
            f"{name} ×{format_factor(share.multiplier.estimate)}{_order_range(share)}"
            for name, share in [
                *((share.factor.name, share) for share in largest),
                *((share.factor.name[0].lower() + share.factor.name[1:], share) for share in residual),
            ]
        ]
        whole = f"×{format_factor(parts.gap.estimate)} at {self.at(treatment)}"
        return f"{whole}: {', '.join(words)}" if words else whole

    def _level_of(self, dimension: str, level: str) -> str:
        """A level in words: where a contestant has the promise of the scenario, what that is."""
        usual = dimension == "durability" and level == USUAL_DURABILITY
        return str(self.scenario.durability) if usual else level

    def _without_client_bound(self, factors: Sequence[Factor], treatment: float, metric: str) -> str:
        """What the factors are without cells that their client limits; empty where there is none."""
        bound = self.client_bound_between(factors, treatment)
        if not bound:
            return ""
        parts = self.decompose(factors, treatment, without=bound, metric=metric)
        if parts is None:
            return f" No order is left without {', '.join(bound)}, which the client limits."
        told = ", ".join(f"{one.factor.name} {one.multiplier.as_factor()}" for one in parts.shares)
        return f" Without {', '.join(bound)}, which the client limits: {told}."

    def _two_fits(self, parts: Decomposition, start: Named, end: Named, treatment: float, metric: str) -> str:
        """Says why the whole gap is not the ratio that tables give for the same pair, where they differ."""
        paired = self.ratio(end.name, start.name, treatment, metric)
        if paired is None or format_factor(paired.estimate) == format_factor(parts.gap.estimate):
            return ""
        return (
            f"Fitted to every valid trial; the {paired.n} blocks that hold both ends alone give "
            f"{paired.as_factor()}."
        )

    def _endpoint(
        self, contestant: RecordedContestant, treatment: float, value: Interval, metric: str
    ) -> charts.Endpoint:
        return charts.Endpoint(
            system=contestant.colour,
            label=contestant.system_label,
            detail=contestant.detail_label,
            value=value,
            blocks=tuple(self.values(contestant.name, treatment, metric).values()),
        )

    def latency_chart(self, treatment: float, contestants: Sequence[Named] = ()) -> charts.Figure:
        """Latency at percentiles of these contestants (all, when none is named), each trial a line."""
        title = f"Latency by percentile at {self.at(treatment)}"
        series, medians = [], []
        for contestant in self.contestants(contestants or self.scenario.contestants):
            trials = [
                charts.LatencyTrial(
                    tuple(point["percentile"] for point in points),
                    tuple(point["latency_ms"] for point in points),
                    tuple(point["operations_above"] for point in points),
                )
                for row in self.valid_rows(contestant.name, treatment)
                for points in [json.loads(row["latency_ms"])]
            ]
            if trials:
                middles = [dict(zip(one.percentiles, one.latency_ms, strict=True)) for one in trials]
                if len(trials) >= FEWEST_TOLD or not self.run.published:
                    medians.append(
                        (
                            statistics.median(middle[50.0] for middle in middles),
                            contestant.system_label,
                            contestant.detail_label,
                        )
                    )
                series.append(
                    charts.LatencySeries(
                        contestant.colour, contestant.system_label, contestant.detail_label, tuple(trials)
                    )
                )
        if not any(max(trial.counts_above) >= 100 for one in series for trial in one.trials):
            return charts.missing(
                f"{title}: not known from this run",
                "No trial has enough operations for a percentile.",
                provenance=self.provenance,
            )
        if len(medians) > 1:
            (least, quick, quick_detail), (most, slow, slow_detail) = min(medians), max(medians)
            if quick == slow:  # one system, called in two ways
                quick, slow = f"{quick}, {quick_detail}", f"{slow}, {slow_detail}"
            title += f": median {least:,.1f} ms ({quick}) to {most:,.1f} ms ({slow})"
        return charts.latency(
            series,
            provenance=self.provenance,
            title=title,
            subtitle="Service time of requests acknowledged in the window; closed loop.",
        )

    def gates_chart(self) -> charts.Figure:
        """Every gate over all trials of the run: the worst trial against the limit."""
        judged: dict[str, list[StoredGate]] = {}
        for text in self.run.trials["gates"].to_list():
            for gate in msgspec.json.decode(text, type=list[StoredGate]):
                judged.setdefault(gate.name, []).append(gate)
        cells = [_gate_cell(name, gates) for name, gates in judged.items()]
        total, valid = self.run.trials.height, int(self.run.trials["valid"].sum())
        title = f"{valid} of {total} trials count: no gate refused them"
        if unassessed := [cell.name for cell in cells if cell.unassessed]:
            title += f"; in some or all of them not assessed: {', '.join(unassessed)}"
        if not cells:
            return charts.missing(title, "No trial came as far as its gates.", provenance=self.provenance)
        return charts.gates(
            cells,
            provenance=self.provenance,
            title=title,
            subtitle="Number: the worst trial, refused ones included. Dots: all trials. Tick: the limit, fixed before the run.",
        )


def _reaches(other: Interval, best: Interval, metric: Metric) -> bool:
    """Whether a value may be as good as the best one."""
    if not best.bounded:
        return False
    if metric.better == "higher":
        return (other.high if other.bounded else other.estimate) >= best.low
    return (other.low if other.bounded else other.estimate) <= best.high


def _why_none(trials: Sequence[Mapping[str, Any]]) -> str:
    """Why a cell has no value: what refused its one trial, or how often each gate refused when there were more."""
    refused = [trial for trial in trials if not trial["valid"]]
    if not refused:
        return "not run"
    if len(refused) == 1:
        return str(refused[0]["refused_because"])
    return f"{len(refused)} trials refused: {refusal_reasons(refused)}"


def _over_orders(parts: Decomposition) -> str:
    """Over which orders of the steps factors are means: measured ones, of those that can be run."""
    cells = f"{parts.cells_measured} of {parts.cells_possible} combinations"
    if not parts.feasible_known:
        return (
            f"Mean over the {parts.orderings} of {parts.orderings_possible} orders whose every step was measured, "
            f"{cells}."
        )
    if parts.orderings_possible == 1:
        return f"Only 1 order of the steps can be run, {cells} were measured."
    return f"Mean over {parts.orderings} of the {parts.orderings_possible} orders that can be run, {cells}."


def _order_range(share: Share) -> str:
    """Its range over the orders of the steps, where there is one."""
    low, high = format_factor(share.order_low), format_factor(share.order_high)
    return f" ({order_range_words(share)})" if low != high else ""


def _gate_cell(name: str, judged: Sequence[StoredGate]) -> charts.Gate:
    """A gate over all trials: one that was assessed in none of them has neither passed nor failed."""
    assessed = [gate for gate in judged if gate.passed is False or gate.value is not None]
    values = tuple(gate.value for gate in assessed if gate.value is not None)
    passed = sum(gate.passed is not False for gate in assessed)
    limit = judged[0].limit
    worst = max(values, default=math.nan)
    exact = limit == 0
    off = f"{worst:,.0f} off" if exact else f"{worst:.2%}"
    return charts.Gate(
        name=name,
        worst=off if math.isfinite(worst) else "no value" if assessed else "not assessed",
        limit="limit: none off" if exact else f"limit {limit:.1%}",
        values=values,
        limit_value=limit,
        passed=passed,
        total=len(judged),
        state=_gate_state(passed, len(assessed)),
        unassessed=len(judged) - len(assessed),
    )


def _gate_state(passed: int, assessed: int) -> charts.GateState:
    """A gate that refuses trials has worked: what is wrong is one that leaves none."""
    if not assessed:
        return "unassessed"
    return "refused none" if passed == assessed else "refused some" if passed else "refused all"
