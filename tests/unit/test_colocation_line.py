"""Beside each waterfall of a scenario stands which of its steps are colocation, and what they multiply to."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import pytest

from gapbook.method.findings import Findings
from gapbook.method.source import Worth
from gapbook.method.stated import known_numbers
from gapbook.pages.exhibits import colocation_line
from gapbook.record.run import latest_published

_ADDRESSED = {
    "original-whole-gap": ["HTTP server"],
    "original-postgres-engine": ["Round trips", "HTTP server"],
    "fair-whole-gap": ["Round trips", "HTTP server"],
    "both-optimized-whole-gap": ["Round trips", "HTTP server"],
}
"""A number of each gap, which tells its factors, and those that are colocation."""


def _gap(address: str) -> tuple[Findings, Worth]:
    number = known_numbers().numbers[address]
    assert isinstance(number.source, Worth)
    return Findings(latest_published(number.chapter), number.chapter), number.source


@pytest.mark.parametrize("address", _ADDRESSED)
def test_the_line_names_the_steps_and_has_their_product(address: str) -> None:
    found, gap = _gap(address)
    said = colocation_line(found, gap.factors, gap.treatment)
    parts = found.decompose(gap.factors, gap.treatment)
    assert parts is not None
    shares = [share.multiplier for share in parts.shares if share.factor.name in _ADDRESSED[address]]
    assert '<a href="colocation.html">Colocation</a>' in said
    assert f"({' × '.join(_ADDRESSED[address])})" in said
    told = re.search(r": ×([\d.]+) \[([\d.]+)–([\d.]+)\]\.</p>", said)
    assert told is not None
    estimate, low, high = map(float, told.groups())
    assert estimate == pytest.approx(math.prod(share.estimate for share in shares), rel=0.006)
    assert low < estimate < high


def test_where_no_step_is_colocation_the_line_says_so_and_where_nothing_closes_there_is_none() -> None:
    found, gap = _gap("both-optimized-whole-gap")
    engine = [replace(one, along={}) for one in gap.factors if one.family == "residual"]
    assert colocation_line(found, engine, gap.treatment) == ""
    client = [one for one in gap.factors if one.dimension == "client"]
    assert colocation_line(found, client, gap.treatment) == (
        '<p><a href="colocation.html">Colocation</a>: none of these steps.</p>'
    )
