"""The factor lattice: shares, effects in every state, interactions, what a core is worth."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence

from gapbook import charts
from gapbook.markup import Html, values_table
from gapbook.method.effects import Effect, effect_of, interactions, screen
from gapbook.method.estimate import Contrast
from gapbook.method.factors import Decomposition, Factor, Share
from gapbook.method.holm import holm
from gapbook.method.interval import format_factor
from gapbook.method.source import Worth
from gapbook.pages import page
from gapbook.pages.answer import AnswerResults
from gapbook.pages.words import factor_cell
from gapbook.record.metric import GOODPUT

__all__ = ["FactorResults", "order_range_words"]

_SHOWN_INTERACTIONS = 8


class FactorResults(AnswerResults):
    """What differs, by how much, and in which state of the rest."""

    def answer_factors(self, factors: Sequence[Factor], sentence: str) -> page.Answer:
        """``{whole}`` and ``{residual}`` become the gap and the share of the residual at both ends of the treatment,
        ``{over}`` and ``{under}`` the two ends of the gap.

        A residual is never told without its range over orders: it may hold one where the interval does not.
        """
        whole, residual, cited = [], [], []
        place = Html("{} at {}")
        start, end = self.ends_of(factors)
        for treatment in self.ends:
            parts = self.decompose(factors, treatment)
            if parts is None or start is None or end is None:
                return page.answer(
                    f"Not answered by this run: a cell on every path has no valid trial at {self.at(treatment)}."
                )
            names = f"{end.full_label} ÷ {start.full_label}"
            whole.append(place.format(page.estimate(parts.gap.as_times()), self.at(treatment)))
            told = Worth(tuple(factors), treatment)
            cited.append(self.cited_contrast(f"{names}, whole gap", parts.whole, told))
            for share in parts.shares:
                if share.factor.family == "residual":
                    ordered = order_range_words(share)
                    residual.append(
                        place.format(
                            page.estimate(share.multiplier.as_factor()), f"{self.at(treatment)} ({ordered})"
                        )
                    )
                    quantity = f"{names}, engine residual ({ordered})"
                    told = Worth(tuple(factors), treatment, share.factor.name)
                    cited.append(self.cited_contrast(quantity, share.contrast, told))
        text = Html.escape(sentence)
        for name, values in (("whole", whole), ("residual", residual)):
            text = text.replace(f"{{{name}}}", Html(" and ").join(values))
        for name, contestant in (("over", end), ("under", start)):
            if contestant is not None:
                text = text.replace(f"{{{name}}}", self.versioned_label(contestant))
        ends = [one for one in (end, start) if one is not None]
        return self.read_with(text, [ends], cited)

    def cited_contrast(self, quantity: str, contrast: Contrast, source: Worth) -> page.Cited:
        """A contrast of a decomposition as it is cited, over sessions too."""
        over_sessions = self.over_sessions(contrast.factor_by_block, contrast.degrees_of_freedom)
        return self.cited(quantity, source.treatment, contrast.interval, over_sessions, source=source)

    def factors_table(self, factors: Sequence[Factor], metric: str = GOODPUT.name) -> Html:
        """Each factor's share at each value of the treatment, the gap they multiply to, and the range over orders."""
        columns = ["factor", "from → to"]
        for treatment in self.treatments:
            columns += [self.at(treatment), "range over orders"]
        found = {value: self.decompose(factors, value, metric=metric) for value in self.treatments}
        rows: list[list[str | Html]] = []
        for index, factor in enumerate(factors):
            row: list[str | Html] = [factor.name, f"{factor.before} → {factor.after}"]
            for parts in found.values():
                row += _share_cells(parts, index)
            rows.append(row)
        whole: list[str | Html] = ["whole gap", "all of them"]
        for parts in found.values():
            whole += [
                f"{parts.gap.as_factor()}, n = {parts.gap.n} blocks" if parts else "not closed",
                "–",
            ]
        return values_table(columns, [*rows, whole])

    def interaction_chart(
        self, factors: Sequence[Factor], treatment: float, metric: str = GOODPUT.name
    ) -> charts.Figure:
        """What each factor does to a metric in every state of the others in which both its levels were measured."""
        parts = self.decompose(factors, treatment, metric=metric)
        if parts is None:
            return charts.missing(
                f"Interactions at {self.at(treatment)}",
                "No path was measured whole.",
                provenance=self.provenance,
            )
        rows = []
        for share in parts.shares:
            effect = self._effect(factors, share.factor, treatment, metric)
            rows.append(
                charts.FactorStates(
                    share.factor.name,
                    f"{share.factor.before} → {share.factor.after}",
                    share.factor.family,
                    share.multiplier,
                    tuple((_words(state), value) for state, value in effect.states),
                )
            )
        # Of states that lie on no order, such as those of another client, the gap holds none.
        widest = max(parts.shares, key=lambda share: math.log(share.order_high / share.order_low))
        title = f"{widest.factor.name} is worth {_order_range(widest)} at {self.at(treatment)}, depending on the rest"
        return charts.interaction(
            rows,
            provenance=self.provenance,
            title=title,
            subtitle="Each dot is one combination of the other choices, measured with and without this one.",
            metric=self.metric(metric),
        )

    def effects_table(self, factors: Sequence[Factor]) -> Html:
        """Each factor's mean over all states, and whether it may be left out of a larger experiment."""
        rows: list[list[str | Html]] = []
        for treatment in self.treatments:
            for factor in factors:
                effect = self._effect(factors, factor, treatment)
                rows.append(
                    [
                        f"{factor.name}, {self.at(treatment)}",
                        effect.mean.as_factor() if effect.mean else "no state has both levels",
                        f"{len(effect.states)} of {effect.states_possible}",
                        screen(effect),
                    ]
                )
        columns = (
            "factor",
            "mean over combinations of the others",
            "combinations measured",
            "does it matter?",
        )
        return values_table(columns, rows)

    def interactions_table(self, factors: Sequence[Factor]) -> Html:
        """Pairs of factors whose product is not what they are worth apart: the largest, at each value of the treatment.

        The p values are adjusted for all pairs at all values, for the table shows them together.
        """
        rows: list[list[str | Html]] = []
        changes = {factor.name: (factor.dimension, factor.before, factor.after) for factor in factors}
        found = {
            treatment: interactions(self._lattice(factors, treatment), _dimensions(factors), changes)
            for treatment in self.treatments
        }
        adjusted = iter(holm([pair.p for pairs in found.values() for pair in pairs]))
        for treatment, pairs in found.items():
            told = [(pair, next(adjusted)) for pair in pairs]
            rows += [
                [
                    f"{pair.first} × {pair.second}, {self.at(treatment)}",
                    pair.ratio.as_factor(),
                    str(pair.states),
                    _from_to(pair.by_state),
                    f"{p:.2g}" if math.isfinite(p) else "one block",
                ]
                for pair, p in told[:_SHOWN_INTERACTIONS]
            ]
        if not rows:
            return page.banner("note", "No pair of factors was measured at all four of its corners.")
        columns = ("pair", "together ÷ apart", "combinations", "in each", "p, adjusted (Holm)")
        return values_table(columns, rows)

    def residual_by_cores_table(self, pairs: Sequence[tuple[str, str]]) -> Html:
        """The ratio of each pair of contestants beside the processor time that both servers really took.

        Cores are medians over valid trials of server CPU seconds by window seconds. What a server may use
        says little: allowed the same, the two take different amounts.
        """
        rows: list[list[str | Html]] = []
        for treatment in self.treatments:
            for over, under in pairs:
                ratio = self.ratio(over, under, treatment)
                rows.append(
                    [
                        f"{over} ÷ {under}, {self.at(treatment)}",
                        self._server_cores(over, treatment),
                        self._server_cores(under, treatment),
                        factor_cell(ratio),
                    ]
                )
        columns = ("pair", "cores used, first", "cores used, second", "first ÷ second")
        return values_table(columns, rows)

    def _server_cores(self, name: str, treatment: float) -> str:
        used = [
            row["server_cpu_s"] / (row["window_s"] or self.scenario.window_s)
            for row in self.valid_rows(name, treatment)
            if row["server_cpu_s"] is not None
        ]
        return f"{statistics.median(used):.2f}" if used else "not readable"

    def _lattice(
        self, factors: Sequence[Factor], treatment: float, metric: str = GOODPUT.name
    ) -> dict[tuple[str, ...], dict[int, float]]:
        cells = self.cells(_dimensions(factors), treatment, self.end(factors, "before"), metric)
        return {cell: values for cell, values in cells.items() if values}

    def _effect(
        self, factors: Sequence[Factor], factor: Factor, treatment: float, metric: str = GOODPUT.name
    ) -> Effect:
        lattice = self._lattice(factors, treatment, metric)
        return effect_of(lattice, _dimensions(factors), factor.dimension, factor.before, factor.after)


def _from_to(values: Sequence[float]) -> str:
    """``×0.011 to ×5.25``; one value alone."""
    return " to ".join(dict.fromkeys(f"×{format_factor(pick(values))}" for pick in (min, max)))


def _dimensions(factors: Sequence[Factor]) -> list[str]:
    return list(dict.fromkeys(factor.dimension for factor in factors))


def order_range_words(share: Share) -> str:
    """``×0.85 to ×2.22 over orders of the steps``: what a choice of order could have made of a factor."""
    return f"{_order_range(share)} over orders of the steps"


def _order_range(share: Share) -> str:
    return f"×{format_factor(share.order_low)} to ×{format_factor(share.order_high)}"


def _share_cells(parts: Decomposition | None, index: int) -> list[str]:
    if parts is None:
        return ["not closed", "–"]
    share = parts.shares[index]
    return [
        share.multiplier.as_factor(),
        _order_range(share),
    ]


def _words(state: Mapping[str, str]) -> str:
    return " · ".join(f"{dimension} {level}" for dimension, level in state.items())
