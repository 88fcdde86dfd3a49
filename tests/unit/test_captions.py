"""Each table of a page has a caption: its own, or the title of what it stands in."""

from __future__ import annotations

import re

import pytest

from gapbook.book.captions import with_captions

_TABLE = "<table><thead></thead></table>"
_FOLD = "<details class='gb-fold'><summary>Each <b>trial</b></summary>{}</details>"
_CHART = (
    '<figure class="gb-fig"><svg><title id="gb-gap-w-t">×2 at α = 0.5 &amp; more</title><desc>A</desc></svg>'
    '<svg><title id="gb-gap-p-t">×2 at α = 0.5 &amp; more</title></svg>'
    '<details class="gb-data"><summary>Data of this chart</summary>{}</details></figure>'
)


@pytest.mark.parametrize(
    ("page", "captions"),
    [
        (f'<h2>One<a class="headerlink" href="#one">#</a></h2>\n{_TABLE}', ["One"]),
        (f"<h2>One</h2>{_FOLD.format(_TABLE * 2)}{_TABLE}", ["Each trial", "Each trial", "One"]),
        (f"<h2>One</h2>{_CHART.format(_TABLE)}{_TABLE}", ["×2 at α = 0.5 &amp; more", "One"]),
        (f"<h2>One</h2>{_FOLD.format(_CHART.format(_TABLE) + _TABLE)}",
         ["×2 at α = 0.5 &amp; more", "Each trial"]),
        (f"<h2>One</h2>{_FOLD.format('')}<h3>Two</h3>{_TABLE}", ["Two"]),
        (_TABLE, []),
    ],
)  # fmt: skip
def test_a_table_is_called_what_stands_above_it(page: str, captions: list[str]) -> None:
    made = with_captions(page)
    assert re.findall(r'<table><caption class="visually-hidden">(.*?)</caption>', made) == captions
    assert re.sub(r"<caption.*?</caption>", "", made) == page


def test_a_caption_of_its_own_is_kept() -> None:
    page = '<h2>One</h2><table class="a">\n<caption>Own</caption></table>'
    assert with_captions(page) == page
