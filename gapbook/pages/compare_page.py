"""The page on which a reader lays a run of their own beside a published one, in their browser alone.

The page holds how far runs usually lie apart and where the published runs are, each in small as a script: a page that was
opened from a file may load a script from beside it, and nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import groupby

from gapbook.markup import Html
from gapbook.method.compared import MOST_FREEDOM, compared
from gapbook.method.spread import published_summaries, usual_spread
from gapbook.method.student import quantile_of_t
from gapbook.method.summary import MOST_SUMMARY_BYTES, SUMMARY_VERSION, Summary, written
from gapbook.pages.comparison import MOST_WORDS, READINGS, addresses_of
from gapbook.pages.page_files import leave_beside_run
from gapbook.record.run import latest_published

__all__ = ["compare_page", "shipped"]

_SCRIPT = "compare.js"
_SIGNIFICANT = 12
"""Digits of a quantile: more than any page prints."""
_WITHOUT_SCRIPTS = Html(
    "<noscript><p>This page needs JavaScript to read your run. The command does the same, in a terminal:</p>"
    '<pre class="gb-code">gapbook compare RUN</pre></noscript>'
)
_TAKE = Html(
    '<div class="gb-drop" hidden>'
    '<p><label for="gb-run">Drop the <code>compare.json</code> of your run here, or choose it:</label> '
    '<input type="file" id="gb-run" accept=".json,application/json"></p>'
    '<p><label for="gb-pasted">Or paste it:</label><textarea id="gb-pasted" rows="2" spellcheck="false" '
    'autocomplete="off"></textarea></p>'
    '<p><button type="button" class="gb-button gb-example">Show an example</button></p>'
    '<p class="gb-note">Your run stays in this browser. Nothing is sent anywhere.</p></div>'
)
_FOUND = Html(
    '<div class="gb-beside" hidden><p class="gb-runs"></p><p class="gb-usual"></p>{}'
    '<section class="gb-panel" aria-label="To paste"><p class="gb-panel-title">To paste</p>'
    '<button type="button" class="gb-button gb-copy" hidden>copy</button>'
    '<pre class="gb-code gb-paste" tabindex="0"></pre></section>{}</div>'
)
_TABLE = Html(
    '<div class="gb-table"><table><caption>{}</caption><thead><tr>{}</tr></thead>'
    '<tbody data-rows="{}"></tbody></table></div>'
)
_FOLD = Html('<details class="gb-fold"><summary></summary>{}</details>')
_LIST = Html('<ul data-rows="{}"></ul>')
_HEADS = ("yours ÷ ours", "which is", "yours", "ours")


def compare_page() -> Html:
    """Where a run is taken, and the tables that it fills. Writes each published run in small beside its pictures.

    Raises SetupError where they cannot be written.
    """
    runs = shipped()
    for one in runs.values():
        _write(one)
    parts = (
        _FOLD.format(_table("All ratios", "ratio", "ratios")),
        _FOLD.format(_table("Goodput, per second", "contestant", "rates")),
        _FOLD.format(_LIST.format("yours_alone")),
        _FOLD.format(_LIST.format("ours_alone")),
        _FOLD.format(_made_otherwise()),
    )
    return Html(
        '<section class="gb-compare" aria-label="Compare your run" data-book="{}">{}{}'
        '<p class="gb-heard" role="status"></p>{}</section>'
    ).format(
        json.dumps(_told(runs)),
        _WITHOUT_SCRIPTS,
        _TAKE,
        _FOUND.format(
            Html("").join(
                (
                    _table("What the chapter says", "number", "stated"),
                    _table("The ratios that lie farthest apart", "ratio", "first"),
                )
            ),
            Html("").join(parts),
        ),
    )


def shipped() -> Mapping[str, Summary]:
    """The published run that each chapter shows, by its chapter, and as ``""`` one of another machine, to begin with:
    of all such, that which shares most ratios with what its chapter shows."""
    shown, others = {}, []
    for chapter, of_chapter in groupby(published_summaries(), key=lambda one: one.chapter):
        by_id = {one.run_id: one for one in of_chapter}
        shown[chapter] = ours = by_id[latest_published(chapter).run_id]
        others += [(one, ours) for one in by_id.values() if one.processor != ours.processor]
    example = max(others, key=lambda pair: len(compared(*pair).ratios), default=None)
    return shown if example is None else {**shown, "": example[0]}


def _told(runs: Mapping[str, Summary]) -> dict[str, object]:
    """What the script must know."""
    return {
        "summary": SUMMARY_VERSION,
        "most_bytes": MOST_SUMMARY_BYTES,
        "most_words": MOST_WORDS,
        "readings": READINGS,
        "usual": {
            kind: asdict(usual_spread(same_processor=is_same))
            for kind, is_same in (("one", True), ("two", False))
        },
        "normal": _digits(quantile_of_t(float("inf"))),
        "student": [_digits(quantile_of_t(freedom)) for freedom in range(1, MOST_FREEDOM + 1)],
        "addresses": addresses_of(runs),
        "runs": {chapter: [one.run_id, _address(one)] for chapter, one in runs.items()},
    }


def _digits(number: float) -> float:
    return float(f"{number:.{_SIGNIFICANT}g}")


def _address(one: Summary) -> str:
    return f"../_static/runs/{one.run_id}/{_SCRIPT}"


def _write(one: Summary) -> None:
    leave_beside_run(
        one.run_id, _SCRIPT, f'(window.gapbookRuns ??= {{}})["{one.run_id}"] = {written(one)};\n'
    )


def _table(caption: str, head: str, rows: str) -> Html:
    return _TABLE.format(caption, _heads((head, *_HEADS)), rows)


def _made_otherwise() -> Html:
    return _TABLE.format("Settings that differ", _heads(("what", "yours", "ours")), "differences")


def _heads(heads: Sequence[str]) -> Html:
    return Html("").join(Html('<th scope="col">{}</th>').format(head) for head in heads)
