"""What a run says: labels, warm-up and factors, all computed from its record."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import product
from typing import Any, Literal, TypeAlias

import polars as pl

from gapbook.method.cells import Cells, Named
from gapbook.method.factors import Decomposition, Factor, Further, decompose, further
from gapbook.method.interval import Interval
from gapbook.method.labels import LabelReading, label_reading
from gapbook.method.noise import TrialNoise, trial_noise
from gapbook.method.warmth import Warmth, warmth_of
from gapbook.record.labels import CLIENT_BOUND, LIMIT_FRAC
from gapbook.record.metric import GOODPUT
from gapbook.record.older import has_threaded_client
from gapbook.record.run import Run
from gapbook.record.scenario import RecordedContestant
from gapbook.record.schema import System

CanRun: TypeAlias = Callable[[str, Mapping[str, str]], bool]
"""Whether a contestant, by its name, could have other levels, by their dimensions."""

__all__ = ["CanRun", "Findings", "named_versions", "versions_of"]


class Findings(Cells):
    """The findings of one run of one chapter.

    ``given`` are parameters of the chapter that are known to make the contestants of this run. ``can_run`` says which
    combinations of levels a contestant could have, measured or not; None where nobody knows.
    """

    def __init__(
        self,
        run: Run,
        chapter: str,
        stated: Iterable[RecordedContestant] = (),
        *,
        given: Mapping[str, Any] | None = None,
        can_run: CanRun | None = None,
    ) -> None:
        super().__init__(run, chapter, stated)
        self.given = dict(given or {})
        self.can_run = can_run

    def label_reading(self, contestant: str, label: str, treatment: float) -> LabelReading:
        """What the valid trials of a contestant at one value of the treatment say of a label."""
        found = self.scenario.find(contestant)
        window_s = found.window_s if found else self.scenario.window_s
        valid = self.valid_rows(contestant, treatment)
        threaded = found is not None and has_threaded_client(found)
        return label_reading(valid, label, self.scenario.warmup_s, window_s, client_threaded=threaded)

    def has_label(self, contestant: str, label: str, treatments: Sequence[float]) -> bool:
        """Whether the contestant carries a label at any of these treatments, shown by a whole interval."""
        return any(self.label_reading(contestant, label, one).state == "carried" for one in treatments)

    def may_have_label(self, contestant: str, label: str, treatments: Sequence[float]) -> bool:
        """Whether its mean is above the limit of a label at any of these treatments, be it shown or not."""
        return any(self.label_reading(contestant, label, one).suspected for one in treatments)

    def stands_alone(self, value: Interval, treatment: float, *contestants: Named) -> bool:
        """Whether a value may be named in a title or an answer, without its table beside it: it tells something
        (:attr:`gapbook.method.interval.Interval.tells`), and none of these contestants jams there.

        A run of the reader's own may be as short as it likes: what it measured is named for what it is worth.
        """
        if any(self.jams(self.contestant(one).name, treatment) for one in contestants):
            return False
        return value.tells or not self.run.published

    def jams(self, contestant: str, treatment: float) -> bool:
        """Whether a contestant all but stands still: a request takes longer than warm-up and window together, so that in a
        closed loop fewer are answered in that time than are in flight.

        By Little's law the mean time of a request is what is in flight divided by the rate. The rate of such a contestant
        is that of the first requests which came through, and need not last. The median over valid trials decides.
        """
        found = self.scenario.find(contestant)
        rates = [row["goodput_per_s"] for row in self.valid_rows(contestant, treatment)]
        if found is None or found.loop == "open" or not rates:
            return False
        connections = treatment if self.scenario.treatment.is_connections else self.scenario.connections
        load_s = self.scenario.warmup_s + found.window_s
        return statistics.median(rates) * load_s < connections * found.in_flight

    def labels(self, contestant: str, treatment: float) -> list[str]:
        """The labels that a contestant carries at one value of the treatment, and with *perhaps* before them those that
        its trials do not rule out."""
        states = {label: self.label_reading(contestant, label, treatment).state for label in LIMIT_FRAC}
        return [
            label if state == "carried" else f"perhaps {label}"
            for label, state in states.items()
            if state != "ruled out"
        ]

    def warmth(self, contestant: str | None = None) -> Warmth:
        """Whether a contestant was warm when its windows opened, over all its valid trials; all contestants
        of the scenario's window together when none is named. Of one that the run does not have, nothing is known."""
        if contestant is not None:
            return self._warmth_by_contestant.get(contestant, Warmth((), None))
        window_s = self.scenario.window_s
        return self._warmth_over(
            [c.name for c in self.scenario.contestants if c.window_s == window_s], window_s
        )

    @cached_property
    def _warmth_by_contestant(self) -> dict[str, Warmth]:
        return {c.name: self._warmth_over([c.name], c.window_s) for c in self.scenario.contestants}

    def _warmth_over(self, names: Collection[str], window_s: float) -> Warmth:
        trials = self.run.trials.filter(pl.col("valid") & pl.col("contestant").is_in(names))
        return warmth_of(trials.iter_rows(named=True), self.scenario.warmup_s, window_s)

    @cached_property
    def refused(self) -> list[tuple[str, str, str]]:
        """Contestant, trial, and why it is not counted."""
        rows = self.run.trials.filter(~pl.col("valid")).to_dicts()
        return [
            (
                f"{row['contestant']}, {self.at(row['treatment'])}",
                f"{row['trial'] + 1}, block {row['block'] + 1}",
                row["refused_because"],
            )
            for row in rows
        ]

    # --- factors ------------------------------------------------------------------------------
    def decompose(
        self,
        factors: Sequence[Factor],
        treatment: float,
        *,
        without: Collection[str] = (),
        metric: str = GOODPUT.name,
    ) -> Decomposition | None:
        """The gap of a metric from all ``before`` to all ``after``; None when a needed cell has no valid trial.

        Several factors that change one dimension are a chain there: each starts where the one before ended, and a
        cell that is past one of them is past all before it. A factor that changes several dimensions is passed in
        all of them at once; a cell where it is passed in some is on no order. Every cell that was measured counts, whatever
        label it carries, save the contestants named in ``without``.
        """
        self.require_ratios(metric)
        chains = _chains(factors)
        start = self.end(factors, "before")
        left_out = {
            tuple(map(contestant.level, chains))
            for contestant in self.scenario.contestants
            if contestant.name in without
        }
        within: dict[tuple[str, ...], dict[int, float]] = {}
        for cell, values in self.cells(list(chains), treatment, start, metric).items():
            if cell in left_out:
                continue
            passed = _passed(factors, chains, dict(zip(chains, cell, strict=True)))
            if values and passed is not None:
                state = tuple(f.after if p else f.before for f, p in zip(factors, passed, strict=True))
                within[state] = values
        return decompose(factors, within, self._feasible(factors, start))

    def _feasible(
        self, factors: Sequence[Factor], start: RecordedContestant | None
    ) -> list[tuple[str, ...]] | None:
        """The cells between the ends that can be run, as :func:`gapbook.method.factors.decompose` names them."""
        if self.can_run is None or start is None:
            return None
        found = []
        for passed in product((False, True), repeat=len(factors)):
            levels = _levels_at(factors, passed)
            if levels is not None and self.can_run(start.name, levels):
                found.append(tuple(f.after if p else f.before for f, p in zip(factors, passed, strict=True)))
        return found

    def further(
        self, factors: Sequence[Factor], treatment: float, to: float, *, metric: str = GOODPUT.name
    ) -> Further | None:
        """The step from the whole gap at one value of the treatment to that at another, after all ``factors``.

        The gap there is that of its own decomposition, as tables give it; where none closes, of its two ends alone.
        None where either gap has a cell without a valid trial.
        """
        here = self.decompose(factors, treatment, metric=metric)
        there = self.decompose(factors, to, metric=metric) or self._gap_alone(factors, to, metric)
        return further(here, there) if here and there else None

    def _gap_alone(self, factors: Sequence[Factor], treatment: float, metric: str) -> Decomposition | None:
        """The gap of the two ends, whatever lies between them."""
        start, end = self.ends_of(factors)
        if start is None or end is None:
            return None
        gap = Factor("whole gap", "end", start.name, end.name, "residual")
        return decompose(
            [gap], {(one.name,): self.values(one.name, treatment, metric) for one in (start, end)}
        )

    def client_bound_between(self, factors: Sequence[Factor], treatment: float) -> list[str]:
        """Contestants between the ends, beyond a residual, that their client limits at this treatment.

        What a client limits may speak for the client and not for the engine: a decomposition without
        these is the alternative that stands beside the one with all cells.
        """
        chains = _chains(factors)
        residuals = {(factor.dimension, factor.after) for factor in factors if factor.family == "residual"}
        start, end = self.ends_of(factors)
        if start is None:
            return []
        fixed = {key: level for key, level in start.levels.items() if key not in chains}
        return [
            contestant.name
            for contestant in self.scenario.contestants
            if contestant is not end
            and fixed.items() <= contestant.levels.items()
            and residuals & contestant.levels.items()
            and self.has_label(contestant.name, CLIENT_BOUND, [treatment])
        ]

    def cells(
        self,
        dimensions: Sequence[str],
        treatment: float,
        like: Named | None,
        metric: str = GOODPUT.name,
    ) -> dict[tuple[str, ...], dict[int, float]]:
        """A metric by block of every contestant that differs from ``like`` in these dimensions only.

        Keys are the levels of ``dimensions``; empty when there is no contestant to be like. Where two differ in
        something that is no dimension, as how often they try again, the one that was stated first stands for
        the cell, as in :meth:`end`.
        """
        standing = self._standing(dimensions, like)
        return {cell: self.values(one.name, treatment, metric) for cell, one in standing.items()}

    def jamming_cells(
        self, dimensions: Sequence[str], treatment: float, like: Named | None
    ) -> set[tuple[str, ...]]:
        """Those of :meth:`cells` whose contestant all but stands still (:meth:`jams`)."""
        standing = self._standing(dimensions, like)
        return {cell for cell, one in standing.items() if self.jams(one.name, treatment)}

    def _standing(
        self, dimensions: Sequence[str], like: Named | None
    ) -> dict[tuple[str, ...], RecordedContestant]:
        if like is None:
            return {}
        levels = self.contestant(like).levels
        fixed = {key: level for key, level in levels.items() if key not in dimensions}
        found: dict[tuple[str, ...], RecordedContestant] = {}
        for contestant in self.scenario.contestants:
            if fixed.items() <= contestant.levels.items():
                found.setdefault(tuple(map(contestant.level, dimensions)), contestant)
        return found

    def end(self, factors: Sequence[Factor], which: Literal["before", "after"]) -> RecordedContestant | None:
        """The contestant at all ``before`` or all ``after``; None when the run does not have it.

        Where several are at ``before``, since other dimensions vary too, it is the first; the other end
        then agrees with it in all other dimensions.
        """
        chains = _chains(factors)

        def standing(place: int) -> list[tuple[RecordedContestant, dict[str, str]]]:
            wanted = {dimension: chain[place] for dimension, chain in chains.items()}
            return [
                (one, {key: level for key, level in one.levels.items() if key not in chains})
                for one in self.scenario.contestants
                if wanted.items() <= one.levels.items()
            ]

        starts, ends = standing(0), standing(0 if which == "before" else -1)
        like = [contestant for contestant, others in ends if starts and others == starts[0][1]]
        return like[0] if like else None

    def ends_of(
        self, factors: Sequence[Factor]
    ) -> tuple[RecordedContestant | None, RecordedContestant | None]:
        """The contestants at both ends of a gap (:meth:`end`)."""
        return self.end(factors, "before"), self.end(factors, "after")

    def between(self, factors: Sequence[Factor]) -> list[RecordedContestant]:
        """The contestants that lie on the way from one end to the other, of the run and of its chapter."""
        chains, start = _chains(factors), self.end(factors, "before")
        if start is None:
            return []
        fixed = {key: level for key, level in start.levels.items() if key not in chains}
        known = {**self._stated_contestants, **{one.name: one for one in self.scenario.contestants}}
        return [
            one
            for one in known.values()
            if fixed.items() <= one.levels.items() and _passed(factors, chains, one.levels) is not None
        ]

    @staticmethod
    def levels_of_ends(factors: Sequence[Factor]) -> tuple[dict[str, str], dict[str, str]]:
        """The levels at all ``before`` and at all ``after``, of the dimensions that the factors change."""
        chains = _chains(factors)
        first = {dimension: chain[0] for dimension, chain in chains.items()}
        return first, {dimension: chain[-1] for dimension, chain in chains.items()}

    # --- noise --------------------------------------------------------------------------------

    def trial_noise(self) -> TrialNoise | None:
        """How trials of one cell differ, and what goes with it (:func:`gapbook.method.noise.trial_noise`)."""
        return trial_noise(self.run.trials)


