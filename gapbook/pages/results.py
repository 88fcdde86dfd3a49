"""The results of a run: its findings as charts, panels and sentences of a page."""

from __future__ import annotations

import json
import math
import statistics
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from gapbook import charts
from gapbook.claims.claim import Claim, claim
from gapbook.claims.rules import VERDICT_BAND_FRAC
from gapbook.markup import Html, values_table
from gapbook.method.factors import Decomposition, Factor
from gapbook.method.interval import Interval, format_count, format_factor
from gapbook.method.warmth import RISE_FRAC
from gapbook.pages import page
from gapbook.pages.calibration import CalibrationResults
from gapbook.pages.factors import FactorResults, order_range_words
from gapbook.pages.flaws import FlawResults
from gapbook.pages.kills import KILL_COLUMNS, kill_caption, kill_table
from gapbook.pages.rerun import RerunResults
from gapbook.pages.sessions import SessionResults
from gapbook.pages.sweeps import SweepResults
from gapbook.pages.warmth import WarmthResults
from gapbook.paths import CHECKOUT
from gapbook.record.run import Run
from gapbook.trial.scenario import Contestant

__all__ = ["Results"]

_REASON_CHARACTERS = 120


class Results(
    CalibrationResults,
    FlawResults,
    FactorResults,
    SweepResults,
    RerunResults,
    SessionResults,
    WarmthResults,
):
    """What a notebook displays. Every number in it is computed from the run's record."""

    def __init__(self, run: Run, chapter: str, stated: Mapping[str, Any] | None = None) -> None:
        super().__init__(run, chapter, stated)
        self._glued: set[str] = set()

    # --- first screen -------------------------------------------------------------------------
    def first_screen(
        self,
        *,
        claim_line: Html,
        answer: page.Answer,
        picture: charts.Figure,
    ) -> Html:
        """What a reader sees first: claim, answer, the one chart, buttons, provenance, how to cite the numbers
        of the answer, and how to repeat them.

        The chart is also written as files for the buttons.
        """
        self.export_picture(picture)
        parts = [
            self.banner() or Html(""),
            claim_line,
            answer,
            Html(picture.html),
            self.buttons(),
            self.provenance_line(),
            self.cite_panel(answer),
            self.rerun_panel(),
        ]
        return Html("\n".join(part.html for part in parts))

    def banner(self) -> Html | None:
        """Says that a page is the reader's own run; nothing for a published one."""
        if self.run.published:
            return None
        return page.banner(
            "own-run", f"This page shows run {self.run.run_id}, measured here, not the published run."
        )

    def buttons(self) -> Html:
        folder = f"../_static/runs/{self.run.run_id}"
        return page.download_buttons(
            [
                page.Download("Cite this number", "#cite", primary=True),
                page.Download("Re-run this", "#rerun"),
                page.Download("Data", f"{folder}/trials.parquet"),
                page.Download("Latencies", f"{folder}/histograms.parquet"),
                page.Download("Manifest", f"{folder}/manifest.json"),
                page.Download("PNG", f"{folder}/{_PICTURE}.png"),
                page.Download("SVG", f"{folder}/{_PICTURE}.svg"),
            ]
        )

    def export_picture(self, figure: charts.Figure) -> None:
        """Write the page's picture as files, for its download buttons and for use elsewhere."""
        folder = pictures_folder(self.run.run_id)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{_PICTURE}.svg").write_text(figure.svg())
        (folder / f"{_PICTURE}.png").write_bytes(figure.png())

    def provenance_line(self) -> Html:
        return page.provenance_line(self.provenance_parts())

    # --- tables -------------------------------------------------------------------------------
    def ladder_table(self, rungs: Sequence[tuple[str, str, str, Mapping[tuple[str, float], str]]]) -> Html:
        """Each rung as a ratio of two contestants: as published, as measured, and whether our interval
        lies inside the band round the published value. Where nothing was published, ours alone."""
        rows: list[list[str | Html]] = []
        for name, over, under, published in rungs:
            for alpha in self.alphas:
                ours = self.ratio(over, under, alpha)
                theirs = _published_ratio(published, over, under, alpha)
                rows.append(
                    [
                        f"{name}, α = {alpha:g}",
                        ours.as_factor() if ours else "no valid trial",
                        f"×{format_factor(theirs)}" if theirs else "–",
                        ours.against(theirs * (1 - VERDICT_BAND_FRAC), theirs * (1 + VERDICT_BAND_FRAC))
                        if theirs and ours and ours.bounded
                        else "–",
                    ]
                )
        columns = ("rung", "ours", "published", f"published ±{VERDICT_BAND_FRAC:.0%}")
        shown = len(columns) if any(published for _, _, _, published in rungs) else 2
        return values_table(columns[:shown], [row[:shown] for row in rows])

    def goodput_table(self, *contestants: str) -> Html:
        """Goodput of contestants at each alpha, with median and tail of their latency."""
        rows: list[list[str | Html]] = []
        for name in contestants:
            for alpha in self.alphas:
                goodput = self.goodput(name, alpha)
                waits = [
                    {point["percentile"]: point["latency_ms"] for point in json.loads(row["latency_ms"])}
                    for row in self.rows(name, alpha)
                    if row["valid"]
                ]
                ended = [
                    row["completed_in_window"] / self.scenario.window_s
                    for row in self.rows(name, alpha)
                    if row["valid"]
                ]
                rows.append(
                    [
                        f"{name}, α = {alpha:g}",
                        f"{goodput.as_count()}/s" if goodput else "no valid trial",
                        f"{statistics.median(ended):,.0f}/s" if ended else "–",
                        f"{statistics.median(w[50.0] for w in waits):,.1f} ms" if waits else "–",
                        f"{statistics.median(w[99.0] for w in waits):,.1f} ms" if waits else "–",
                    ]
                )
        return values_table(
            ("contestant", "goodput", "ended in the window", "median latency", "p99 latency"), rows
        )

    def retries_table(self) -> Html:
        """How often transfers were refused for a collision and sent again, where any were."""
        rows: list[list[str | Html]] = []
        for contestant in self.scenario.contestants:
            for alpha in self.alphas:
                seen = [row for row in self.rows(contestant.name, alpha) if row["valid"]]
                again = sum(row["retried"] for row in seen)
                if again:
                    per_transfer = again / sum(row["acknowledged"] for row in seen)
                    rows.append([contestant.name, f"{alpha:g}", f"{again:,}", f"{per_transfer:.3f}"])
        if not rows:
            return page.banner("note", "No transfer of this run had to be sent again.")
        return values_table(("contestant", "α", "sent again", "for each transfer"), rows)

    def kill_table(self) -> Html:
        """What was gone of each contestant's acknowledged transfers after its server was killed."""
        rows = self.run.manifest.get("kill_checks", [])
        if not rows:
            return page.banner(
                "note", "This run killed no server: what its durability class is worth is not measured here."
            )
        labels = {contestant.name: _name(contestant) for contestant in self.scenario.contestants}
        return values_table(KILL_COLUMNS, kill_table(rows, labels), caption=kill_caption(rows))

    def infeasible_table(self, infeasible: Sequence[tuple[str, str]]) -> Html:
        """Combinations of levels that nobody can run, each with the reason."""
        return values_table(("cell", "why it cannot be run"), [list(row) for row in infeasible])

    def catch_up_table(self) -> Html:
        """How long each server worked on after the last acknowledgement, over all valid trials."""
        rows: list[list[str | Html]] = []
        for contestant in self.scenario.contestants:
            seen = [row for a in self.alphas for row in self.rows(contestant.name, a) if row["valid"]]
            if seen:
                seconds, cpu_s = [row["catch_up_s"] for row in seen], [row["catch_up_cpu_s"] for row in seen]
                rows.append(
                    [
                        _name(contestant),
                        f"{min(seconds):.1f} to {max(seconds):.1f} s",
                        f"{min(cpu_s):.1f} to {max(cpu_s):.1f} s",
                    ]
                )
        return values_table(("contestant", "until idle", "processor time"), rows)

    def refused_table(self) -> Html:
        return page.refused_table(self.refused)

    def systems_table(self) -> Html:
        """Version, binary and settings of each server, as it said them, and who could not be measured."""
        rows: list[tuple[str, str, str]] = []
        for name, system in self.run.manifest["systems"].items():
            rows.append((name, "version", system["version"]))
            if system.get("built"):
                rows.append((name, "how it was built", system["built"]))
            rows.append((name, "sha256 of the binary", system["sha256"][:16] or "not readable"))
            rows += [(name, key, value) for key, value in system["settings"].items()]
        rows += [(name, "not measured here", reason) for name, reason in self.absent.items()]
        return page.settings_table(("server", "setting", "read back"), rows)

    def edge_loss(self) -> str:
        """The most that the goodput rule leaves out: requests that straddle the window's edges."""
        valid = self.run.trials.filter(pl.col("valid"))
        if valid.is_empty():
            return "unknown, for no trial is valid"
        lost = 1 - valid["goodput_per_s"] * self.scenario.window_s / valid["completed_in_window"]
        return f"{float(lost.max() or 0):.1%}"  # type: ignore[arg-type]

    def glue(self, **more: str | Claim) -> None:
        """Make the facts of the run available to the prose."""
        # Imported here: it takes seconds that command line and tests need not wait for.
        from myst_nb import glue  # noqa: PLC0415

        facts: dict[str, str] = {
            **self.glue_values(),
            "audited": self.audited(),
            "uncounted": self.uncounted(),
            "edge_loss": self.edge_loss(),
            "rise_limit": f"{RISE_FRAC:.0%}",
            **self._noise_values(),
        }
        for key, value in more.items():
            facts[key] = f"{value.value:,.0f}" if isinstance(value, Claim) else value
        # A key that is glued twice on one page is an error of the renderer.
        for key, text in facts.items():
            if key not in self._glued:
                glue(key, text, display=False)
                self._glued.add(key)

    def _noise_values(self) -> dict[str, str]:
        noise = self.trial_noise()
        spread, explained = (f"{noise[0]:.0%}", f"{noise[1]:.0%}") if noise else ("unknown", "unknown")
        return {"trial_spread": spread, "spread_explained": explained}

    # --- charts -------------------------------------------------------------------------------
    def contestants_chart(self, published: Mapping[tuple[str, float], str]) -> charts.Figure:
        """Goodput of every contestant, one panel an alpha; ``published`` maps cells to claim ids."""
        rows = [
            charts.Contestant(
                system=contestant.system,
                label=contestant.system_label,
                detail=contestant.detail_label,
                cells=tuple(
                    self._chart_cell(contestant.name, alpha, published.get((contestant.name, alpha)))
                    for alpha in self.alphas
                ),
            )
            for contestant in self.scenario.contestants
        ]
        return charts.contestants(
            rows,
            facets=[f"α = {alpha:g}" for alpha in self.alphas],
            provenance=self.provenance,
            title=self._contestants_title(),
            subtitle="Verified goodput: acknowledged in the window, reconciled with every balance. "
            f"Durability {self.scenario.durability}.",
        )

    def _contestants_title(self) -> str:
        """Who is fastest at each end of contention; a simulated server is nobody, nor is a known defect."""
        parts = []
        for alpha in dict.fromkeys((self.alphas[0], self.alphas[-1])):
            known = [
                (value, c)
                for c in self.scenario.contestants
                if c.is_sound
                and not c.stack.facts.get("simulated")
                and (value := self.goodput(c.name, alpha))
            ]
            if known:
                value, best = max(known, key=lambda pair: pair[0].estimate)
                name = f"{self.versioned_label(best)}, {best.detail_label}"
                parts.append(f"at α = {alpha:g} {name}, {format_count(value.estimate)}/s")
        return f"Fastest: {'; '.join(parts)}" if parts else "No contestant without a defect has a valid trial"

    def _chart_cell(self, contestant: str, alpha: float, claim_id: str | None) -> charts.Cell:
        rows = self.rows(contestant, alpha)
        trials = tuple(
            charts.Trial(row["goodput_per_s"] or math.nan, row["refused_because"] or "")
            for row in rows
            if row["goodput_per_s"]
        )
        goodput = self.goodput(contestant, alpha)
        flags = set(self.labels(contestant, alpha))
        if self.warmth(contestant).reading == "still rising":
            flags.add("still warming up")
        reason = min((row["refused_because"] for row in rows if not row["valid"]), default="not run")
        return charts.Cell(
            goodput=goodput,
            trials=trials,
            published=claim(claim_id).value if claim_id else None,
            flags=tuple(sorted(flags)),
            missing="" if goodput else textwrap.shorten(reason, _REASON_CHARACTERS, placeholder=" …"),
        )

    def waterfall(self, factors: Sequence[Factor], alpha: float) -> charts.Figure:
        """The gap in steps that multiply to it, from all ``before`` to all ``after``."""
        parts = self.decompose(factors, alpha)
        start, end = self.end(factors, "before"), self.end(factors, "after")
        if parts is None or start is None or end is None:
            return charts.missing(
                f"The gap at α = {alpha:g} cannot be taken apart by this run",
                "A cell on every path between the two ends has no valid trial in this run, "
                "so that no factor can be given.",
                provenance=self.provenance,
            )
        steps = [
            charts.Step(
                name=share.factor.name,
                detail=f"{share.factor.before} → {share.factor.after}",
                family=share.factor.family,
                factor=share.multiplier,
                order_range=(share.order_low, share.order_high),
                blocks=tuple(share.by_block.values()),
            )
            for share in parts.shares
        ]
        return charts.waterfall(
            self._endpoint(start, alpha, parts.start),
            steps,
            self._endpoint(end, alpha, parts.end),
            provenance=self.provenance,
            title=_waterfall_title(parts, alpha),
            subtitle=f"{parts.gap.as_factor()}. Mean over {parts.orderings} of {parts.orderings_possible} orders "
            f"that can be run, {parts.cells_measured} of {parts.cells_possible} cells measured. "
            + self._two_fits(parts, start, end, alpha)
            + self._without_client_bound(factors, alpha),
            total=parts.gap,
        )

    def _without_client_bound(self, factors: Sequence[Factor], alpha: float) -> str:
        """What the factors are without cells that their client limits; empty where there is none."""
        bound = self.client_bound_between(factors, alpha)
        if not bound:
            return ""
        parts = self.decompose(factors, alpha, without=bound)
        if parts is None:
            return f" No order is left without {', '.join(bound)}, which the client limits."
        told = ", ".join(f"{one.factor.name} {one.multiplier.as_factor()}" for one in parts.shares)
        return f" Without {', '.join(bound)}, which the client limits: {told}."

    def _two_fits(self, parts: Decomposition, start: Contestant, end: Contestant, alpha: float) -> str:
        """Says why the whole gap is not the ratio that tables give for the same pair, where they differ."""
        paired = self.ratio(end.name, start.name, alpha)
        if paired is None or format_factor(paired.estimate) == format_factor(parts.gap.estimate):
            return ""
        return (
            f"Fitted to every valid trial; the {paired.n} blocks that hold both ends alone give "
            f"{paired.as_factor()}."
        )

    def _endpoint(self, contestant: Contestant, alpha: float, goodput: Interval) -> charts.Endpoint:
        return charts.Endpoint(
            system=contestant.system,
            label=contestant.system_label,
            detail=contestant.detail_label,
            goodput=goodput,
            blocks=tuple(self.values(contestant.name, alpha).values()),
        )

    def latency_chart(self, alpha: float, contestants: Sequence[Contestant] = ()) -> charts.Figure:
        """Latency at percentiles of these contestants (all, when none is named) at one alpha, each trial a line."""
        title = f"Latency at α = {alpha:g}"
        series, medians = [], []
        for contestant in contestants or self.scenario.contestants:
            trials = [
                charts.LatencyTrial(
                    tuple(point["percentile"] for point in points),
                    tuple(point["latency_ms"] for point in points),
                    tuple(point["operations_above"] for point in points),
                )
                for row in self.rows(contestant.name, alpha)
                if row["valid"]
                for points in [json.loads(row["latency_ms"])]
            ]
            if trials:
                middles = [dict(zip(one.percentiles, one.latency_ms, strict=True)) for one in trials]
                name = f"{contestant.system_label}, {contestant.detail_label}"
                medians.append((statistics.median(middle[50.0] for middle in middles), name))
                series.append(
                    charts.LatencySeries(
                        contestant.system, contestant.system_label, contestant.detail_label, tuple(trials)
                    )
                )
        if not any(max(trial.counts_above) >= 100 for one in series for trial in one.trials):
            return charts.missing(
                f"{title}: not told by this run",
                "No trial has enough operations for a percentile.",
                provenance=self.provenance,
            )
        (least, quick), (most, slow) = min(medians), max(medians)
        if quick != slow:
            title += f": median {least:,.1f} ms ({quick}) to {most:,.1f} ms ({slow})"
        return charts.latency(
            series,
            provenance=self.provenance,
            title=title,
            subtitle="Service time of requests acknowledged in the window; closed loop.",
        )

    def gates_chart(self) -> charts.Figure:
        """Every gate over all trials of the run: the worst trial against the limit."""
        judged: dict[str, list[dict[str, Any]]] = {}
        for text in self.run.trials["gates"].to_list():
            for gate in json.loads(text):
                judged.setdefault(gate["name"], []).append(gate)
        cells = [_gate_cell(name, gates) for name, gates in judged.items()]
        total, valid = self.run.trials.height, int(self.run.trials["valid"].sum())
        title = f"{valid} of {total} trials failed no gate"
        if unassessed := [cell.name for cell in cells if cell.unassessed]:
            title += f"; not assessed in all of them: {', '.join(unassessed)}"
        if not cells:
            return charts.missing(title, "No trial came as far as its gates.", provenance=self.provenance)
        return charts.gates(
            cells,
            provenance=self.provenance,
            title=title,
            subtitle="Number: the worst trial. Dots: all trials. Tick: the limit, fixed before the run.",
        )


