"""The pages of single numbers: ``n/IDENTIFIER.html`` with its data and its card, static and without a script."""

from __future__ import annotations

import csv
import io
import json
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
import msgspec

from gapbook import charts
from gapbook.book.numbers import citable, kept_of
from gapbook.book.told_numbers import Addressed
from gapbook.claims.claim import claim
from gapbook.method.interval import format_count, format_factor
from gapbook.method.over_runs import LEAST_BLOCKS
from gapbook.method.stated import Withdrawn
from gapbook.pages.short_citation import Citable, address_of, blocks_words, number_citation

__all__ = ["card_of", "write_number_pages", "write_withdrawn_pages"]


def write_number_pages(numbers: Sequence[Addressed], cards: Iterable[bytes], site: Path) -> None:
    """Write page, CSV, JSON and card of each number into ``n`` of the book's site."""
    folder = site / "n"
    folder.mkdir(exist_ok=True)
    for one, card in zip(numbers, cards, strict=True):
        path = folder / f"{one.identifier}.html"
        path.write_text(_page(one, site), encoding="utf-8")
        path.with_suffix(".csv").write_text(_csv(one), encoding="utf-8")
        path.with_suffix(".json").write_text(_json(one), encoding="utf-8")
        path.with_suffix(".png").write_bytes(card)


def write_withdrawn_pages(withdrawn: Mapping[str, Withdrawn], site: Path) -> None:
    """Write a page for each address whose number is gone, with what replaced it."""
    folder = site / "n"
    folder.mkdir(exist_ok=True)
    for identifier, one in withdrawn.items():
        page = _template("withdrawn").render(identifier=identifier, why=one.why, replaced_by=one.replaced_by)
        (folder / f"{identifier}.html").write_text(page, encoding="utf-8")


def _citable(one: Addressed) -> Citable:
    """What its citation needs of a number."""
    return citable(one.identifier, kept_of(one))


def _page(one: Addressed, site: Path) -> str:
    number, address = one.number, address_of(one.identifier)
    absolute = "://" in address
    cited = number_citation(_citable(one))
    return _template("number").render(
        identifier=one.identifier,
        page=one.page,
        title=one.title,
        sentence=one.sentence,
        value=number.value,
        conditions=_conditions(one),
        chapter=number.chapter,
        run=number.run,
        date=number.date,
        machine=number.machine,
        address=address if absolute else f"{one.identifier}.html",
        absolute=absolute,
        card=f"{address.removesuffix('.html')}.png" if absolute else f"{one.identifier}.png",
        card_width=charts.CARD_WIDTH,
        card_height=charts.CARD_HEIGHT,
        citations=list(cited.items()),
        facts=list(_facts(one)),
        columns=[*number.columns[:2], *number.columns[-1:], *number.columns[2:-1]],
        rows=[_printed(row, number.columns) for row in number.rows],
        formula=number.formula,
        function=number.function,
        before=number.before,
        n=number.n,
        least_blocks=LEAST_BLOCKS,
        claim=claim(number.name).judged_at if one.page == "claims" else "",
        has_trials=(site / "notebooks" / f"{number.chapter}-trials.html").is_file(),
        command=_command(one),
        chart=f"../figures/{one.page}" if (site / "figures" / f"{one.page}.svg").is_file() else "",
    )


def _conditions(one: Addressed) -> str:
    """The author's line, or, of a number in the prose, what its run says by itself."""
    number = one.number
    return number.conditions or f"{'; '.join([*number.versions, number.machine])}."


def _facts(one: Addressed) -> Iterator[tuple[str, str]]:
    number = one.number
    if number.parts:
        yield from ((part.quantity, part.value) for part in number.parts)
    else:
        blocks = f", n = {blocks_words(number.n, number.of_blocks)}" if number.n else ""
        yield "Quantity", number.quantity
        yield (
            "Value, with its 95 % interval" if "[" in number.value else "Value",
            f"{number.value}{blocks}",
        )
    if number.over_sessions:
        yield "With an interval over sessions", number.over_sessions
    if number.between_runs:
        yield "Between published runs", number.between_runs
    if number.expected:
        yield "One more run should find", f"{number.expected} (95 % prediction interval over those runs)"
    yield "Load", number.load
    yield "Versions", "; ".join(number.versions)
    yield "Machine", f"{number.machine}. Measured {number.reach}; another machine may differ by more."
    if number.notes:
        yield "To be read with", number.notes
    yield "Run", f"{number.run} of {number.chapter}, {number.date}"


def _printed(row: Sequence[float], columns: Sequence[str]) -> list[str]:
    """Block and session whole, then the value as it is printed elsewhere, then cells as rates."""
    block, session, *cells, value = row
    told = (
        format_count(value)
        if len(columns) == len(("block", "session", "cell", "value"))
        else f"×{format_factor(value)}"
    )
    return [f"{block:.0f}", f"{session:.0f}", told, *map(format_count, cells)]


def _csv(one: Addressed) -> str:
    """A row a block, with all digits; of a number of more than a few cells, the number itself."""
    number, text = one.number, io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    if number.columns:
        table.writerow(number.columns)
        table.writerows(number.rows)
    else:
        table.writerow(("quantity", "value", "n", "run"))
        told = [(part.quantity, part.value) for part in number.parts] or [(number.quantity, number.value)]
        table.writerows((quantity, value, number.n, number.run) for quantity, value in told)
    return text.getvalue()


def _json(one: Addressed) -> str:
    told: Mapping[str, Any] = msgspec.to_builtins(one)
    return json.dumps(
        {**told, "address": address_of(one.identifier), "cite": number_citation(_citable(one))["Text"]},
        separators=(",", ":"),
        ensure_ascii=False,
    )


def card_of(one: Addressed) -> bytes:
    """The card of a number as PNG."""
    number = one.number
    foot = f"The Gap Book · {one.page} · run {number.run} · {number.date}"
    return charts.card(one.sentence, number.value or number.conditions, _conditions(one), foot)


def _command(one: Addressed) -> str:
    return shlex.join(["gapbook", "run", one.number.chapter])


@cache
def _template(name: str) -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
    )
    return environment.get_template(f"{name}.html.jinja")
