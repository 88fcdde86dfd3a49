"""How long a chapter may be, first screen, code and what is folded away left out; and how plainly it is written."""

from __future__ import annotations

import re
import statistics
from dataclasses import astuple, dataclass

from gapbook.book.chapters import chapters, overviews
from tests.book.book_site import Open, Site

_SCREEN_PX = 900
_MEASURE = """() => {
  const main = document.querySelector("article");
  const left_out = "figure, details:not([open]), script, style, .cell_input, .tag_first-screen, .visually-hidden";
  const texts = document.createTreeWalker(main, NodeFilter.SHOW_TEXT);
  let words = 0;
  while (texts.nextNode())
    if (!texts.currentNode.parentElement.closest(left_out))
      words += texts.currentNode.data.split(/\\s+/).filter((word) => /[\\p{L}\\p{N}]/u.test(word)).length;
  const tables = [...main.querySelectorAll("table")].filter((table) => !table.closest(left_out));
  const rows = tables.map((table) => table.querySelectorAll("tbody tr").length);
  const prose = [...main.querySelectorAll("p, li")].filter(
    (one) => !one.closest(`${left_out}, table, nav, .gb-panel`) && !one.querySelector("p, li"));
  return [words, main.querySelectorAll("figure.gb-fig").length, tables.length, Math.max(0, ...rows),
          document.documentElement.scrollHeight, prose.map((one) => one.textContent)];
}"""
_SENTENCE_ENDS = re.compile(r"(?<=[.?!:;])\s+")
_WORD = re.compile(r"[A-Za-z][A-Za-z'’-]*")
_FEWEST_WORDS = 3
_LONGEST_MEDIAN = 16
_LEAST_EASE = 55
_MOST_WORDS_IN_ALL = 40_000
_PROOF = {"corrections", "calibration", "precision", "faults", "price-of-a-container"}
"""Pages of the part *Proof*."""


@dataclass(frozen=True)
class _Length:
    """Words, charts, tables, rows of the longest table, and screens of 900 px on a desktop."""

    words: int
    charts: int
    tables: int
    rows: int
    screens: float


_MOST = _Length(1500, 4, 3, 12, 8)


def test_chapters_are_as_short_as_they_promise_and_as_plain(published_site: Site, visit: Open) -> None:
    wrong, in_all, measuring = [], 0, chapters()
    for name in [*measuring, *overviews()]:
        page = visit(published_site, f"notebooks/{name}.html", width=1440, from_file=True).page
        words, charts, tables, rows, height_px, prose = page.evaluate(_MEASURE)
        found = _Length(words, charts, tables, rows, round(height_px / _SCREEN_PX, 1))
        wrong += [
            f"{name}.html: {value} {field}, at most {allowed}"
            for field, value, allowed in zip(
                _Length.__dataclass_fields__, astuple(found), astuple(_MOST), strict=True
            )
            if value > allowed and name in measuring
        ]
        in_all += 0 if name in _PROOF else words
        sentences = _sentences(prose)
        median, ease = statistics.median(map(len, sentences)), _reading_ease(sentences)
        if median > _LONGEST_MEDIAN:
            wrong.append(f"{name}.html: half of its sentences have {median} words or more")
        if ease < _LEAST_EASE:
            wrong.append(f"{name}.html: reading ease {ease:.0f}, at least {_LEAST_EASE}")
    assert not wrong, "\n".join(wrong)
    assert in_all <= _MOST_WORDS_IN_ALL


def test_hard_words_and_long_sentences_are_told_from_easy_ones() -> None:
    easy, hard = (
        _sentences([text])
        for text in (
            "The disk is slow. We wait for it. One lock is held.",
            "Notwithstanding considerable heterogeneity, instrumentation necessitates comprehensive characterisation "
            "of distributional irregularities.",
        )
    )
    assert [len(sentence) for sentence in easy] == [4, 4, 4]
    assert _reading_ease(hard) < _LEAST_EASE < _reading_ease(easy)


def _sentences(prose: list[str]) -> list[list[str]]:
    """The words of each sentence; numbers are none, and what has hardly a word is no sentence."""
    said = [_WORD.findall(part) for text in prose for part in _SENTENCE_ENDS.split(text)]
    return [words for words in said if len(words) >= _FEWEST_WORDS]


def _reading_ease(sentences: list[list[str]]) -> float:
    """Flesch's (J. Appl. Psychol. 32, 1948): 206.835 less 1.015 words a sentence less 84.6 syllables a word."""
    words = [word for sentence in sentences for word in sentence]
    return 206.835 - 1.015 * len(words) / len(sentences) - 84.6 * sum(map(_syllables, words)) / len(words)


def _syllables(word: str) -> int:
    """Groups of vowels, less a silent e at the end."""
    groups = len(re.findall(r"[aeiouy]+", word.lower()))
    silent = word.lower().endswith("e") and not word.lower().endswith("le") and groups > 1
    return max(1, groups - silent)
