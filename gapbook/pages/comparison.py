"""Two runs side by side, in words: for a terminal, for a program, and to be pasted into a discussion."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from gapbook.errors import cut
from gapbook.method.compared import Comparison, Reading, Row
from gapbook.method.interval import Interval, format_factor
from gapbook.method.named import published_chapters
from gapbook.method.summary import Summary
from gapbook.pages.bibtex import book_as_cited
from gapbook.pages.corrections import hour
from gapbook.record.schema import one_line
from gapbook.text_table import text_table

__all__ = ["MOST_WORDS", "READINGS", "addresses_of", "comparison_json", "comparison_lines", "text_to_paste"]

MOST_WORDS = 40
"""Of a text to paste."""
READINGS: dict[Reading, str] = {
    "beyond": "differs",
    "usual": "as machines differ",
    "equal": "too close to call",
    "same run": "the same run",
    "no interval": "too few blocks",
}
"""What is said of a row."""
_VERSION = 1
_PROCESSOR_WORDS = 4
_MOST_NAMED = 8


def comparison_lines(found: Comparison) -> list[str]:
    """What the command prints: both runs, ratios, rates, what only one of them has, what was set otherwise, and a text to
    paste."""
    return [
        f"yours: {_run_words(found.yours)}",
        f"ours:  {_run_words(found.ours)}",
        "",
        *_usual(found),
        *_table("number of the chapter", found.stated, Interval.as_factor),
        *_table("ratio", found.ratios, Interval.as_factor),
        *_table("goodput, per second", found.rates, Interval.as_count),
        *_alone("only in yours", found.yours, found.yours_alone),
        *_alone("only in ours", found.ours, found.ours_alone),
        *_differences(found),
        "to paste:",
        text_to_paste(found),
    ]


def text_to_paste(found: Comparison) -> str:
    """The whole in at most 40 words: how many quantities lie as far apart as machines do, and the one that lies farthest;
    then the address of the chapter, where the book has one."""
    texts = [text.split() for text in _texts(found)]
    longest = next((words for words in texts if len(words) <= MOST_WORDS), texts[0])
    # Names of a foreign run are of any length, and on any number of lines.
    return " ".join([*longest[:MOST_WORDS], *addresses_of([found.ours.chapter]).values()])


def addresses_of(chapters: Iterable[str]) -> dict[str, str]:
    """Where the pages of published chapters are; none where the book has no address."""
    _, book = book_as_cited()
    known = published_chapters()
    return {
        chapter: f"{book.rstrip('/')}/notebooks/{chapter}.html"
        for chapter in chapters
        if book and chapter in known
    }


def _texts(found: Comparison) -> Iterator[str]:
    """The longest that there is to say first."""
    yours, ours = found.yours, found.ours
    processor = " ".join(yours.processor.split()[:_PROCESSOR_WORDS])
    where = f"Run {yours.run_id} ({processor}) beside The Gap Book's {ours.run_id}, {ours.chapter}:"
    what, total = _what(found), len(found.rows)
    told = total - found.count("no interval")
    if found.same_run:
        yield f"{where} the same run, ×1.00 in all {total} {what}."
    elif not told:
        yield f"{where} {total} {what}, too few blocks to tell them apart."
    else:
        agree = f"{found.count('equal', 'usual')} of {told} {what} agree within noise and machines"
        if beyond := [row for row in found.rows if row.reading == "beyond"]:
            worst = max(beyond, key=lambda row: row.distance)
            yield f"{where} {agree}; farthest {worst.quantity}: {worst.ratio.as_factor()} of ours."
        yield f"{where} {agree}."


def _what(found: Comparison) -> str:
    return "numbers of the chapter" if found.stated else "ratios" if found.ratios else "rates"


def comparison_json(found: Comparison) -> str:
    """All of it, for a program."""
    content = {
        "comparison": _VERSION,
        "yours": _run_of(found.yours),
        "ours": _run_of(found.ours),
        "same_run": found.same_run,
        "usual_sd_log": {"ratios": found.spread.ratios, "rates": found.spread.rates},
        "numbers": list(map(_row_of, found.stated)),
        "ratios": list(map(_row_of, found.ratios)),
        "rates": list(map(_row_of, found.rates)),
        "only_yours": list(map(found.yours.named, found.yours_alone)),
        "only_ours": list(map(found.ours.named, found.ours_alone)),
        "differences": [
            {"what": one.what, "yours": one.yours, "ours": one.ours} for one in found.differences
        ],
        "text": text_to_paste(found),
    }
    return json.dumps(content, ensure_ascii=False, indent=1)


def _run_words(one: Summary) -> str:
    return (
        f"run {one.run_id} of {one_line(one.chapter)}, {hour(one.began_unix_s)}, {one_line(one.processor)}, {one.valid_trials} of {one.trials} "
        "trials count"
    )


def _usual(found: Comparison) -> list[str]:
    if found.same_run:
        return ["Both are the same run: nothing differs.", ""]
    kind = (
        "one kind of processor" if found.yours.processor == found.ours.processor else "two kinds of processor"
    )
    beyond, told = found.count("beyond"), len(found.rows) - found.count("no interval")
    what = _what(found)
    return [
        f"Two runs of the book on {kind} lie apart by ×{format_factor(math.exp(found.spread.ratios))} in a ratio and "
        f"×{format_factor(math.exp(found.spread.rates))} in a rate (one standard deviation, noise taken off).",
        f"{beyond} of {told} {what} lie farther apart than noise and another machine put them in 95 of 100 cases.",
        "",
    ]


def _table(head: str, rows: Sequence[Row], printed: Callable[[Interval], str]) -> list[str]:
    body = [
        [
            cut(row.quantity),
            row.ratio.as_factor(),
            READINGS[row.reading] + (f" ({cut('; '.join(row.versions))})" if row.versions else ""),
            printed(row.yours),
            printed(row.ours),
        ]
        for row in rows
    ]
    table = text_table((head, "yours ÷ ours", "which is", "yours", "ours"), body)
    return [*table, ""] if table else []


def _alone(head: str, one: Summary, places: Sequence[int]) -> list[str]:
    """Who has cells that the other run lacks: contestants, for there may be many cells."""
    names = list(dict.fromkeys(one.contestants[one.cells[place].contestant].name for place in places))
    if not names:
        return []
    more = len(names) - _MOST_NAMED
    told = ", ".join(one_line(name) for name in names[:_MOST_NAMED]) + (
        f" and {more} more" if more > 0 else ""
    )
    return [f"{head}: {len(places)} cells of {told}", ""]


def _differences(found: Comparison) -> list[str]:
    table = text_table(
        ("made otherwise", "yours", "ours"),
        [[cut(text) for text in (one.what, one.yours, one.ours)] for one in found.differences],
    )
    return [*table, ""] if table else []


def _run_of(one: Summary) -> dict[str, Any]:
    return {
        "run_id": one.run_id,
        "manifest_sha256": one.manifest_sha256,
        "chapter": one.chapter,
        "began_unix_s": one.began_unix_s,
        "machine": one.machine,
        "versions": one.versions,
        "settings": one.settings,
        "trials": one.trials,
        "valid_trials": one.valid_trials,
    }


def _row_of(row: Row) -> dict[str, Any]:
    return {
        "quantity": row.quantity,
        "says": row.says,
        "yours": _interval_of(row.yours),
        "ours": _interval_of(row.ours),
        "yours_by_ours": _interval_of(row.ratio),
        "reading": row.reading,
        "versions": list(row.versions),
    }


def _interval_of(one: Interval) -> dict[str, float | int | None]:
    low, high = (end if one.bounded else None for end in (one.low, one.high))
    return {"estimate": one.estimate, "low": low, "high": high, "n": one.n}
