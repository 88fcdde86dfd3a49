"""What of the book can be made again: its pages from stored runs, its runs by measuring anew, with what that takes.

All of it follows from the declarations of systems, the chapters' own code, their plans and their published runs: a new
chapter or system stands there by itself.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace

from gapbook.book.arrivals import Arrival, arrival_of
from gapbook.book.chapters import chapters
from gapbook.book.expected import duration_words, seconds_asked_for
from gapbook.book.plans import published_plans
from gapbook.book.stated import stated
from gapbook.book.together import Unit, units_of
from gapbook.errors import RecordError
from gapbook.record.run import Run, latest_published, load_run, published_folders
from gapbook.text_table import text_table
from gapbook.trial.asked import Asked

__all__ = [
    "HEADS",
    "Again",
    "Gone",
    "Takes",
    "again",
    "again_cells",
    "again_json",
    "again_lines",
    "gone",
    "headlines_s",
    "size_words",
]

HEADS = ("chapter", "stored", "your own run", "its published plan", "log", "systems")
_MARKS = {"compiled": " (compiled)", "image": " (image)", "nowhere": " (you bring it)"}


@dataclass(frozen=True)
class Takes:
    """What it takes to measure a chapter; ``seconds`` is None where no published run says it."""

    trials: int
    sessions: int
    seconds: float | None

    @property
    def words(self) -> str:
        """``36 trials, 6 min``"""
        took = "time unknown" if self.seconds is None else duration_words(self.seconds)
        return f"{self.trials:,} trials, {took}"


@dataclass(frozen=True)
class Again:
    """A chapter, what is stored of it, and what measuring it anew takes.

    ``own`` is a run with the chapter's own parameters, ``published`` its plan, which is measured ``together`` with other
    chapters where there are some: the seconds are then those of all. ``log_bytes`` is the most that a trial of its
    published run wrote to a server's log, ``docker`` whether some of its servers run in containers that could do without.
    """

    chapter: str
    stored_runs: int
    stored_bytes: int
    own: Takes | None
    published: Takes | None
    together: tuple[str, ...]
    log_bytes: int | None
    docker: bool
    systems: tuple[Arrival, ...]


@dataclass(frozen=True)
class Gone:
    """A system that a stored run holds in these versions, or that a plan asks for, and no command makes again."""

    label: str
    versions: tuple[str, ...]
    chapters: tuple[str, ...]
    why: str

    @property
    def versioned(self) -> str:
        """``SpacetimeDB 2.0.1, 2.0.2``"""
        return f"{self.label} {', '.join(self.versions)}".strip()


def again(chosen: Sequence[str] = ()) -> list[Again]:
    """A row for each of these chapters, or for all that there are.

    Raises DeclarationError for a plan or a stack.toml that says what it may not.
    """
    units = {chapter: unit for unit in units_of(published_plans()) for chapter in unit.chapters}
    return [_row(chapter, units.get(chapter)) for chapter in chosen or chapters()]


def headlines_s() -> float:
    """Seconds that a campaign of what first screens compare takes (:attr:`gapbook.book.plans.PublishedPlan.headline`)."""
    return sum(unit.expected_s() or 0.0 for unit in units_of([plan.headline for plan in published_plans()]))


def _row(chapter: str, unit: Unit | None) -> Again:
    own, planned, run = stated(chapter, {"source": "live"}), _planned(chapter, unit), _newest(chapter)
    folders = published_folders(chapter)
    return Again(
        chapter,
        stored_runs=len(folders),
        stored_bytes=sum(file.stat().st_size for folder in folders for file in folder.iterdir()),
        own=None if own is None else Takes(len(own.plan()), own.sessions, seconds_asked_for(own)),
        published=Takes(len(planned.plan()), unit.sessions, unit.expected_s()) if unit and planned else None,
        together=tuple(other for other in unit.chapters if other != chapter) if unit else (),
        log_bytes=_log_bytes(run) if run else None,
        docker=run is not None and any(one.settings.backend for one in run.scenario.contestants),
        systems=tuple(_systems(planned or own, run)),
    )


def _planned(chapter: str, unit: Unit | None) -> Asked | None:
    """What the plan of a chapter asks for; None without a plan, or with one that the chapter refuses."""
    if unit is None or unit.asked is None:
        return None
    every = [unit.asked] if unit.together is None else unit.together.asked
    return next(one for one in every if one.chapter == chapter)


def _newest(chapter: str) -> Run | None:
    try:
        return latest_published(chapter)
    except RecordError:
        return None


def _log_bytes(run: Run) -> int | None:
    most = run.trials["log_bytes"].max()
    return most if isinstance(most, int) else None


def _systems(asked: Asked | None, run: Run | None) -> Iterator[Arrival]:
    """Each system of a chapter in each version that its published run had; of systems that this run lacks, in that which
    the chapter asks for here."""
    wanted = {(one.system, one.version) for one in run.scenario.contestants} if run else set()
    had = {system for system, _ in wanted}
    named = asked.scenario.contestants if asked else ()
    wanted |= {(one.system, one.version) for one in named if one.system not in had}
    for system, version in sorted(wanted, key=lambda one: (one[0], one[1] or "")):
        yield arrival_of(system, version)


# --- what is gone -----------------------------------------------------------------------------
def gone() -> list[Gone]:
    """Versions of servers in stored runs that no command brings, and systems that a published run could not measure."""
    return [*_versions_gone(), *_never_measured()]


def _versions_gone() -> Iterator[Gone]:
    held: dict[Arrival, dict[str, None]] = {}
    built: dict[Arrival, set[str]] = {}
    for chapter in chapters():
        for run in _stored(chapter):
            for one in run.scenario.contestants:
                arrival, server = arrival_of(one.system, one.version), run.manifest.systems.get(one.server)
                if arrival.kind == "nowhere":
                    held.setdefault(arrival, {})[chapter] = None
                    if server is not None and server.built:
                        said = server.built.replace(arrival.version, "VERSION")
                        built.setdefault(arrival, set()).add(said)
    alike: dict[Gone, list[str]] = {}
    for arrival in sorted(held, key=lambda one: one.versioned):
        # Of a server that was built in several ways, the words of one are enough to build it.
        how = [f"stored runs have it {said}" for said in sorted(built.get(arrival, ()))[:1]]
        unnamed = Gone(arrival.label, (), tuple(held[arrival]), "; ".join([*how, arrival.how]))
        alike.setdefault(unnamed, []).append(arrival.version)
    yield from (replace(one, versions=tuple(versions)) for one, versions in alike.items())


def _never_measured() -> Iterator[Gone]:
    found: dict[tuple[str, str], list[str]] = {}
    for plan in published_plans():
        run, asked = _newest(plan.chapter), stated(plan.chapter, {**plan.given, "source": "session"})
        absent = run.manifest.absent if run else {}
        named = [one for one in asked.scenario.contestants if one.name in absent] if asked else []
        for label, why in {one.stack.facts.label: absent[one.name] for one in named}.items():
            found.setdefault((label, why.partition(";")[0]), []).append(plan.chapter)
    for (label, why), of_chapters in sorted(found.items()):
        yield Gone(label, (), tuple(of_chapters), f"the published run lacks it: {why}")


def _stored(chapter: str) -> Iterator[Run]:
    """The published runs of a chapter that can be read, newer and older."""
    for folder in published_folders(chapter):
        with suppress(RecordError):
            yield load_run(folder)


# --- in words ---------------------------------------------------------------------------------
def again_lines(rows: Sequence[Again]) -> list[str]:
    """What the command prints."""
    return text_table(HEADS, [[row.chapter, *again_cells(row)] for row in rows])


def again_json(rows: Sequence[Again]) -> str:
    """The same, for a program."""
    return json.dumps(list(map(asdict, rows)), ensure_ascii=False, indent=1)


def again_cells(row: Again) -> list[str]:
    """What stands behind the name of a chapter, by :data:`HEADS`."""
    planned = row.published.words if row.published else "no plan"
    if row.together:
        planned += f" with {' and '.join(row.together)}"
    docker = ["Docker"] if row.docker else []
    return [
        f"{row.stored_runs} run{'s' * (row.stored_runs != 1)}, {size_words(row.stored_bytes)}",
        row.own.words if row.own else "–",
        planned,
        size_words(row.log_bytes) if row.log_bytes else "–",
        ", ".join([*(one.versioned + _MARKS.get(one.kind, "") for one in row.systems), *docker]),
    ]


def size_words(size_bytes: int) -> str:
    """``3.3 GB``, ``742 MB``, ``48 kB``"""
    if size_bytes >= 1e9:
        return f"{size_bytes / 1e9:.1f} GB"
    return f"{size_bytes / 1e6:.0f} MB" if size_bytes >= 1e6 else f"{math.ceil(size_bytes / 1e3)} kB"
