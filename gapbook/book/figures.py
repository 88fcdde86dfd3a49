"""The charts of the published book as files: ``figures/NAME.svg`` and beside it, under names that a new run does not change.

    python -m gapbook.book.figures

writes ``book/figures.json``, which keeps every name, anew from the pages that were executed last.

The chart of a first screen has its page's name, ``fair``. Any other has behind that the name that its author gave it
(:meth:`gapbook.charts.Figure.named`), else the first words of the heading under which it stands.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from gapbook import charts
from gapbook.book.lasting import Addresses, written_anew
from gapbook.book.told_numbers import plain
from gapbook.errors import GapbookError
from gapbook.markup import Html, link
from gapbook.method.stated import Withdrawn
from gapbook.paths import CHECKOUT

__all__ = [
    "FIRST_SCREEN",
    "KnownFigure",
    "KnownFigures",
    "Named",
    "figures_told",
    "known_figures",
    "picture_of",
    "require_lasting",
    "updated",
    "with_links",
    "write_figures",
]

FIRST_SCREEN = "first-screen"
"""The tag of the cell that is shown right under a title."""
_PROOF = "proof"
_FIGURES = CHECKOUT / "book" / "figures.json"
_ADDRESSES = Addresses(_FIGURES.name, "python -m gapbook.book.figures", "chart")
_MOST_WORDS = 6
_GLUED = re.compile(r"\{glue:text\}`[^`]*`")
_WORD = re.compile(r"[a-z0-9]+")
_FILES = ("svg", "png", "csv", "json")


class Named(NamedTuple):
    """A chart under its lasting name, and the page that shows it. Of charts that would have one name the later ones have a
    number behind it: so the book of a reader's own run can be made, and the published one is refused."""

    identifier: str
    page: str
    chart: charts.Shown
    numbered: bool


class KnownFigure(msgspec.Struct, frozen=True):
    """What is kept of a chart: its page, its kind, and the columns of its data, which others read by name."""

    page: str
    kind: str
    columns: tuple[str, ...]


