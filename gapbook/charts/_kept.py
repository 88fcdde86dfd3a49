"""Drawings that were drawn before, on any checkout: a picture follows from its marks alone."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from gapbook.charts._canvas import Layer
from gapbook.charts._scale import LogScale
from gapbook.paths import cache_directory, hash_files

__all__ = ["kept_svg"]

_DRAWN_BY = ("_kept.py", "_smaller.py", "_strokes.py", "_text.py", "_tokens.py", "_vega.py")
_LIBRARIES = ("altair", "vl-convert-python")


def kept_svg(
    size: tuple[int, int], layers: Sequence[Layer], x_scale: LogScale | None, y_scale: LogScale | None
) -> str:
    """The layers as one SVG: as it was drawn before by the same code and libraries, or drawn now and kept.

    Nothing depends on what is kept: a file that is damaged is drawn anew, and one that cannot be written is not kept.
    """
    marks = [
        (int(s.plane), s.mark, s.space, s.options, [sorted(row.items()) for row in r]) for s, r in layers
    ]
    told = repr((_drawn_by(), size, marks, x_scale, y_scale))
    path = cache_directory() / "charts" / f"{hashlib.sha256(told.encode()).hexdigest()}.svg"
    found = _read(path)
    if found is None:
        # Imported here: what was drawn before needs no library.
        from gapbook.charts._vega import svg_of  # noqa: PLC0415

        found = svg_of(size, layers, x_scale, y_scale)
        with contextlib.suppress(OSError):  # which costs time and nothing else
            _write(path, found)
    return found


@functools.cache
def _drawn_by() -> str:
    """What a drawing follows from besides its marks."""
    here = Path(__file__).parent
    code = hash_files([here / name for name in _DRAWN_BY], here)
    return f"{code} {' '.join(map(version, _LIBRARIES))}"


def _read(path: Path) -> str | None:
    """The drawing of a file whose first line is its sum; None where there is none that is whole."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    told, _, svg = content.partition(b"\n")
    return svg.decode() if told == _sum_of(svg) else None


def _write(path: Path, svg: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    content = svg.encode()
    handle, unfinished = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(_sum_of(content) + b"\n" + content)
        Path(unfinished).replace(path)
    except OSError:
        Path(unfinished).unlink(missing_ok=True)
        raise


def _sum_of(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()
