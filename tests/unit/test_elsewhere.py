"""The same part of a gap on another page: the nearest number, and all that is set otherwise there."""

from __future__ import annotations

import re

import pytest

from gapbook.method.factors import Factor
from gapbook.method.findings import Findings
from gapbook.method.source import Worth, contrast_of
from gapbook.method.stated import known_numbers
from gapbook.pages.exhibits.elsewhere import residual_elsewhere, times_elsewhere
from gapbook.record.published import measurement_of
from gapbook.record.run import latest_published

_PAGES = {
    "where-the-gap-comes-from": "where-the-gap-comes-from-engine-worth",
    "both-optimized": "both-optimized-engine-worth",
    "fair": "fair-engine-worth",
    "original": "original-postgres-engine",
    "todays-headline": "todays-headline-engine-worth",
}
"""Pages with a residual between Postgres and SpacetimeDB, and its address there."""


def _worth(chapter: str) -> Worth:
    source = known_numbers().numbers[_PAGES[chapter]].source
    assert isinstance(source, Worth)
    return source


def _estimate(chapter: str) -> float:
    contrast = contrast_of(_worth(chapter), Findings(latest_published(chapter), chapter))
    assert contrast is not None
    return contrast.interval.estimate


@pytest.mark.parametrize("chapter", _PAGES)
def test_each_page_names_the_nearest_residual_of_another_and_what_is_set_otherwise(chapter: str) -> None:
    found, source = Findings(latest_published(chapter), chapter), _worth(chapter)
    said = residual_elsewhere(found, source.factors, at=source.treatment)
    here, there = (float(number) for number in re.findall(r"is ×([\d.]+)", said))
    own = measurement_of(found.run)
    others = [_estimate(other) for other in _PAGES if measurement_of(latest_published(other)) != own]
    assert others
    nearest = min(others, key=lambda one: max(one, here) / min(one, here))
    assert there == pytest.approx(nearest, rel=0.006)
    assert here == pytest.approx(_estimate(chapter), rel=0.006)
    assert re.search(r'in <a href="[\w-]+\.html">[^<]+</a>\. Its settings differ: \S', said)


@pytest.mark.parametrize(
    ("chapter", "beside"),
    [
        ("where-the-gap-comes-from", "both-optimized"),
        ("both-optimized", "where-the-gap-comes-from"),
        ("fair", None),
    ],
)
def test_what_the_same_trials_give_elsewhere_between_the_same_ends_stands_beside(
    chapter: str, beside: str | None
) -> None:
    found, source = Findings(latest_published(chapter), chapter), _worth(chapter)
    said = residual_elsewhere(found, source.factors, at=source.treatment)
    named = re.findall(r'here; <a href="([\w-]+)\.html">[^<]+</a> has ×([\d.]+), over other', said)
    assert [name for name, _ in named] == ([beside] if beside else [])
    for name, number in named:
        assert float(number) == pytest.approx(_estimate(name), rel=0.006)


def test_only_what_the_other_page_has_otherwise_is_named() -> None:
    found, source = Findings(latest_published("fair"), "fair"), _worth("fair")
    said = residual_elsewhere(found, source.factors, at=source.treatment).striptags()
    named = said.partition("Its settings differ: ")[2].removesuffix(".").split(", ")
    assert len(named) == len(set(named))
    own = {
        "SpacetimeDB 2.8.3",
        "waiting for the disk",
        "TypeScript client",
        "one request at a time",
        "64 connections",
    }
    assert not own & set(named)


def test_a_residual_between_other_systems_has_no_like_elsewhere() -> None:
    found = Findings(latest_published("original"), "original")
    worth = known_numbers().numbers["original-engine-worth"].source
    assert isinstance(worth, Worth)
    assert residual_elsewhere(found, worth.factors, at=worth.treatment) == ""
    unknown = (Factor("Rest", "system", "postgres", "nothing that was run", "residual"),)
    assert residual_elsewhere(found, unknown, at=worth.treatment) == ""


def test_a_ratio_of_another_chapter_is_that_of_its_newest_run() -> None:
    names = "spacetimedb-published-deep", "postgres-drizzle-server-serializable"
    found = Findings(latest_published("todays-headline"), "todays-headline")
    ratio = found.ratio(*names, 1.5)
    assert ratio is not None
    assert times_elsewhere("todays-headline", *names, at=1.5) == ratio.as_times().partition(" ")[0]
    assert times_elsewhere("no-such-chapter", *names, at=1.5) == "(not measured)"
