"""A run in small: its cells and ratios with their intervals, and what it was made with; enough to lay two side by side.

It is what a page in a browser can read, and what somebody can send. A run is checked byte by byte where it is read
(:mod:`gapbook.record.run`); a summary is checked against its shape alone, and is never more than data.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Annotated, TypeAlias

import msgspec

from gapbook.errors import RecordError, cut
from gapbook.method.findings import Findings, versions_of
from gapbook.method.interval import Interval
from gapbook.method.same import Cell, Setup, cells_of, number_word
from gapbook.method.source import Worth, made
from gapbook.method.stated import cells_behind, stated_numbers
from gapbook.record.bounds import parsed
from gapbook.record.fields import Count, Name, Sha256, UnixSeconds
from gapbook.record.machine import Machine, cores_number
from gapbook.record.run import MANIFEST, Run, canonical, read_bytes
from gapbook.record.scenario import RecordedContestant
from gapbook.record.schema import one_line

__all__ = [
    "MOST_SUMMARY_BYTES",
    "SUMMARY_VERSION",
    "Estimate",
    "RatioOfCells",
    "StatedNumber",
    "Summary",
    "SummaryCell",
    "SummaryContestant",
    "read_summary",
    "summary_of",
    "written",
]

SUMMARY_VERSION = 1
MOST_SUMMARY_BYTES = 4 * 2**20
"""Of a file; that of the largest published run has a twentieth."""
_MOST_CELLS = 2_000
_MOST_RATIOS = 20_000
_MOST_FACTS = 200
_MOST_NUMBERS = 500
_Above: TypeAlias = Annotated[float, msgspec.Meta(ge=1e-15, le=1e18)]
_Facts: TypeAlias = Annotated[dict[str, str], msgspec.Meta(max_length=_MOST_FACTS)]


class Estimate(msgspec.Struct, frozen=True):
    """A value with the ends of its 95 % interval over ``n`` blocks; without ends where one block tells it."""

    estimate: _Above
    low: _Above | None
    high: _Above | None
    n: Annotated[int, msgspec.Meta(ge=1, le=100_000)]

    def __post_init__(self) -> None:
        if (self.low is None) != (self.high is None):
            raise ValueError("an interval has one end")
        if (
            self.low is not None
            and self.high is not None
            and not (self.low <= self.estimate * (1 + 1e-9) and self.estimate <= self.high * (1 + 1e-9))
        ):
            raise ValueError("an estimate lies outside its interval")

    @property
    def interval(self) -> Interval:
        """The same, without ends where it has none."""
        nan = float("nan")
        low, high = (nan if end is None else end for end in (self.low, self.high))
        return Interval(self.estimate, low, high, self.n)


class SummaryContestant(msgspec.Struct, frozen=True):
    """``facts`` say what it is and how it was loaded, in words that mean the same in every run."""

    name: Name
    label: str
    facts: _Facts


class SummaryCell(msgspec.Struct, frozen=True):
    """The goodput, per second, of a contestant (by its place in the list) at a value of the treatment, as facts have it."""

    contestant: Count
    at: Name
    goodput: Estimate


class RatioOfCells(msgspec.Struct, frozen=True):
    """How many times the goodput of one cell is that of another, paired by block; both by their place in the list."""

    over: Count
    under: Count
    ratio: Estimate


class StatedNumber(msgspec.Struct, frozen=True):
    """A number of the chapter that has an address; ``quantity`` is what it is of, ``cells`` are those that it is made of, by
    their place in the list."""

    address: Name
    quantity: str
    cells: Annotated[list[Count], msgspec.Meta(min_length=1, max_length=_MOST_CELLS)]
    value: Estimate


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """``facts`` are those that all contestants share; ``settings``, ``machine`` and ``versions`` are told in words.

    ``processor`` is its name alone, for not every run has its family and model.
    ``treatment`` is what varies inside the run besides the contestant, ``words`` how each of its values is printed.
    """

    summary: int
    run_id: Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{12}$")]
    manifest_sha256: Sha256
    chapter: Name
    began_unix_s: UnixSeconds
    processor: str
    machine: _Facts
    settings: _Facts
    versions: _Facts
    trials: Count
    valid_trials: Count
    treatment: Name
    words: Annotated[dict[str, str], msgspec.Meta(max_length=_MOST_CELLS)]
    facts: _Facts
    contestants: Annotated[list[SummaryContestant], msgspec.Meta(max_length=_MOST_CELLS)]
    cells: Annotated[list[SummaryCell], msgspec.Meta(max_length=_MOST_CELLS)]
    ratios: Annotated[list[RatioOfCells], msgspec.Meta(max_length=_MOST_RATIOS)]
    numbers: Annotated[list[StatedNumber], msgspec.Meta(max_length=_MOST_NUMBERS)]

    def __post_init__(self) -> None:
        if not self.manifest_sha256.startswith(self.run_id):
            raise ValueError("the run id is not that of its manifest")
        if any(cell.contestant >= len(self.contestants) for cell in self.cells):
            raise ValueError("a cell is of no contestant")
        for ratio in self.ratios:
            if max(ratio.over, ratio.under) >= len(self.cells) or ratio.over == ratio.under:
                raise ValueError("a ratio is of no two cells")
        if any(place >= len(self.cells) for number in self.numbers for place in number.cells):
            raise ValueError("a number is of no cell")
        if len(set(self.setups)) != len(self.cells):
            raise ValueError("two cells are the same")

    @property
    def setups(self) -> Sequence[Setup]:
        """What each cell is, in their order."""
        return [
            frozenset(
                {
                    **self.facts,
                    **self.contestants[cell.contestant].facts,
                    self.treatment: cell.at,
                }.items()
            )
            for cell in self.cells
        ]

    def named(self, place: int) -> str:
        """``postgres-rust, α = 0.5``: a cell by the name that its run gives it."""
        cell = self.cells[place]
        return f"{self.contestants[cell.contestant].name}, {self.at(place)}"

    def at(self, place: int) -> str:
        """``α = 0.5``: under which load a cell was measured."""
        value = self.cells[place].at
        return self.words.get(value) or f"{self.treatment} = {value}"


def summary_of(run: Run) -> Summary:
    """The summary of a run whose every byte was checked; raises RecordError for one that has too many cells, or whose words
    are none that a summary may have."""
    try:
        return msgspec.json.decode(msgspec.json.encode(_summary(run)), type=Summary)
    except (msgspec.ValidationError, ArithmeticError, ValueError) as error:
        raise RecordError(f"run {run.run_id}: cannot be told in small: {one_line(error)}") from error


def read_summary(path: Path) -> Summary:
    """The summary that a file holds; raises RecordError, in one line, for what is none, is too large or of a newer version."""
    where = f"file {cut(path.name)}"
    try:
        data = read_bytes(path)
        if len(data) > MOST_SUMMARY_BYTES:
            raise ValueError(f"has {len(data):,} bytes; allowed: up to {MOST_SUMMARY_BYTES:,}")
        content = parsed(data)
        if not isinstance(content, dict) or "summary" not in content:
            raise ValueError("is no summary of a run; gapbook compare RUN --export writes one")
        version = content["summary"]
        if type(version) is not int or version != SUMMARY_VERSION:
            raise ValueError(
                f"is of version {one_line(repr(version))}; this version reads {SUMMARY_VERSION}"
                + ("; take a newer checkout" if type(version) is int and version > SUMMARY_VERSION else "")
            )
        return msgspec.convert(content, Summary)
    except json.JSONDecodeError as error:
        raise RecordError(f"{where} is not JSON: {one_line(error)}") from error
    except (msgspec.ValidationError, OverflowError, UnicodeDecodeError, ValueError) as error:
        raise RecordError(f"{where} {one_line(error)}") from error


def written(summary: Summary) -> str:
    """The one way in which a summary is written: in a line, the same for the same run."""
    return msgspec.json.encode(summary).decode()


def _summary(run: Run) -> Summary:
    found = Findings(run, run.manifest.chapter)
    manifest, scenario = run.manifest, run.scenario
    measured = {
        cell: (setup, value)
        for setup, cell in cells_of(run).items()
        if (value := _estimate(found.goodput(*cell))) is not None
    }
    named = list(dict.fromkeys(cell.contestant for cell in measured))
    if len(measured) > _MOST_CELLS:
        raise RecordError(f"run {run.run_id}: has {len(measured):,} cells; allowed: up to {_MOST_CELLS:,}")
    facts = {name: _facts_of(name, measured, scenario.treatment.name) for name in named}
    shared = dict(set.intersection(*(set(one.items()) for one in facts.values()))) if facts else {}
    recorded = {one.name: one for one in scenario.contestants}
    return Summary(
        summary=SUMMARY_VERSION,
        run_id=run.run_id,
        manifest_sha256=_hash_of_manifest(run),
        chapter=manifest.chapter,
        began_unix_s=manifest.started_unix_s,
        processor=manifest.machine.processor.partition(" (family ")[0],
        machine=_machine(manifest.machine),
        settings=_settings(run),
        versions={name: ", ".join(found) for name, found in versions_of(manifest.systems).items()},
        trials=run.trials.height,
        valid_trials=int(run.trials["valid"].sum()),
        treatment=scenario.treatment.name,
        words={number_word(value): scenario.treatment.at(value) for value in scenario.treatment.values},
        facts=dict(sorted(shared.items())),
        contestants=[
            SummaryContestant(
                name,
                recorded[name].full_label,
                {key: value for key, value in sorted(facts[name].items()) if shared.get(key) != value},
            )
            for name in named
        ],
        cells=[
            SummaryCell(named.index(cell.contestant), number_word(cell.treatment), value)
            for cell, (_, value) in measured.items()
        ],
        ratios=list(_ratios(found, list(measured), recorded)),
        numbers=list(_numbers(found, list(measured))),
    )


def _facts_of(name: str, measured: Mapping[Cell, tuple[Setup, Estimate]], treatment: str) -> dict[str, str]:
    setup = next(setup for cell, (setup, _) in measured.items() if cell.contestant == name)
    return {key: value for key, value in sorted(setup) if key != treatment}


def _ratios(
    found: Findings, cells: Sequence[Cell], recorded: Mapping[str, RecordedContestant]
) -> Iterator[RatioOfCells]:
    """The ratios that speak of something: of two contestants that differ in one dimension and, between two systems that no such
    pair joins, of those that differ least; both in a closed loop, for a schedule gives the other's rate, and both real or both simulated."""
    everyone = [recorded[cell.contestant] for cell in cells]
    closed = [place for place, one in enumerate(everyone) if one.loop == "closed"]
    joined: dict[tuple[frozenset[str], float], list[tuple[int, int, int]]] = defaultdict(list)
    for under, over in combinations(closed, 2):
        pair = everyone[over], everyone[under]
        if cells[under].treatment == cells[over].treatment and pair[0].simulated == pair[1].simulated:
            key = frozenset(one.level("system") for one in pair), cells[over].treatment
            joined[key].append((len(pair[0].differs_in(pair[1])), over, under))
    for pairs in joined.values():
        least = max(1, min(steps for steps, _, _ in pairs))
        for steps, over, under in pairs:
            if steps > least:
                continue
            names = cells[over].contestant, cells[under].contestant
            ratio = _estimate(found.ratio(*names, cells[over].treatment))
            if ratio is not None:
                yield RatioOfCells(over, under, ratio)


