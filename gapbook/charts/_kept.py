"""Drawings that were drawn before, on any checkout: a picture follows from its marks alone."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import io
import os
import tempfile
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path

from gapbook.charts._canvas import Layer
from gapbook.charts._scale import LogScale
from gapbook.paths import cache_directory, hash_files

__all__ = ["kept_png", "kept_svg"]

_DRAWN_BY = ("_kept.py", "_smaller.py", "_strokes.py", "_text.py", "_tokens.py", "_vega.py")
_LIBRARIES = ("altair", "vl-convert-python", "pillow")
_COLOURS = 64


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

    def drawn() -> bytes:
        # Imported here: what was drawn before needs no library.
        from gapbook.charts._vega import svg_of  # noqa: PLC0415

        return svg_of(size, layers, x_scale, y_scale).encode()

    return _kept(told, "svg", drawn).decode()


def kept_png(svg: str, scale: float = 1, colours: int = _COLOURS) -> bytes:
    """An SVG of a few ``colours`` as a picture, ``scale`` times its size, kept as :func:`kept_svg` keeps drawings."""

    def drawn() -> bytes:
        import vl_convert  # noqa: PLC0415
        from PIL import Image  # noqa: PLC0415

        image = Image.open(io.BytesIO(vl_convert.svg_to_png(svg, scale=scale)))
        small = io.BytesIO()
        # Pillow's usual way to choose colours takes five times as long, and mixes the rare ones with their edges; its
        # `optimize` takes as long as all the rest, and saves a twelfth of the bytes.
        image.convert("RGB").quantize(colours, Image.Quantize.FASTOCTREE).save(small, "PNG")
        return small.getvalue()

    return _kept(repr((_drawn_by(), svg, scale, colours)), "png", drawn)


def _kept(told: str, kind: str, draw: Callable[[], bytes]) -> bytes:
    """What was drawn of the same before, or is drawn now and kept. Nothing depends on what is kept."""
    path = cache_directory() / "charts" / f"{hashlib.sha256(told.encode()).hexdigest()}.{kind}"
    found = _read(path)
    if found is None:
        found = draw()
        with contextlib.suppress(OSError):  # which costs time and nothing else
            _write(path, found)
    return found


@functools.cache
def _drawn_by() -> str:
    """What a drawing follows from besides its marks."""
    here = Path(__file__).parent
    code = hash_files([here / name for name in _DRAWN_BY], here)
    return f"{code} {' '.join(map(version, _LIBRARIES))}"


def _read(path: Path) -> bytes | None:
    """The drawing of a file whose first line is its sum; None where there is none that is whole."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    told, _, drawing = content.partition(b"\n")
    return drawing if told == _sum_of(drawing) else None


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
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
