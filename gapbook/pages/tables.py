"""Tables that every chapter has: rates, retries, kills, refused trials, what each server said of itself."""

from __future__ import annotations

import json
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence

import polars as pl

from gapbook.claims.claim import claim
from gapbook.claims.rules import VERDICT_BAND_FRAC
from gapbook.markup import Html, values_table
from gapbook.method.interval import format_count, format_factor
from gapbook.pages import page
from gapbook.pages.kills import KILL_COLUMNS, kill_caption, kill_table
from gapbook.pages.provenance import FindingsWithProvenance
from gapbook.pages.words import JAMS, factor_cell, operation_of, rate_cell
from gapbook.record.describe import TIER_SETTING

__all__ = ["TableResults"]


class TableResults(FindingsWithProvenance):
    """The findings of a run in rows and columns."""

    def ladder_table(self, rungs: Sequence[tuple[str, str, str, Mapping[tuple[str, float], str]]]) -> Html:
        """Each rung as a ratio of two contestants: as published, as measured, and whether our interval
        lies inside the band round the published value. Where nothing was published, ours alone."""
        rows: list[list[str | Html]] = []
        for name, over, under, published in rungs:
            for treatment in self.treatments_of(over, under):
                stuck = any(self.jams(name, treatment) for name in (over, under))
                ours = None if stuck else self.ratio(over, under, treatment)
                theirs = _published_ratio(published, over, under, treatment)
                rows.append(
                    [
                        f"{name}, {self.at(treatment)}",
                        JAMS if stuck else factor_cell(ours),
                        f"×{format_factor(theirs)}" if theirs else "–",
                        ours.against(theirs * (1 - VERDICT_BAND_FRAC), theirs * (1 + VERDICT_BAND_FRAC))
                        if theirs and ours and ours.bounded
                        else "–",
                    ]
                )
        columns = ("comparison", "measured here", "published", f"against published ±{VERDICT_BAND_FRAC:.0%}")
        shown = len(columns) if any(published for _, _, _, published in rungs) else 2
        return values_table(columns[:shown], [row[:shown] for row in rows])

    def goodput_table(self, *contestants: str, labels: Mapping[str, str] | None = None) -> Html:
        """Goodput of contestants at each value of the treatment, and what ended in the window, both as geometric means
        over trials, with median and tail of their latency.

        ``labels`` are what rows are called by the names of their contestants; without one a row has the name.
        """
        called = labels or {}
        rows: list[list[str | Html]] = []
        for name in contestants:
            for treatment in self.treatments_of(name):
                goodput = self.goodput(name, treatment)
                waits = [self.trial_values(name, treatment, percentile) for percentile in ("p50", "p99")]
                ended = [
                    row["completed_in_window"] / (row["window_s"] or self.scenario.window_s)
                    for row in self.valid_rows(name, treatment)
                ]
                rows.append(
                    [
                        f"{called.get(name, name)}, {self.at(treatment)}",
                        rate_cell(goodput),
                        f"{format_count(statistics.geometric_mean(ended))}/s"
                        if ended and min(ended) > 0
                        else "–",
                        *(f"{statistics.median(wait):,.1f} ms" if wait else "–" for wait in waits),
                    ]
                )
        return values_table(
            ("contestant", "goodput", "ended in the window", "median latency", "p99 latency"), rows
        )

    def retries_table(self) -> Html:
        """How often operations were refused for a collision and sent again, where any were."""
        operation = operation_of(self.scenario.workload)
        rows: list[list[str | Html]] = []
        for contestant in self.scenario.contestants:
            for treatment in self.treatments:
                seen = self.valid_rows(contestant.name, treatment)
                again = sum(row["retried"] for row in seen)
                if again:
                    for_each = again / sum(row["acknowledged"] for row in seen)
                    rows.append([contestant.name, f"{treatment:g}", f"{again:,}", f"{for_each:.3f}"])
        if not rows:
            return page.banner("note", f"No {operation} of this run had to be sent again.")
        return values_table(
            ("contestant", self.scenario.treatment.label, "sent again", f"for each {operation}"),
            rows,
            caption="Counted over the whole load, with what was answered after the window had ended.",
        )

    def kill_table(self, labels: Mapping[str, str] | None = None) -> Html:
        """What was gone of each contestant's acknowledged operations after its server was killed.

        ``labels`` are what rows are called by the names of their contestants; one without has its full label, and
        its name where others have that label too.
        """
        rows = self.run.manifest.kill_checks
        if not rows:
            return page.banner(
                "note", "This run killed no server: what its durability class is worth is not measured here."
            )
        called = _one_label_each({one.name: one.full_label for one in self.scenario.contestants})
        called |= labels or {}
        caption = kill_caption(rows, of_bank=bool(self.scenario.workload.accounts))
        return values_table(KILL_COLUMNS, kill_table(rows, called), caption=caption)

    def infeasible_table(self, infeasible: Sequence[tuple[str, str]]) -> Html:
        """Combinations of levels that nobody can run, each with the reason."""
        return values_table(("combination", "why it cannot be run"), [list(row) for row in infeasible])

    def catch_up_table(self) -> Html:
        """How long each server worked on after the last acknowledgement, over all valid trials."""
        rows: list[list[str | Html]] = []
        for contestant in self.scenario.contestants:
            seen = [row for a in self.treatments for row in self.valid_rows(contestant.name, a)]
            if seen:
                seconds, cpu_s = [row["catch_up_s"] for row in seen], [row["catch_up_cpu_s"] for row in seen]
                rows.append(
                    [
                        contestant.full_label,
                        f"{min(seconds):.1f} to {max(seconds):.1f} s",
                        f"{min(cpu_s):.1f} to {max(cpu_s):.1f} s",
                    ]
                )
        return values_table(("contestant", "until idle", "processor time until then"), rows)

    def refused_table(self) -> Html:
        return page.refused_table(self.refused)

    def systems_table(self) -> Html:
        """Version, binary and settings of each server and of each server in between, as they said them, and who could not
        be measured."""
        rows: list[tuple[str, str, str]] = []
        for name, system in self.run.manifest.systems.items():
            rows.append((name, "version", system.version))
            if system.built:
                rows.append((name, "how it was built", system.built))
            rows.append((name, "sha256 of the binary", system.sha256[:16] or "not readable"))
            if system.container:
                rows.append((name, "where it ran", system.backend))
                rows += [(name, key, value) for key, value in system.container.items()]
            rows += [(name, key, value) for key, value in system.settings.items()]
        rows += self._tier_rows()
        rows += [(name, "not measured here", reason) for name, reason in self.absent.items()]
        return page.settings_table(("server", "setting", "read back"), rows)

    def _tier_rows(self) -> list[tuple[str, str, str]]:
        """What the servers between client and database said of themselves, an engine inside them included; several values
        where contestants differ."""
        said: dict[tuple[str, str], dict[str, None]] = {}
        for contestant in self.scenario.contestants:
            name = f"in front of {contestant.system_label}: {contestant.tier}"
            for row in self.run.trials.filter(pl.col("contestant") == contestant.name).iter_rows(named=True):
                for key, value in json.loads(row["settings"] or "{}").items():
                    if key.startswith(TIER_SETTING):
                        said.setdefault((name, key.removeprefix(TIER_SETTING)), {})[str(value)] = None
        return [(name, setting, " or ".join(values)) for (name, setting), values in sorted(said.items())]


def _published_ratio(
    published: Mapping[tuple[str, float], str], over: str, under: str, treatment: float
) -> float | None:
    ids = published.get((over, treatment)), published.get((under, treatment))
    return claim(ids[0]).value / claim(ids[1]).value if ids[0] and ids[1] else None


def _one_label_each(labels: Mapping[str, str]) -> dict[str, str]:
    """Labels by name; where several share one, with the name behind it."""
    shared = Counter(labels.values())
    return {name: label if shared[label] == 1 else f"{label}, {name}" for name, label in labels.items()}