def _chains(factors: Sequence[Factor]) -> dict[str, list[str]]:
    """The levels of each dimension in the order of its factors; raises ValueError for a broken chain."""
    chains: dict[str, list[str]] = {}
    for factor in factors:
        for dimension, (before, after) in factor.changes.items():
            chain = chains.setdefault(dimension, [before])
            if chain[-1] != before:
                raise ValueError(f"factor {factor.name}: starts at {before}, but {chain[-1]} was reached")
            if after in chain[:-1]:
                raise ValueError(f"factor {factor.name}: comes back to {after}")
            chain.append(after)
    return chains


def _levels_at(factors: Sequence[Factor], passed: Sequence[bool]) -> dict[str, str] | None:
    """The levels of the cell that these factors are behind; None where a chain has a gap."""
    levels: dict[str, str] = {}
    for factor, is_behind in zip(factors, passed, strict=True):
        for dimension, (before, after) in factor.changes.items():
            if levels.setdefault(dimension, before) != before and is_behind:
                return None
            if is_behind:
                levels[dimension] = after
    return levels


def _passed(
    factors: Sequence[Factor], chains: Mapping[str, Sequence[str]], levels: Mapping[str, str]
) -> list[bool] | None:
    """Which factors are behind a cell of these levels; None where a level is on no chain, or a factor half behind."""
    places = {
        dimension: chain.index(levels[dimension])
        for dimension, chain in chains.items()
        if levels[dimension] in chain
    }
    if len(places) < len(chains):
        return None
    passed = []
    for factor in factors:
        behind = {
            places[dimension] > chains[dimension].index(before)
            for dimension, (before, _) in factor.changes.items()
        }
        if len(behind) > 1:
            return None
        passed.append(behind.pop())
    return passed


def named_versions(systems: Mapping[str, System]) -> list[str]:
    """``spacetimedb 1.2.0 and 2.8.3`` for each system of a manifest, however many servers of it there were."""
    return [f"{system} {' and '.join(versions)}" for system, versions in versions_of(systems).items()]


def versions_of(systems: Mapping[str, System]) -> dict[str, list[str]]:
    """Every version of each system of a manifest, once, by the name of the system without those of its servers."""
    versions: dict[str, dict[str, None]] = {}
    for server, told in systems.items():
        versions.setdefault(server.split(" ")[0], {})[told.version] = None
    return {system: list(found) for system, found in versions.items()}
