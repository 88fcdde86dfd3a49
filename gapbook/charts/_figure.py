"""A finished chart: both drawings, its description and its data, as one piece of HTML or as files."""

from __future__ import annotations

import csv
import hashlib
import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from gapbook.charts._canvas import Canvas, Drawing
from gapbook.charts._drawn import drawn
from gapbook.charts._kept import kept_png
from gapbook.charts._tokens import Theme, recolour
from gapbook.markup import Html, values_table

__all__ = ["PHONE_WIDTH", "WIDE_WIDTH", "Figure", "Table", "build"]

WIDE_WIDTH = 688
PHONE_WIDTH = 328
FileTheme = Literal["light", "dark"]
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_OPENING = re.compile(r"<svg\b[^>]*>")
_TAG = re.compile(r"<[^>]*>")
_ID = re.compile(r'(\bid="|url\(#|href="#)')


@dataclass(frozen=True)
class Table:
    """The numbers behind a picture, row by row."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def as_csv(self) -> str:
        """The same as a file, as it is printed."""
        text = io.StringIO()
        table = csv.writer(text, lineterminator="\n")
        table.writerow(self.columns)
        table.writerows(self.rows)
        return text.getvalue()


@dataclass(frozen=True)
class Figure:
    """``html`` switches between both widths by container query and takes the page's theme by CSS variables.

    ``svg`` and ``png`` give stand-alone files in one theme.
    """

    name: str
    title: str
    description: str
    wide: Drawing
    phone: Drawing
    table: Table
    given: str = ""
    turned: tuple[str, ...] = ()
    """The rows of which another run says the opposite."""

    def named(self, given: str) -> Figure:
        """The same under a name of its author's, by which its files are found for good: where a heading has several
        charts, or when a heading is written anew. Raises ValueError for a name that is not of small letters, digits and hyphens."""
        if not _NAME.fullmatch(given):
            raise ValueError(f"a chart's name is of small letters, digits and hyphens, not {given!r}")
        return replace(self, given=given)

    @property
    def id(self) -> str:
        """Of the content, so that two figures of one page never share an id."""
        content = self.name + self.title + self.description + self.wide.svg + self.phone.svg
        return f"gb-{self.name}-{hashlib.sha256(content.encode()).hexdigest()[:10]}"

    @property
    def markup(self) -> Html:
        wide, phone = (
            self._titled(drawing, "page", end) for drawing, end in ((self.wide, "w"), (self.phone, "p"))
        )
        rows = self.table.rows
        details = (
            Html('<details class="gb-data"><summary>Data of this chart</summary>{}</details>').format(
                values_table(self.table.columns, rows)
            )
            if rows
            else ""
        )
        given = Html(' data-name="{}"').format(self.given) if self.given else ""
        # Without the book's style sheet, as in JupyterLab, the wide drawing alone is shown.
        return Html(
            '<figure class="gb-fig" id="{}"{}><div class="gb-wide">{}</div>'
            '<div class="gb-phone" style="display:none">{}</div>{}</figure>'
        ).format(self.id, given, wide, phone, details)

    @property
    def html(self) -> str:
        return self.markup.html

    def __html__(self) -> Html:
        return self.markup

    def svg(self, width: int = WIDE_WIDTH, theme: FileTheme = "light") -> str:
        """A stand-alone SVG, 688 or 328 pixels wide, ``light`` or ``dark``."""
        drawings = {WIDE_WIDTH: self.wide, PHONE_WIDTH: self.phone}
        if width not in drawings:
            raise ValueError(f"a chart is drawn {WIDE_WIDTH} or {PHONE_WIDTH} pixels wide, not {width}")
        return self._titled(drawings[width], theme, "w" if width == WIDE_WIDTH else "p").html

    def png(self, width: int = WIDE_WIDTH, theme: FileTheme = "light", *, scale: float = 2) -> bytes:
        return kept_png(self.svg(width, theme), scale)

    def _titled(self, drawing: Drawing, theme: Theme, end: str) -> Html:
        """Vega drops the description: put title and text alternative in, and make every id this drawing's own."""
        own = f"{self.id}-{end}"
        opening = Html(
            '<svg{namespace} class="gb-svg" role="img" aria-labelledby="{own}-t" aria-describedby="{own}-d" '
            'width="{width}" height="{height}" viewBox="0 0 {width} {height}">'
            '<title id="{own}-t">{title}</title><desc id="{own}-d">{description}</desc>'
        ).format(
            namespace=Html("") if theme == "page" else Html(' xmlns="http://www.w3.org/2000/svg"'),
            own=own,
            width=drawing.width,
            height=drawing.height,
            title=self.title,
            description=self.description,
        )
        prefixed = _TAG.sub(lambda tag: _ID.sub(rf"\1{own}-", tag.group()), drawing.svg)
        return drawn(recolour(_OPENING.sub(lambda _: opening.html, prefixed, count=1), theme))

    def _repr_html_(self) -> str:
        return self.html

    def _repr_mimebundle_(
        self, include: Sequence[str] | None = None, exclude: Sequence[str] | None = None
    ) -> dict[str, str]:
        """HTML and plain text only: Sphinx warns about outputs of kinds that it does not know."""
        del include, exclude
        return {"text/html": self.html, "text/plain": f"{self.title}\n{self.description}"}


def build(name: str, title: str, description: str, table: Table, draw: Callable[[Canvas], None]) -> Figure:
    """Draw twice, wide and phone."""
    drawings = []
    for width in (WIDE_WIDTH, PHONE_WIDTH):
        canvas = Canvas(width)
        draw(canvas)
        drawings.append(canvas.draw())
    return Figure(name, title, description, drawings[0], drawings[1], table)