class KnownFigures(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Every name under which a chart was ever published."""

    figures: dict[str, KnownFigure]
    withdrawn: dict[str, Withdrawn]


def known_figures() -> KnownFigures:
    """The names as they are kept; raises GapbookError for a file that is not as it must be."""
    try:
        return msgspec.json.decode(_FIGURES.read_bytes(), type=KnownFigures)
    except FileNotFoundError:
        return KnownFigures({}, {})
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise _ADDRESSES.error(f"{error}; write it anew: {_ADDRESSES.write}") from None


def figures_told(executed: Mapping[str, Path]) -> list[Named]:
    """The charts of these executed notebooks, but those that prove a run, in their order.

    Raises GapbookError where charts of two pages have one name.
    """
    found: dict[str, Named] = {}
    for page, path in executed.items():
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        for _, one in _named(page, cells):
            if one.identifier in found:
                raise GapbookError(_twice(one.identifier))
            found[one.identifier] = one
    return list(found.values())


def with_links(page: str, cells: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The cells of a page with a line at the foot of each chart, which leads to its files."""
    lines: dict[tuple[int, int], list[Html]] = {}
    for place, one in _named(page, cells):
        lines.setdefault(place, []).append(_line(one.identifier))
    return [
        {
            **cell,
            "outputs": [
                _with_lines(output, lines[at, place]) if (at, place) in lines else output
                for place, output in enumerate(cell["outputs"])
            ],
        }
        if "outputs" in cell
        else cell
        for at, cell in enumerate(cells)
    ]


def write_figures(named: Iterable[Named], pictures: Iterable[bytes], site: Path) -> None:
    """Write each chart and its picture into ``figures`` of the book's site; of a first screen, which pages of numbers
    show, the narrow drawing too. A name that was withdrawn has a file that says why."""
    folder = site / "figures"
    folder.mkdir(exist_ok=True)
    for (identifier, page, chart, _), picture in zip(named, pictures, strict=True):
        path = folder / f"{identifier}.svg"
        path.write_text(chart.svg, encoding="utf-8")
        path.with_suffix(".png").write_bytes(picture)
        path.with_suffix(".csv").write_text(chart.table.as_csv(), encoding="utf-8")
        path.with_suffix(".json").write_text(chart.as_json(), encoding="utf-8")
        if identifier == page:
            path.with_name(f"{page}-phone.svg").write_text(chart.phone_svg, encoding="utf-8")
    for identifier, gone in known_figures().withdrawn.items():
        told = json.dumps({"withdrawn": gone.why, "replaced_by": gone.replaced_by}, indent=1)
        (folder / f"{identifier}.json").write_text(told, encoding="utf-8")


def picture_of(one: Named) -> bytes:
    """The picture of a chart as PNG."""
    return one.chart.png()


def updated(named: Sequence[Named], known: KnownFigures) -> KnownFigures:
    """What is to be kept of the charts that a build has.

    Raises GapbookError where a name is gone and not withdrawn, is that of another chart than before, or of two.
    """
    if several := [one.identifier.rpartition("-")[0] for one in named if one.numbered]:
        raise GapbookError(_twice(several[0]))
    now = {
        one.identifier: KnownFigure(one.page, one.chart.kind, one.chart.table.columns)
        for one in sorted(named, key=lambda one: one.identifier)
    }
    _ADDRESSES.require_lasting(
        now,
        known.figures,
        known.withdrawn,
        another=_another,
        keep='give its chart that name, .named("..."), or ',
    )
    return KnownFigures(now, known.withdrawn)


def require_lasting(named: Sequence[Named]) -> None:
    """Raise GapbookError where what is kept is not what this build has; see :func:`updated`."""
    known = known_figures()
    _ADDRESSES.require_same(updated(named, known).figures, known.figures)


def _named(page: str, cells: Sequence[dict[str, Any]]) -> Iterator[tuple[tuple[int, int], Named]]:
    """Each chart with the places of its cell, and of the output of that, in which it stands."""
    heading, taken = "", Counter[str]()
    for at, cell in enumerate(cells):
        if cell["cell_type"] == "markdown":
            heading = next((line for line in reversed(_lines(cell)) if line.startswith("#")), heading)
        tags = cell["metadata"].get("tags", [])
        if cell["cell_type"] != "code" or _PROOF in tags:
            continue
        for place, output in enumerate(cell["outputs"]):
            for chart in charts.shown_in(_html(output)):
                name = chart.name or ("" if FIRST_SCREEN in tags else _slug(heading))
                identifier = f"{page}-{name}" if name else page
                taken[identifier] += 1
                number = taken[identifier]
                told = identifier if number == 1 else f"{identifier}-{number}"
                yield (at, place), Named(told, page, chart, number > 1)


def _lines(cell: Mapping[str, Any]) -> list[str]:
    return "".join(cell["source"]).splitlines()


def _html(output: Mapping[str, Any]) -> str:
    return "".join(output.get("data", {}).get("text/html", ""))


def _slug(heading: str) -> str:
    """The first words of a heading, without what changes from run to run."""
    return "-".join(_WORD.findall(plain(_GLUED.sub("", heading)).lower().replace("'", ""))[:_MOST_WORDS])


def _with_lines(output: Mapping[str, Any], lines: list[Html]) -> dict[str, Any]:
    return {**output, "data": {**output["data"], "text/html": charts.with_lines_below(_html(output), lines)}}


def _line(identifier: str) -> Html:
    files = (link(f"../figures/{identifier}.{kind}", kind.upper(), download=True) for kind in _FILES)
    return Html('<p class="gb-files">This chart: {}</p>').format(Html(" · ").join(files))


def _another(before: KnownFigure, now: KnownFigure) -> str:
    """What led there before; empty where it is the same chart still, be it that its data have more columns now."""
    kept = (now.page, now.kind, now.columns[: len(before.columns)])
    same = kept == (before.page, before.kind, before.columns)
    return "" if same else f"{before.kind} of {before.page}: {', '.join(before.columns)}"


def _twice(identifier: str) -> str:
    return (
        f'book: two charts have the name {identifier}; name one where it is made, .named("..."), or give it a heading of '
        "its own"
    )


def _write(executed: Mapping[str, Path]) -> None:
    kept = updated(figures_told(executed), known_figures())
    _FIGURES.write_bytes(msgspec.json.format(msgspec.json.encode(kept), indent=1) + b"\n")
    print(f"{_FIGURES.relative_to(CHECKOUT)}: {len(kept.figures)} charts, {len(kept.withdrawn)} withdrawn")


if __name__ == "__main__":
    raise SystemExit(written_anew(_write))
