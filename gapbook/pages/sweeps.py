"""Sweeps of one treatment: contention, distance, depth."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence

from gapbook import charts
from gapbook.markup import Html, values_table
from gapbook.method.interval import Interval, format_factor
from gapbook.model.work import REDRAW_BOTH, REDRAW_DESTINATION, AliasTable, hot_share
from gapbook.pages import page
from gapbook.pages.answer import AnswerResults
from gapbook.trial.contestant import Contestant

__all__ = ["SweepResults"]

_CEILING_DRAWN_BELOW = 7.0


class SweepResults(AnswerResults):
    """Lines and tables over the places at which a run was measured."""

    def lines_chart(
        self,
        ways: Mapping[str, Sequence[tuple[float, str]]],
        *,
        x_label: str,
        title: str,
        alpha: float,
        log_x: bool = False,
    ) -> charts.Figure:
        """Goodput of each way at the places where it was measured: pairs of place and contestant.

        Places stand at equal steps when one of them is zero on a logarithmic axis.
        """
        series = []
        for label, places in ways.items():
            points = [point for x, name in places if (point := self._point(x, name, alpha)) is not None]
            known = [c for c in self.scenario.contestants if c.name in {name for _, name in places}]
            if points and known:
                series.append(charts.Line(known[0].system, label, tuple(points)))
        if not series:
            return charts.missing(
                title, "No place of any way has a valid trial in this run.", provenance=self.provenance
            )
        return charts.lines(
            series,
            x_label=x_label,
            x_ticks=sorted({point.x for line in series for point in line.points}),
            x_log=log_x,
            provenance=self.provenance,
            title=title,
            subtitle=f"α = {alpha:g}. What has no valid trial is not drawn.",
        )

    def _point(self, x: float, contestant: str, alpha: float) -> charts.LinePoint | None:
        values = self.values(contestant, alpha)
        goodput = self.goodput(contestant, alpha)
        return None if goodput is None else charts.LinePoint(x, goodput, tuple(values.values()))

    def contention_chart(
        self, contestants: Sequence[Contestant], ceiling_of: Contestant | None = None
    ) -> charts.Figure:
        """Goodput over the Zipf exponent. ``ceiling_of`` adds the bound of a lock on the hottest account,
        held for as long as the contestant's goodput at the highest exponent allows at most."""
        title = self._contention_title(contestants)
        series = [
            charts.Line(contestant.system, f"{contestant.system_label}, {contestant.name}", tuple(points))
            for contestant in contestants
            if (points := [p for a in self.alphas if (p := self._point(a, contestant.name, a)) is not None])
        ]
        if not series:
            return charts.missing(title, "No contestant has a valid trial.", provenance=self.provenance)
        if ceiling_of is not None and (ceiling := self._ceiling(ceiling_of)):
            series.append(ceiling)
        return charts.lines(
            series,
            x_label="Zipf exponent α",
            x_ticks=self.alphas,
            x_log=False,
            provenance=self.provenance,
            title=title,
            subtitle=f"Verified goodput. Durability {self.scenario.durability}.",
        )

    def _ceiling(self, contestant: Contestant) -> charts.Line | None:
        highest, lowest = (self.goodput(contestant.name, a) for a in (self.alphas[-1], self.alphas[0]))
        if highest is None or lowest is None:
            return None
        bound = highest.estimate * self._hot_share(self.alphas[-1])
        points = [
            charts.LinePoint(alpha, Interval(rate, rate, rate, 1))
            for alpha in self.alphas
            if (rate := bound / self._hot_share(alpha)) < _CEILING_DRAWN_BELOW * lowest.estimate
        ]
        return charts.Line("other", "hot-key ceiling", tuple(points), is_ceiling=True)

    def _contention_title(self, contestants: Sequence[Contestant]) -> str:
        parts = []
        for contestant in contestants:
            ends = [self.goodput(contestant.name, alpha) for alpha in (self.alphas[0], self.alphas[-1])]
            if ends[0] is not None and ends[1] is not None:
                parts.append((ends[1].estimate / ends[0].estimate, contestant))
        if not parts:
            return "No contestant was measured at both ends of contention"
        kept, least = max(parts, key=lambda part: part[0]), min(parts, key=lambda part: part[0])
        return (
            f"From α = {self.alphas[0]:g} to {self.alphas[-1]:g}, {least[1].name} does ×{format_factor(least[0])} "
            f"of what it did, {kept[1].name} ×{format_factor(kept[0])}"
        )

    def hot_key_table(self, contestants: Sequence[str]) -> Html:
        """For each exponent: the share of transfers on the hottest account, and the longest that a lock on
        it can be held at the measured goodput."""
        columns = ["α", "touch the hottest account", *(f"{name}: hold at most" for name in contestants)]
        rows: list[list[str | Html]] = []
        for alpha in self.alphas:
            share = self._hot_share(alpha)
            cells = []
            for name in contestants:
                goodput = self.goodput(name, alpha)
                cells.append(f"{1e6 / (share * goodput.estimate):,.0f} µs" if goodput else "no valid trial")
            rows.append([f"{alpha:g}", f"{share:.3%}", *cells])
        return values_table(columns, rows)

    def redraw_table(self) -> Html:
        """What an exponent means by what is drawn again while both accounts are the same: how many transfers
        touch the hottest account, and how many have it as their source, which is Zipf's own share of it
        where the source is kept."""
        kinds = {REDRAW_BOTH: "both drawn again", REDRAW_DESTINATION: "destination drawn again"}
        kinds[self.scenario.workload.redraw] += " (this run)"
        columns = [f"touch the hottest account, {words}" for words in kinds.values()]
        columns += ["hottest is the source, both drawn again", "hottest is the source, Zipf's own"]
        rows: list[list[str | Html]] = []
        for alpha in self.alphas:
            table = AliasTable.zipf_cached(self.scenario.workload.accounts, alpha)
            touching = {redraw: hot_share(table, redraw) for redraw in kinds}
            # Drawn again together, the two accounts are alike: each is the hottest half as often as either.
            shares = (*touching.values(), touching[REDRAW_BOTH] / 2, float(table.probabilities()[0]))
            rows.append([f"{alpha:g}", *(f"{100 * share:.3g} %" for share in shares)])
        return values_table(("α", *columns), rows)

    def answer_contention(self, over: Contestant, under: Contestant, sentence: str) -> page.Answer:
        """``{factor}`` becomes the growth of the ratio from the lowest to the highest exponent, ``{kept_over}``
        and ``{kept_under}`` what each contestant keeps of its rate, ``{over}`` and ``{under}`` their names."""
        low, high = self.alphas[0], self.alphas[-1]
        factor = self.ratio_of_ratios(over.name, under.name, high, low)
        kept = [self.across_alphas(contestant.name, high, low) for contestant in (over, under)]
        if factor is None or kept[0] is None or kept[1] is None:
            return page.answer("Not answered by this run: a needed cell has no valid trial.")
        names = [self.versioned_label(contestant) for contestant in (over, under)]
        texts = {
            "factor": page.estimate(factor.as_factor()).html,
            "kept_over": page.estimate(kept[0].as_percent()).html,
            "kept_under": page.estimate(kept[1].as_percent()).html,
            "over": html.escape(names[0]),
            "under": html.escape(names[1]),
        }
        text = html.escape(sentence)
        for name, told in texts.items():
            text = text.replace(f"{{{name}}}", told)
        span = f"α = {high:g} against α = {low:g}"
        cited = [
            page.Cited(f"{names[0]} ÷ {names[1]}, growth of the ratio, {span}", factor.as_factor(), factor.n),
            *(
                page.Cited(f"{name}, goodput kept, {span}", part.as_percent(), part.n)
                for name, part in zip(names, kept, strict=True)
                if part is not None
            ),
        ]
        return self.read_with(Html(text), [(over, under)], cited)

    def depth_chart(self, *groups: Sequence[Contestant]) -> charts.Figure:
        """Goodput over the requests in flight: each group is one system at several depths."""
        alpha = self.alphas[0]
        best = [(group[0].system_label, self._best(group, alpha)) for group in groups]
        parts = [f"{label} with {c.in_flight} in flight" for label, c in best if c is not None]
        return self.lines_chart(
            {group[0].system_label: [(c.in_flight, c.name) for c in group] for group in groups},
            x_label="in flight a connection",
            title=f"Highest goodput: {', '.join(parts)}"
            if parts
            else "No depth has a valid trial in this run",
            alpha=alpha,
            log_x=True,
        )

    def best_table(self, over: Sequence[Contestant], under: Sequence[Contestant]) -> Html:
        """The ratio of two systems, each at the depth at which its own goodput was highest."""
        rows: list[list[str | Html]] = []
        for alpha in self.alphas:
            best = [self._best(group, alpha) for group in (over, under)]
            if best[0] is None or best[1] is None:
                rows.append([f"{alpha:g}", "no valid trial", "no valid trial", "–"])
                continue
            ratio = self.ratio(best[0].name, best[1].name, alpha)
            described = [
                f"{c.in_flight} in flight: {goodput.as_count()}/s"
                for c in best
                if c is not None and (goodput := self.goodput(c.name, alpha)) is not None
            ]
            rows.append([f"{alpha:g}", *described, ratio.as_factor() if ratio else "no block holds both"])
        return values_table(
            ("α", over[0].system_label, under[0].system_label, "ratio, each at its best"), rows
        )

    def _best(self, group: Sequence[Contestant], alpha: float) -> Contestant | None:
        known = [(g.estimate, c) for c in group if (g := self.goodput(c.name, alpha)) is not None]
        return max(known, key=lambda pair: pair[0])[1] if known else None