def _numbers(found: Findings, cells: Sequence[Cell]) -> Iterator[StatedNumber]:
    """What the chapter states, where this run has all cells behind it; of a gap those that it has, and between the same cells
    alone its parts are compared."""
    places = {tuple(cell): place for place, cell in enumerate(cells)}
    for address, stated in stated_numbers(found.run.manifest.chapter).items():
        if (source := stated.source) is None:
            continue
        behind = cells_behind(source, found)
        held = sorted(places[cell] for cell in behind if cell in places)
        whole = held if isinstance(source, Worth) else len(held) == len(behind)
        if whole and (number := made(source, found)) and (value := _estimate(number.interval)):
            yield StatedNumber(address, stated.quantity, held, value)


def _estimate(found: Interval | None) -> Estimate | None:
    if found is None or not found.estimate > 0:
        return None
    low, high = (found.low, found.high) if found.bounded and found.low > 0 else (None, None)
    return Estimate(found.estimate, low, high, found.n)


def _hash_of_manifest(run: Run) -> str:
    """The whole hash of which the run's id is the beginning."""
    manifest = json.loads((run.folder / MANIFEST).read_bytes())
    del manifest["run_id"]
    return hashlib.sha256(canonical(manifest)).hexdigest()


def _machine(machine: Machine) -> dict[str, str]:
    return {
        "processor": machine.processor,
        "cores": cores_number(machine),
        "memory": f"{machine.memory_bytes / 2**30:.1f} GiB",
        "kernel": machine.kernel,
        "file system of the data": machine.file_system,
        "virtual machine": "yes" if machine.virtual else "no",
    }


def _settings(run: Run) -> dict[str, str]:
    manifest, scenario = run.manifest, run.scenario
    told: dict[str, object] = {
        "blocks": manifest.blocks,
        "sessions": manifest.sessions,
        "window": f"{scenario.window_s:g} s",
        "warm-up": f"{scenario.warmup_s:g} s",
        "connections": scenario.connections,
        "declared durability": scenario.durability,
        "seed": scenario.seed,
        "attempts": manifest.attempts,
        "kills": manifest.kills,
        "cuts": manifest.cuts,
        "workload": scenario.workload.name,
        **scenario.workload.parameters,
        "revision of the code": manifest.code.revision[:10] + (", changed" if manifest.code.changed else ""),
    }
    return {name: f"{value:g}" if isinstance(value, float) else str(value) for name, value in told.items()}
