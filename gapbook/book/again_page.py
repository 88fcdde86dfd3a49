"""The page that says what of the book can be made again: tables of :mod:`gapbook.book.again`."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from gapbook.book.again import HEADS, Again, Gone, again_cells, size_words
from gapbook.book.arrivals import Arrival, Kind, arrival_of
from gapbook.book.contents import pages_of
from gapbook.book.expected import duration_words
from gapbook.book.systems import systems
from gapbook.markup import Html, link, values_table
from gapbook.pages.page import Download, download_buttons, fold
from gapbook.pages.page_files import AGAIN, leave
from gapbook.pages.titles import table_of_contents
from gapbook.prerequisites import BUILD_NEEDS_BYTES, ENVIRONMENT_NEEDS_BYTES

__all__ = ["again_facts", "arrivals_tables", "chapters_tables", "gone_table"]

_MOST_ROWS = 12
_MOST_NAMES = 3
_ELSEWHERE = "Not in the contents"
_ARRIVE: Mapping[Kind, str] = {
    "fetched": "Fetched",
    "compiled": "Compiled on your machine",
    "image": "Only as a container image",
}


def again_facts(rows: Sequence[Again], headlines_s: float) -> dict[str, str]:
    """What prose says of all chapters, and how long a campaign of headlines takes."""
    # Chapters that are measured together have the seconds of all.
    once = {frozenset({row.chapter, *row.together}): row.published for row in rows if row.published}
    return {
        "again_chapters": f"{len(rows)}",
        "again_runs": f"{sum(row.stored_runs for row in rows)}",
        "again_size": size_words(sum(row.stored_bytes for row in rows)),
        "again_headlines": duration_words(headlines_s),
        "again_campaign": duration_words(sum(takes.seconds or 0.0 for takes in once.values())),
        "again_log": size_words(max((row.log_bytes or 0 for row in rows), default=0)),
        "again_room": f"{(BUILD_NEEDS_BYTES + ENVIRONMENT_NEEDS_BYTES) / 2**30:.0f} GiB",
    }


def chapters_tables(rows: Sequence[Again]) -> Html:
    """A table for each part of the book, each row a chapter, and all rows as a file."""
    parts: dict[str, list[Again]] = {}
    by_page = {row.chapter: row for row in rows}
    for part in table_of_contents()["parts"]:
        names = [PurePosixPath(page["file"]).name for page in pages_of(part)]
        parts[part["caption"]] = [by_page.pop(name) for name in names if name in by_page]
    parts[_ELSEWHERE] = list(by_page.values())
    tables = [
        # How much is stored of a chapter stands in the file.
        _table(
            [HEADS[0], *HEADS[2:]], [[_linked(row.chapter), *again_cells(row)[1:]] for row in part], caption
        )
        for caption, part in parts.items()
        if part
    ]
    file = Download("all of it, CSV", leave(AGAIN, "again.csv", _as_csv(rows).encode()))
    return Html('<div class="gb-again">{}{}</div>').format(Html("").join(tables), download_buttons([file]))


def arrivals_tables(rows: Sequence[Again]) -> Html:
    """How each version of each system comes, but for those that need nothing and those that no command brings."""
    known = {arrival_of(one.name, version) for one in systems() for version in one.versions or (None,)}
    known |= {arrival for row in rows for arrival in row.systems}
    return Html("").join(
        _table(
            ("system", "how it comes", "chapters"),
            list(_arrivals([one for one in known if one.kind == kind], rows)),
            caption,
        )
        for kind, caption in _ARRIVE.items()
    )


def _arrivals(arrivals: Sequence[Arrival], rows: Sequence[Again]) -> Iterator[list[str | Html]]:
    """A row for each system, or several where its versions come in several ways."""
    versions: dict[tuple[str, str, str], list[str]] = {}
    for one in sorted(arrivals, key=lambda one: (one.label.lower(), one.version)):
        versions.setdefault((one.system, one.label, one.how), []).append(one.version)
    for (system, label, how), those in versions.items():
        of = [row.chapter for row in rows if any(one.system == system for one in row.systems)]
        yield [f"{label} {', '.join(filter(None, those))}".strip(), how, _named(of)]


def gone_table(found: Sequence[Gone]) -> Html:
    """What no command makes again, with the chapters that hold it or ask for it."""
    table = _table(
        ("what", "chapters", "why, and what helps"),
        [[one.versioned, _named(one.chapters), one.why] for one in found],
        "What no command makes again",
    )
    return Html('<div class="gb-broken">{}</div>').format(table)


def _named(chapters: Sequence[str]) -> str | Html:
    """Chapters by name, or how many where they are many."""
    if len(chapters) > _MOST_NAMES:
        return f"{len(chapters)} chapters"
    return Html(", ").join(map(_linked, chapters)) if chapters else "–"


def _linked(chapter: str) -> Html:
    return link(f"{chapter}.html", chapter)


def _table(heads: Sequence[str], rows: Sequence[Sequence[str | Html]], caption: str) -> Html:
    """At most so many rows in sight, the others in a fold."""
    shown, more = rows[:_MOST_ROWS], rows[_MOST_ROWS:]
    table = values_table(heads, shown, caption=caption)
    return table + fold(f"{len(more)} more", values_table(heads, more, caption=caption)) if more else table


def _as_csv(rows: Sequence[Again]) -> str:
    """A line for each chapter, with its numbers unrounded and the commands that measure it."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    heads = "stored_runs", "stored_bytes", "own_trials", "own_s", "plan_trials", "plan_sessions", "plan_s"
    table.writerow(
        ["chapter", *heads, "measured_with", "log_bytes", "docker", "systems", "page", "own", "plan"]
    )
    for row in rows:
        own, plan = row.own, row.published
        table.writerow(
            [
                row.chapter,
                row.stored_runs,
                row.stored_bytes,
                own and own.trials,
                own and own.seconds,
                plan and plan.trials,
                plan and plan.sessions,
                plan and plan.seconds,
                " ".join(row.together),
                row.log_bytes,
                row.docker,
                "; ".join(f"{one.versioned}: {one.how}" for one in row.systems),
                f"gapbook run {row.chapter} -p source=published",
                f"gapbook run {row.chapter}",
                plan and f"gapbook campaign {' '.join([row.chapter, *row.together])}",
            ]
        )
    return text.getvalue()