_PICTURE = "gap"


def pictures_folder(run_id: str) -> Path:
    """Where the pictures of a run are exported to."""
    return CHECKOUT / "build" / "pictures" / run_id


def _waterfall_title(parts: Decomposition, alpha: float) -> str:
    """The whole gap, the largest named factor, and the residual with its range over orders."""
    named = [share for share in parts.shares if share.factor.family != "residual"]
    residual = [share for share in parts.shares if share.factor.family == "residual"]
    largest = max(named, key=lambda share: abs(math.log(share.multiplier.estimate)))
    words = [f"{largest.factor.name} for ×{format_factor(largest.multiplier.estimate)}"]
    words += [
        f"the engines for ×{format_factor(share.multiplier.estimate)} ({order_range_words(share)})"
        for share in residual
    ]
    return f"×{format_factor(parts.gap.estimate)} at α = {alpha:g}: {', '.join(words)}"


def _name(contestant: Contestant) -> str:
    return f"{contestant.system_label} ({contestant.detail_label})"


def _published_ratio(
    published: Mapping[tuple[str, float], str], over: str, under: str, alpha: float
) -> float | None:
    ids = published.get((over, alpha)), published.get((under, alpha))
    return claim(ids[0]).value / claim(ids[1]).value if ids[0] and ids[1] else None


def _gate_cell(name: str, judged: Sequence[Mapping[str, Any]]) -> charts.Gate:
    """A gate over all trials: one that was assessed in none of them has neither passed nor failed."""
    assessed = [gate for gate in judged if gate["passed"] is False or gate["value"] is not None]
    values = tuple(gate["value"] for gate in assessed if gate["value"] is not None)
    passed = sum(gate["passed"] is not False for gate in assessed)
    limit = float(judged[0]["limit"])
    worst = max(values, default=math.nan)
    exact = limit == 0
    off = f"{worst:,.0f} off" if exact else f"{worst:.1%}"
    return charts.Gate(
        name=name,
        worst=off if math.isfinite(worst) else "no value" if assessed else "not assessed",
        limit="limit: none off" if exact else f"limit {limit:.1%}",
        values=values,
        limit_value=limit,
        passed=passed,
        total=len(judged),
        state="unassessed" if not assessed else "passed" if passed == len(assessed) else "failed",
        unassessed=len(judged) - len(assessed),
    )
