"""A figure is safe to inline: themed by tokens alone, described, with ids of its own, and without addresses."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from gapbook import charts
from gapbook.charts import Comparison, Condition, Figure, _kept, _vega
from gapbook.charts._canvas import Drawing
from gapbook.charts._figure import Table
from gapbook.charts._smaller import smaller
from gapbook.charts._tokens import TOKENS, light, recolour
from tests.unit import chart_inputs as inputs

HEX = re.compile(r"#[0-9A-Fa-f]{6}\b")
STYLE_SHEET = Path(__file__).parents[2] / "book" / "_static" / "gapbook.css"
HOSTILE = "<script>alert('1')</script> & \"quoted\" fill=x"


@pytest.fixture(scope="module")
def figures() -> list[Figure]:
    start, steps, end = inputs.gap_steps()
    about = {
        "provenance": inputs.PROVENANCE,
        "title": "A sentence with ×14.1",
        "subtitle": "How it was measured.",
    }
    return [
        charts.waterfall(start, steps, end, **about),  # type: ignore[arg-type]
        charts.latency(inputs.latency_series(count=2, n=2), **about),  # type: ignore[arg-type]
        charts.gates(inputs.seven_gates(), **about),  # type: ignore[arg-type]
        charts.missing("Not there", "no valid trial", provenance=inputs.PROVENANCE),
    ]


def test_light_colours_are_unique() -> None:
    hexes = [light.lower() for light, _ in TOKENS.values()]
    assert len(set(hexes)) == len(hexes)


def test_style_sheet_has_every_token_in_both_themes() -> None:
    light, dark = STYLE_SHEET.read_text(encoding="utf-8").split('html[data-theme="dark"] {', 1)
    for token, (light_hex, dark_hex) in TOKENS.items():
        assert f"--gb-{token}: {light_hex};" in light
        assert f"--gb-{token}: {dark_hex};" in dark.split("}", 1)[0]


def test_every_colour_of_the_page_is_a_variable(figures: list[Figure]) -> None:
    for figure in figures:
        bare = re.sub(r"var\(--gb-[a-z-]+, #[0-9A-Fa-f]{6}\)", "", figure.html)
        assert HEX.findall(bare) == []
        assert "var(--gb-ink, #222832)" in figure.html


def test_dark_file_has_dark_colours_only(figures: list[Figure]) -> None:
    dark = {dark_hex.lower() for _, dark_hex in TOKENS.values()}
    for figure in figures:
        assert {found.lower() for found in HEX.findall(figure.svg(328, "dark"))} <= dark


def test_a_colour_that_nobody_knows_is_that_of_systems_without_one() -> None:
    assert light("<script>") == light("other")


def test_unknown_colour_is_refused() -> None:
    with pytest.raises(ValueError, match="#123456 is no token"):
        recolour('<path fill="#123456"/>', "page")


def test_drawings_are_described_and_marks_are_silent(figures: list[Figure]) -> None:
    for figure in figures:
        for svg in re.findall(r"<svg\b.*?</svg>", figure.html, flags=re.S):
            assert svg.count("role=") == 1
            assert 'role="img"' in svg
            assert f">{html.escape(figure.title)}</title>" in svg
            assert f">{html.escape(figure.description)}</desc>" in svg
            assert "aria-roledescription" not in svg


def test_ids_are_unique_on_a_page_and_references_resolve(figures: list[Figure]) -> None:
    page = "".join(figure.html for figure in figures)
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(set(ids)) == len(ids)
    referred = re.findall(r'aria-(?:labelledby|describedby)="([^"]+)"', page)
    assert set(referred) <= set(ids)
    assert len(referred) == 4 * len(figures)


def test_ids_inside_a_drawing_are_made_its_own() -> None:
    """Where two drawings share ``clip0`` and the first is hidden, the second would not be clipped."""
    svg = '<svg><clipPath id="clip0"/><g clip-path="url(#clip0)"><text>id="clip0"</text></g></svg>'
    drawing = Drawing(svg, 688, 100, ())
    figure = Figure("clipped", "T", "D", drawing, drawing, Table((), ()))
    for end in ("w", "p"):
        assert f'id="{figure.id}-{end}-clip0"/><g clip-path="url(#{figure.id}-{end}-clip0)">' in figure.html
    assert figure.html.count('<text>id="clip0"</text>') == 2


def test_no_address_is_fetched(figures: list[Figure]) -> None:
    for figure in figures:
        assert not re.search(r"https?:|//|@import|<script|<link|<img", figure.html)
        assert re.findall(r'https?://[^"]+', figure.svg()) == ["http://www.w3.org/2000/svg"]


def test_notebook_output_is_html_and_text_only(figures: list[Figure]) -> None:
    for figure in figures:
        assert set(figure._repr_mimebundle_()) == {"text/html", "text/plain"}
        assert figure._repr_html_() == figure.html


def test_wide_drawing_alone_shows_without_the_style_sheet(figures: list[Figure]) -> None:
    assert all('<div class="gb-phone" style="display:none">' in figure.html for figure in figures)


def test_files_come_in_two_widths(figures: list[Figure]) -> None:
    assert 'width="688"' in figures[0].svg(688)
    assert figures[0].png(328, scale=1).startswith(b"\x89PNG")
    with pytest.raises(ValueError, match="688 or 328 pixels wide, not 500"):
        figures[0].svg(500)


def test_text_is_escaped_everywhere() -> None:
    known = Condition(HOSTILE, inputs.interval(10, n=2), (9.0, 11.0), None, "")
    figure = charts.comparisons(
        [Comparison(HOSTILE, "other", (known, Condition(HOSTILE, None, (), None, HOSTILE)))],
        axis=HOSTILE,
        provenance=charts.Provenance(run=HOSTILE, method=HOSTILE, url=HOSTILE, stamp=""),
        title=HOSTILE,
        subtitle=HOSTILE,
    )
    assert "<script" not in figure.html
    assert "&lt;script&gt;" in figure.html


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where drawings are kept: nothing as yet."""
    monkeypatch.setattr(_kept, "cache_directory", lambda: tmp_path)
    return tmp_path / "charts"


