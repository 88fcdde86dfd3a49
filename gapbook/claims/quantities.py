"""The quantities that a rule can name, measured of one run: ratios, rates, shares of a logarithm, of a ceiling."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gapbook.claims.rules import VERDICT_BAND_FRAC
from gapbook.errors import ParameterError
from gapbook.method.estimate import amount_interval, geometric_interval
from gapbook.method.findings import Findings
from gapbook.method.interval import Interval, format_count, format_percent
from gapbook.method.over_runs import OverRuns, estimates_over_runs
from gapbook.method.proportions import wilson_interval
from gapbook.method.same import Cell
from gapbook.method.source import Made, in_blocks
from gapbook.record.measured import own_metric
from gapbook.record.metric import GOODPUT, METRICS, Metric

__all__ = [
    "SHARES",
    "TIMES",
    "as_made",
    "as_printed",
    "at_a_glance",
    "cells_of_test",
    "decisive",
    "over_runs",
    "quantity",
    "quantity_name",
]

_GROUPS = ("over", "under", "whole_over", "whole_under")
_LINEAR = {"log-share", "mean", "proportion"}
"""Quantities that are compared as they are; all others on the log scale."""
SHARES = {"log-share", "ceiling-frac", "proportion"}
"""Quantities that are fractions, and printed in percent."""
_GEOMETRIC = "the number is the geometric mean of the blocks' values, its interval Student's t on their logs"
_FORMULAS: Mapping[str, str] = {
    "goodput": f"a block's value is its cell; {_GEOMETRIC}",
    "value": f"a block's value is its cell; {_GEOMETRIC}",
    "ratio": f"a block's value is {{}} ÷ {{}}; {_GEOMETRIC}",
    "mean": "a block's value is its cell; the number is their mean, its interval Student's t on the values",
    "log-share": "a block's value is ln({} ÷ {}) ÷ ln({} ÷ {}); the number is their mean, its interval Student's t on the values",
    "ceiling-frac": f"a block's value is goodput_per_s ÷ ceiling_per_s of the cell's valid trials, as their geometric mean; {_GEOMETRIC}",
    "worst": "the number is the worst of the valid trials",
    "proportion": "the number is the part of the valid trials whose value is 1, its interval that of Wilson",
}
"""How each quantity comes of its cells."""
_OF_TRIALS = {"worst", "proportion"}
"""Quantities of the valid trials, not of blocks."""
_FUNCTION = "gapbook.claims.quantities.quantity"
TIMES = "×"
"""What a ratio is printed with."""
_TREATMENTS = {"alpha": "α", "treatment": "treatment"}
"""The keys under which a test has its value of the treatment, each with its label where no run says how it is printed."""


def _cell(text: str, treatment: float | None) -> Cell:
    """``name`` at the test's own value of the treatment, or ``name@1.5``."""
    name, at, own = text.partition("@")
    if not at and treatment is None:
        raise ParameterError(f"verdict: {text!r} is at no value of a treatment; write NAME@VALUE")
    return Cell(name, float(own) if at else float(treatment or 0))


def _cells(test: Mapping[str, Any], key: str) -> list[Cell]:
    named = test.get(key, [])
    own = next((test[name] for name in _TREATMENTS if name in test), None)
    return [_cell(name, own) for name in ([named] if isinstance(named, str) else named)]


def cells_of_test(test: Mapping[str, Any]) -> list[Cell]:
    """The cells whose trials a test reads, as its chapter names them."""
    return [cell for key in _GROUPS for cell in _cells(test, key)]


@dataclass(frozen=True)
class _InRun:
    """The cells of a test as one run holds them: their values by block, in the blocks that hold all of them."""

    groups: Mapping[str, Sequence[Cell]]
    values: Mapping[Cell, Mapping[int, float]]
    blocks: Sequence[int]

    @property
    def needed(self) -> list[Cell]:
        return [cell for cells in self.groups.values() for cell in cells]

    def ratios(self, over: str, under: str) -> list[float]:
        """The product of one group of cells divided by that of another, block by block."""
        return [self._product(over, block) / self._product(under, block) for block in self.blocks]

    def _product(self, group: str, block: int) -> float:
        return math.prod(self.values[cell][block] for cell in self.groups[group])


