"""The code that a page speaks of, printed from its file when the page is made."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

from gapbook.errors import ParameterError
from gapbook.markup import Html
from gapbook.paths import CHECKOUT

__all__ = ["side_by_side", "source_of"]

_DEFINED = r"\b(?:function|fn|const|def|class)\s+{}\b"
_CLOSING = frozenset({"}", "};", "});", ");", "$$;"})
_LEFT_OUT = "…"


def source_of(path: str, *, function: str = "", leave_out: Sequence[tuple[str, str]] = ()) -> Html:
    """A file of this project, or one of its functions: SQL, Rust, TypeScript or Python.

    ``path`` is seen from the top of the checkout. Each pair of ``leave_out`` are texts of two lines: from the first
    line with the one up to the next with the other, which stays, an ellipsis stands in their place.

    Raises ParameterError where the file, the function or a line that is left out is not there.
    """
    file = CHECKOUT / path
    if not file.is_file():
        raise ParameterError(f"{path}: no such file to print")
    lines = file.read_text(encoding="utf-8").splitlines()
    if function:
        lines = _function(lines, function, path)
    for first, last in leave_out:
        start = _place(lines, first, 0, path)
        end = _place(lines, last, start + 1, path)
        indent = lines[start][: len(lines[start]) - len(lines[start].lstrip())]
        lines[start:end] = [indent + _LEFT_OUT]
    return Html(
        '<figure class="gb-source"><figcaption><code>{}</code></figcaption>'
        '<pre class="gb-code" tabindex="0"><code>{}</code></pre></figure>'
    ).format(path, textwrap.dedent("\n".join(lines)).strip("\n"))


def side_by_side(*sources: Html) -> Html:
    """Pieces of code beside each other; below each other where the screen is narrow."""
    return Html('<div class="gb-sources">{}</div>').format(Html("").join(sources))


def _function(lines: Sequence[str], name: str, path: str) -> list[str]:
    """The lines of a function, from its name to what closes it at the same indent."""
    defined = re.compile(_DEFINED.format(re.escape(name)), re.IGNORECASE)
    for start, line in enumerate(lines):
        if defined.search(line):
            indent = len(line) - len(line.lstrip())
            for end in range(start + 1, len(lines)):
                if lines[end][:indent].isspace() == bool(indent) and lines[end][indent:] in _CLOSING:
                    return list(lines[start : end + 1])
    raise ParameterError(f"{path}: has no function {name} to print")


def _place(lines: Sequence[str], text: str, start: int, path: str) -> int:
    for place in range(start, len(lines)):
        if text in lines[place]:
            return place
    raise ParameterError(f"{path}: has no line with {text!r} to leave out")
