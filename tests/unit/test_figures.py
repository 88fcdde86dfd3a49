"""Charts as files: each has what its page shows, under a name that no new run changes and no other chart gets."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from gapbook import charts
from gapbook.book import figures
from gapbook.book.figures import KnownFigure, KnownFigures, figures_told, known_figures, updated, with_links
from gapbook.errors import GapbookError
from gapbook.markup import Html
from gapbook.method.stated import Withdrawn
from gapbook.paths import CHECKOUT
from gapbook.record.run import latest_published
from tests.unit import chart_inputs as inputs

_HOSTILE = "</title><script>alert('1')</script> & \"quoted\" </figure>"


def chart(title: str = "A leads by ×14.1") -> charts.Figure:
    return charts.latency(
        inputs.latency_series(count=2, n=2), provenance=inputs.PROVENANCE, title=title, subtitle="How."
    )


def shown(one: charts.Figure, *tags: str, heading: str = "") -> list[dict[str, Any]]:
    prose = [{"cell_type": "markdown", "metadata": {}, "source": heading}] if heading else []
    output = {"output_type": "display_data", "data": {"text/html": one.html}, "metadata": {}}
    return [
        *prose,
        {"cell_type": "code", "metadata": {"tags": list(tags)}, "source": "", "outputs": [output]},
    ]


def page(folder: Path, cells: Sequence[dict[str, Any]], name: str = "fair") -> dict[str, Path]:
    path = folder / f"{name}.ipynb"
    path.write_text(json.dumps({"cells": cells, "metadata": {}}), encoding="utf-8")
    return {name: path}


_PAGE = [
    *shown(chart(), "first-screen", heading="# Who leads?"),
    *shown(
        chart(), heading="## What's {term}`a step` worth: {glue:text}`x` times, and for whom else?\nProse."
    ),
    *shown(chart().named("whole-gap")),
    *shown(chart(), "proof"),
]


@pytest.mark.parametrize("title", ["A leads by ×14.1", _HOSTILE])
def test_a_page_gives_back_the_files_of_its_charts(title: str) -> None:
    drawn = [
        chart(title),
        charts.gates(inputs.seven_gates(), provenance=inputs.PROVENANCE, title=title, subtitle="How."),
    ]
    found = charts.shown_in(Html("<p>{}</p>{}{}").format(title, *drawn))
    for one, made in zip(found, drawn, strict=True):
        assert (one.title, one.description, one.table) == (made.title, made.description, made.table)
        assert (one.svg, one.phone_svg) == (made.svg(), made.svg(charts.PHONE_WIDTH))
    assert [one.kind for one in found] == ["latency", "gates"]
    assert charts.without_narrow(drawn[0].html).count("<svg") == 1


def test_a_chart_is_named_by_its_page_its_author_or_its_heading(tmp_path: Path) -> None:
    told = figures_told(page(tmp_path, _PAGE))
    assert [one.identifier for one in told] == [
        "fair",
        "fair-whats-a-step-worth-times-and",
        "fair-whole-gap",
    ]
    linked = "".join(
        output["data"]["text/html"]
        for cell in with_links("fair", _PAGE)
        for output in cell.get("outputs", [])
    )
    for one in told:
        for kind in ("svg", "png", "csv", "json"):
            assert linked.count(f'href="../figures/{one.identifier}.{kind}"') == 1
    with pytest.raises(ValueError, match="small letters"):
        chart().named("Whole gap")


def test_files_hold_what_the_page_shows(tmp_path: Path) -> None:
    named = figures_told(page(tmp_path, _PAGE))
    figures.write_figures(named, map(figures.picture_of, named), tmp_path)
    made, folder = chart(), tmp_path / "figures"
    for name in ("fair", "fair-whole-gap"):
        assert (folder / f"{name}.svg").read_text(encoding="utf-8") == made.svg()
        assert (folder / f"{name}.png").read_bytes() == made.png()
        rows = list(csv.reader(io.StringIO((folder / f"{name}.csv").read_text(encoding="utf-8"))))
        assert rows == [list(row) for row in (made.table.columns, *made.table.rows)]
        told = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        assert (told["title"], [list(row.values()) for row in told["rows"]]) == (made.title, rows[1:])
    assert [path.name for path in folder.glob("*-phone.svg")] == ["fair-phone.svg"]


def test_a_name_is_never_lost_nor_given_to_another_chart(tmp_path: Path) -> None:
    known = updated(figures_told(page(tmp_path, _PAGE)), KnownFigures({}, {}))
    assert updated(figures_told(page(tmp_path, _PAGE)), known) == known
    renamed = [*_PAGE[:4], *shown(chart().named("gap"))]
    with pytest.raises(GapbookError, match=r'fair-whole-gap: no page prints it any more.*named\("\.\.\."\)'):
        updated(figures_told(page(tmp_path, renamed)), known)
    other = charts.gates(inputs.seven_gates(), provenance=inputs.PROVENANCE, title="T", subtitle="How.")
    with pytest.raises(GapbookError, match="fair-whole-gap: leads to another chart than before"):
        updated(figures_told(page(tmp_path, [*_PAGE[:4], *shown(other.named("whole-gap"))])), known)
    fewer = {name: KnownFigure(one.page, one.kind, one.columns[:-1]) for name, one in known.figures.items()}
    assert updated(figures_told(page(tmp_path, _PAGE)), KnownFigures(fewer, {})) == known
    gone = KnownFigures(known.figures, {"fair-whole-gap": Withdrawn("it was wrong", "fair")})
    with pytest.raises(GapbookError, match="fair-whole-gap: was withdrawn"):
        updated(figures_told(page(tmp_path, _PAGE)), gone)
    assert "fair-gap" in updated(figures_told(page(tmp_path, renamed)), gone).figures


def test_two_charts_of_one_name_are_refused_in_the_published_book_alone(tmp_path: Path) -> None:
    cells = [*_PAGE, *shown(chart().named("whole-gap"))]
    told = figures_told(page(tmp_path, cells))
    assert [one.identifier for one in told][-2:] == ["fair-whole-gap", "fair-whole-gap-2"]
    with pytest.raises(GapbookError, match="two charts have the name fair-whole-gap;"):
        updated(told, KnownFigures({}, {}))


def test_every_name_is_kept_and_a_build_without_one_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    kept = known_figures().figures
    assert len(kept) > 40
    assert all(name == one.page or name.startswith(f"{one.page}-") for name, one in kept.items())
    monkeypatch.setattr(figures, "known_figures", lambda: KnownFigures({}, {}))
    with pytest.raises(GapbookError, match=r"book/figures.json: not of these pages \(fair, .*python -m"):
        figures.require_lasting(figures_told(page(tmp_path, _PAGE)))


def test_the_picture_of_the_readme_is_of_the_run_that_its_chapter_shows() -> None:
    (place,) = re.findall(r"!\[[^]]*\]\(([^)]*)\)", (CHECKOUT / "README.md").read_text(encoding="utf-8"))
    chapter = Path(place).parent.name
    assert latest_published(chapter).run_id in (CHECKOUT / place).read_text(encoding="utf-8")