def _in_run(test: Mapping[str, Any], found: Findings, named: Mapping[Cell, Cell] | None) -> _InRun | str:
    """Those of this run, or why it does not have them."""
    groups = {key: [(named or {}).get(cell, cell) for cell in _cells(test, key)] for key in _GROUPS}
    needed = [cell for cells in groups.values() for cell in cells]
    values: dict[Cell, Mapping[int, float]] = {}
    names = {contestant.name for contestant in found.scenario.contestants}
    for cell in needed:
        if cell.contestant not in names:
            return f"Run {found.run.run_id} has no contestant {cell.contestant}"
        if not _is_told(test, found):
            return f"Run {found.run.run_id} tells no {test['metric']}"
        values[cell] = found.values(cell.contestant, cell.treatment, _metric(test, found).name)
        if not values[cell]:
            why = "has no valid trial" if cell.treatment in found.treatments else "was not run"
            return f"{_name(cell, found)} {why} in run {found.run.run_id}"
    blocks = sorted(set.intersection(*(set(of_cell) for of_cell in values.values())))
    if not blocks:
        return f"Run {found.run.run_id} has no block in which {' and '.join(_name(cell, found) for cell in needed)} are all valid"
    return _InRun(groups, values, blocks)


def _at(test: Mapping[str, Any], value: float, found: Findings | None) -> str:
    """``α = 0.5``: a value of the treatment as the run prints it, or as the test names it where there is no run."""
    if found is not None:
        return found.at(value)
    label = next((label for name, label in _TREATMENTS.items() if name in test), _TREATMENTS["treatment"])
    return f"{label} = {value:g}"


def over_runs(test: Mapping[str, Any], found: Findings) -> OverRuns | None:
    """The quantity of a published run in all published runs that hold the same cells; None where it has none, or the
    run at hand is a reader's own, which is judged by itself."""
    if not found.run.published or test["quantity"] == "worst":
        return None

    def held(other: Findings, named: Mapping[Cell, Cell]) -> Interval | None:
        told = quantity(test, other, named)
        return None if isinstance(told, str) else told

    return estimates_over_runs(found, cells_of_test(test), held, log=test["quantity"] not in _LINEAR)


def quantity(
    test: Mapping[str, Any], found: Findings, named: Mapping[Cell, Cell] | None = None
) -> Interval | str:
    """The measured quantity with its interval over blocks, or why this run does not have it.

    ``named`` says what this run calls each cell of the test, where that is another name.
    """
    cells = _in_run(test, found, named)
    if isinstance(cells, str):
        return cells
    kind, first, metric = test["quantity"], cells.needed[0], _metric(test, found)
    if kind in _OF_TRIALS:
        return _over_trials(kind, metric, found.trial_values(*first, metric.name))
    by_block = _by_block(kind, found, cells)
    return by_block if isinstance(by_block, str) else _over_blocks(kind, list(by_block.values()))


def decisive(test: Mapping[str, Any], several: OverRuns) -> Interval:
    """What several runs together hold against a bound: what another run should find; of a proportion, all their trials."""
    if test["quantity"] != "proportion":
        return several.expected
    whole = sum(round(one.interval.estimate * one.interval.n) for one in several.each)
    return _of_trials(whole, sum(one.interval.n for one in several.each))