def _missing() -> str:
    return charts.missing("Not there", "no valid trial", provenance=inputs.PROVENANCE).html


def test_a_picture_is_drawn_once(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = _missing()
    files = list(kept.iterdir())
    assert len(files) == 2
    monkeypatch.setattr(_vega, "svg_of", lambda *_: pytest.fail("it was drawn before"))
    assert _missing() == first
    monkeypatch.setattr(_kept, "_drawn_by", lambda: "another version")
    with pytest.raises(pytest.fail.Exception, match="it was drawn before"):
        _missing()


@pytest.mark.parametrize(
    "damage", [lambda all: all[:-40], lambda all: b"", lambda all: all.replace(b"12", b"34")]
)
def test_a_kept_picture_that_is_damaged_is_drawn_anew(kept: Path, damage: Callable[[bytes], bytes]) -> None:
    first = _missing()
    for path in kept.iterdir():
        whole = path.read_bytes()
        path.write_bytes(damage(whole))
        assert path.read_bytes() != whole
    assert _missing() == first
    assert _missing() == first


def test_where_no_picture_can_be_kept_it_is_drawn_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = _missing()
    (tmp_path / "file").touch()
    monkeypatch.setattr(_kept, "cache_directory", lambda: tmp_path / "file")
    assert _missing() == first


def test_what_marks_share_is_said_once_and_no_mark_is_changed() -> None:
    svg = (
        '<g><path d="M1.23456,2L1.23456,2M3,4L5,4M6,7L6,8" fill="#111111" opacity="0.5" transform="translate(0,0)"/>'
        '<path d="M0.24,0L0.48,9L0.72,0L0.96,9" fill="#111111" opacity="0.5"/></g>'
        '<g><text fill="#111111" transform="translate(1,2.5)">a fill="#111111" M1,1L1,1</text>'
        '<text fill="#222222" transform="rotate(9)">b</text></g>'
        '<g><text fill="#111111">alone</text></g>'
        '<path d="M9,9L9,9M1,1L1,1M1.04,1L1.04,1M2,0L2,0"/>'
    )
    assert smaller(svg) == (
        '<g fill="#111111"><path d="m1.2,2h0m1.8,2h2m1,3v1" opacity="0.5"/>'
        '<path d="m0.2,0l0.3,9l0.2,-9l0.3,9" opacity="0.5"/></g>'
        '<g><text fill="#111111" x="1" y="2.5">a fill="#111111" M1,1L1,1</text>'
        '<text fill="#222222" transform="rotate(9)">b</text></g>'
        '<g><text fill="#111111">alone</text></g>'
        '<path d="m2,0h0m-1,1h0m8,8h0"/>'
    )


def test_same_input_draws_the_same_bytes() -> None:
    first, second = (
        charts.gates(inputs.seven_gates(), provenance=inputs.PROVENANCE, title="Gates", subtitle="")
        for _ in range(2)
    )
    assert first.html == second.html