def as_made(test: Mapping[str, Any], found: Findings) -> Made | str:
    """The quantity as this run has it, with all that it is made of; or why this run does not have it."""
    cells = _in_run(test, found, None)
    if isinstance(cells, str):
        return cells
    kind, first, metric = test["quantity"], cells.needed[0], _metric(test, found)
    if kind in _OF_TRIALS:
        told = found.trial_by_trial(*first, metric.name)
        interval = _over_trials(kind, metric, [value for _, _, value in told])
        trials = tuple((trial + 1, block + 1, value) for trial, block, value in told)
        return Made(interval, ("trial", "block", _name(first, found)), trials, _FORMULAS[kind], _FUNCTION)
    by_block = _by_block(kind, found, cells)
    if isinstance(by_block, str):
        return by_block
    # A share of a ceiling is one of each trial, and no cell's own value is in it.
    shown = [] if kind == "ceiling-frac" else cells.needed
    rows = {
        block: (*(cells.values[cell][block] for cell in shown), value) for block, value in by_block.items()
    }
    names = [_name(cell, found) for cell in shown]
    formula = _FORMULAS[kind].format(*(_in_words(cells.groups, group) for group in _GROUPS))
    return in_blocks(found, _over_blocks(kind, list(by_block.values())), names, rows, formula, _FUNCTION)


def _by_block(kind: str, found: Findings, cells: _InRun) -> dict[int, float] | str:
    """What each block says of a quantity, or why the run has none."""
    match kind:
        case "goodput" | "value" | "ratio" | "mean":
            return dict(zip(cells.blocks, cells.ratios("over", "under"), strict=True))
        case "ceiling-frac":
            return _ceiling_fracs(cells.needed[0], found)
        case "log-share":
            return _log_shares(cells)
    raise ParameterError(
        f"quantity {kind!r}: unknown; allowed: ratio, goodput, value, mean, proportion, worst, log-share, ceiling-frac"
    )


def _over_blocks(kind: str, values: Sequence[float]) -> Interval:
    """The number that comes of what the blocks say, with its interval."""
    if kind == "mean":
        return amount_interval(values)
    if kind == "log-share":
        # exp turns the mean of shares into a geometric mean, whose interval is computed in one place only.
        spread = geometric_interval([math.exp(value) for value in values])
        low, middle, high = (math.log(bound) for bound in (spread.low, spread.estimate, spread.high))
        return Interval(middle, low, high, spread.n)
    return geometric_interval(values)


def _over_trials(kind: str, metric: Metric, values: Sequence[float]) -> Interval:
    """The number that comes of what the valid trials say: in what part of them all of it was there (the value is 1), with
    the interval of Wilson, for the mean of five trials that all came out has none; or the worst of them, for what is
    claimed of every one: a single trial refutes that, and no interval of a mean can."""
    if kind == "proportion":
        return _of_trials(sum(value >= 1 for value in values), len(values))
    worst = min(values) if metric.better == "higher" else max(values)
    return Interval(worst, worst, worst, len(values))


def _in_words(groups: Mapping[str, Sequence[Cell]], group: str) -> str:
    """``cell 1 × cell 2``: a group of the cells that a table has, numbered as its columns are."""
    before = sum(len(cells) for name, cells in groups.items() if _GROUPS.index(name) < _GROUPS.index(group))
    return " × ".join(f"cell {before + place}" for place in range(1, len(groups[group]) + 1))


def _of_trials(whole: int, trials: int) -> Interval:
    return Interval(whole / trials, *wilson_interval(whole, trials), trials)


def _log_shares(cells: _InRun) -> dict[int, float] | str:
    """How much of the logarithm of the whole the part is, by block."""
    parts, wholes = cells.ratios("over", "under"), cells.ratios("whole_over", "whole_under")
    if min(map(abs, map(math.log, wholes))) < math.log(1 + VERDICT_BAND_FRAC):
        return "The whole is within the band round ×1: it has no share to give"
    shares = (math.log(part) / math.log(whole) for part, whole in zip(parts, wholes, strict=True))
    return dict(zip(cells.blocks, shares, strict=True))


def _ceiling_fracs(cell: Cell, found: Findings) -> dict[int, float] | str:
    """Goodput as a fraction of what the same client reaches against a server that does nothing, by block: trials of one
    block count as their geometric mean."""
    by_block: dict[int, list[float]] = {}
    for row in found.valid_rows(cell.contestant, cell.treatment):
        if row["ceiling_per_s"]:
            by_block.setdefault(row["block"], []).append(row["goodput_per_s"] / row["ceiling_per_s"])
    if not by_block:
        return f"{_name(cell, found)} has no client ceiling in run {found.run.run_id}"
    return {block: geometric_interval(shares).estimate for block, shares in sorted(by_block.items())}


def _name(cell: Cell, found: Findings) -> str:
    return f"{cell.contestant} at {found.at(cell.treatment)}"


def quantity_name(test: Mapping[str, Any], found: Findings | None = None) -> str:
    """What a test measures, in words; its values of the treatment are printed as ``found`` prints them."""
    if "of" in test:
        return str(test["of"])
    over, under = _cells(test, "over"), _cells(test, "under")
    treatments = {cell.treatment for cell in [*over, *under]}
    metric = test.get("metric", GOODPUT.name)
    label = METRICS[metric].label if metric in METRICS else metric
    of = "" if metric == GOODPUT.name else f"{label}, "
    if len(treatments) > 1:
        groups = (
            " × ".join(f"{cell.contestant} at {_at(test, cell.treatment, found)}" for cell in cells)
            for cells in (over, under)
            if cells
        )
        return of + " ÷ ".join(groups)
    names = " ÷ ".join(" × ".join(cell.contestant for cell in cells) for cells in (over, under) if cells)
    return f"{of}{names}, {_at(test, treatments.pop(), found)}"


def _is_told(test: Mapping[str, Any], found: Findings) -> bool:
    """Whether the run has the metric of a test, which can be one of its own."""
    name = test.get("metric", GOODPUT.name)
    return name in METRICS or own_metric(found.run.metrics, name) is not None


def _metric(test: Mapping[str, Any], found: Findings) -> Metric:
    """What a test compares: goodput unless it names another metric, which can be one of the run's own; raises
    ParameterError for one without ratios where ratios are asked for."""
    name = test.get("metric", GOODPUT.name)
    metric = found.metric(name)
    if not metric.log and test["quantity"] not in {"mean", "proportion", "worst"}:
        raise ParameterError(f"verdict: metric {metric.name} can be 0 and has no ratio")
    return metric


def as_printed(test: Mapping[str, Any], ours: Interval, found: Findings) -> str:
    if test["quantity"] == "worst":
        unit = _metric(test, found).unit
        return f"{format_count(ours.estimate)}{unit}, the worst of {ours.n} trial{'s' if ours.n > 1 else ''}"
    if test["quantity"] == "proportion":
        return f"{round(ours.estimate * ours.n)} of {ours.n} trials, {format_percent(ours.estimate)} %{_percents(ours)}"
    if test["quantity"] in {"goodput", "value", "mean"}:
        return f"{ours.as_count()}{_metric(test, found).unit}"
    if test["quantity"] not in SHARES:
        return ours.as_factor()
    return f"{format_percent(ours.estimate)} %{_percents(ours)}"


def at_a_glance(test: Mapping[str, Any], ours: Interval, found: Findings) -> str:
    """The value alone, to three digits: ``×115``, ``10.2 MiB``, ``51 %``."""
    if test["quantity"] in SHARES:
        return f"{format_percent(ours.estimate)} %"
    if test["quantity"] in {"goodput", "value", "mean", "worst"}:
        return f"{format_count(ours.estimate)}{_metric(test, found).unit}"
    return Interval(ours.estimate, math.nan, math.nan, ours.n).as_factor()


def _percents(ours: Interval) -> str:
    return f" [{format_percent(ours.low)}–{format_percent(ours.high)}]" if ours.bounded else ""
