"""One file from the hosts of its makers, taken by its digest alone: where it comes from then does not matter.

Looked for first where the reader says (``GAPBOOK_DOWNLOADS``: a folder or an address), then at each address of its
makers. A file that was cut off goes on where it stopped; one of another digest is kept aside and never used.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

import httpx

from gapbook.deploy.server import sha256_of
from gapbook.deploy.toolchain import require_uninterrupted
from gapbook.errors import SetupError
from gapbook.streams import say

__all__ = ["DOWNLOADS", "Published", "fetched"]

DOWNLOADS = "GAPBOOK_DOWNLOADS"
_CONNECT_S, _STALLED_S = 3.0, 15.0
_REPORT_EVERY_S = 15.0
_LEAST_BYTES, _LEAST_WITHIN_S = 2_000_000, 60.0
"""What comes more slowly is given up: what can be compiled in its place is there before it."""
_MOST_BYTES = 2 * 1000**3
_MOST_ANSWERS = 5
_SAID_CHARACTERS = 120
_NUMBER = re.compile(r"^\[Errno -?\d+\] ")


@dataclass(frozen=True)
class Published:
    """A file that the makers of a system publish: ``addresses`` are whole, one for each host that has it.

    ``title`` is what it is to a reader.
    """

    title: str
    name: str
    version: str
    sha256: str
    addresses: tuple[str, ...]


class _NotHadError(Exception):
    """Why a place does not give the file, in a few words."""


def fetched(wanted: Published, folder: Path) -> Path:
    """The file, in ``folder`` and of the right digest. The caller is alone in the folder.

    Raises SetupError, with what each place said, where none gives it; OSError of a disk that refuses it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    part = folder / f"{wanted.name}.{wanted.sha256[:16]}.part"
    if _is_right(wanted, part):
        # A set-up ended between its last byte and its use.
        return part
    refusals: dict[str, None] = {}
    for place in _places(wanted):
        try:
            _bring(wanted, place, part)
        except _NotHadError as error:
            refusals[f"{_said(place)}: {error}"] = None
        else:
            return part
    raise SetupError(
        f"{wanted.title}: {wanted.name} could not be had ({'; '.join(refusals)}); "
        f"a folder or an address that has it is named by {DOWNLOADS}"
    )


def _places(wanted: Published) -> Iterator[str | Path]:
    """Where the file may be; of the reader's place first what is there for this version alone."""
    if named := os.environ.get(DOWNLOADS):
        for inside in (f"v{wanted.version}/{wanted.name}", wanted.name):
            if "://" in named:
                yield f"{named.rstrip('/')}/{inside}"
            else:
                yield Path(named).absolute() / inside
    yield from wanted.addresses


def _said(place: str | Path) -> str:
    """A place for a reader: a file whole; of an address its host, for the rest may hold a password."""
    if isinstance(place, Path):
        return str(place)
    try:
        return urlsplit(place).hostname or f"{DOWNLOADS}, which names no host"
    except ValueError:
        return f"{DOWNLOADS}, which is no address"


def _bring(wanted: Published, place: str | Path, part: Path) -> None:
    """Have the file whole at ``part``; raises _NotHadError where this place does not give it."""
    if isinstance(place, Path):
        _copy(wanted, place, part)
        return
    if _download(wanted, place, part) and not _is_right(wanted, part):
        # Its beginning came from elsewhere, or before the file there was another.
        part.unlink()
        _download(wanted, place, part)
    if not _is_right(wanted, part):
        found = sha256_of(part)
        aside = part.with_name(f"{wanted.name}.refused-{found[:8]}")
        part.replace(aside)
        raise _NotHadError(f"{_another_digest(wanted, found)}; it is kept aside: {aside}")


def _is_right(wanted: Published, part: Path) -> bool:
    return part.is_file() and sha256_of(part) == wanted.sha256


def _another_digest(wanted: Published, found: str) -> str:
    return f"refused, its sha256 is {found[:8]}... and not {wanted.sha256[:8]}..."


def _copy(wanted: Published, place: Path, part: Path) -> None:
    """A copy, so that what was looked at is what is used; the reader's own file is left alone."""
    if not place.is_file():
        raise _NotHadError("is not there")
    found = sha256_of(place)
    if found != wanted.sha256:
        raise _NotHadError(_another_digest(wanted, found))
    shutil.copyfile(place, part)
    if not _is_right(wanted, part):
        raise _NotHadError("changed while it was copied")


def _download(wanted: Published, address: str, part: Path) -> bool:
    """Take the file from an address, in several answers where one is cut off; whether some of it was there before."""
    went_on = _bytes_of(part) > 0
    with _client() as client:
        for _ in range(_MOST_ANSWERS):
            before = _bytes_of(part)
            try:
                went_on &= _take(client, wanted, address, part)
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                if _bytes_of(part) <= before:
                    raise _NotHadError(f"not reached ({_in_words(error)})") from error
            else:
                return went_on
    raise _NotHadError(
        f"cut off {_MOST_ANSWERS} times; what came is kept, and the next set-up goes on from there"
    )


def _client() -> httpx.Client:
    """One that goes by the reader's proxies and certificates; raises _NotHadError where these cannot be used."""
    try:
        return httpx.Client(
            follow_redirects=True,
            timeout=httpx.Timeout(_STALLED_S, connect=_CONNECT_S),
            # The digest is that of the file as it lies there, not of what a server packs it into.
            headers={"Accept-Encoding": "identity"},
        )
    except (ImportError, ValueError, OSError, httpx.InvalidURL) as error:
        raise _NotHadError(f"proxy or certificates of this shell: {_in_words(error)}") from error


def _take(client: httpx.Client, wanted: Published, address: str, part: Path) -> bool:
    """Add one answer to ``part``; whether it went on from what was there."""
    start = _bytes_of(part)
    rest = {"Range": f"bytes={start}-"} if start else {}
    with client.stream("GET", address, headers=rest) as answer:
        status = answer.status_code
        goes_on = status == httpx.codes.PARTIAL_CONTENT and _first_byte(answer) == start
        if goes_on or status == httpx.codes.OK:
            with part.open("ab" if goes_on else "wb") as file:
                _write(answer, wanted, address, file)
            return goes_on
    if start and status in {httpx.codes.PARTIAL_CONTENT, httpx.codes.REQUESTED_RANGE_NOT_SATISFIABLE}:
        # More is there than the file has, or another piece came than was asked for.
        part.unlink()
        return _take(client, wanted, address, part)
    raise _NotHadError(f"answers {status}")


def _first_byte(answer: httpx.Response) -> int | None:
    """Where a piece begins, by ``Content-Range: bytes 100-199/200``."""
    unit, _, piece = answer.headers.get("content-range", "").partition(" ")
    first = piece.partition("-")[0]
    return int(first) if unit == "bytes" and first.isdecimal() else None


def _write(answer: httpx.Response, wanted: Published, address: str, file: IO[bytes]) -> None:
    """Add what comes, with a line now and then; raises _NotHadError where it comes too slowly or without end."""
    before, announced = file.tell(), answer.headers.get("content-length", "")
    whole = _megabytes(before + int(announced)) if announced.isdecimal() else "a file of unknown size"
    say(f"{wanted.title}: fetching {wanted.name} from {_said(address)}, {whole}")
    looked = reported = time.monotonic()
    at_look = before
    for chunk in answer.iter_raw():
        file.write(chunk)
        now, size = time.monotonic(), file.tell()
        require_uninterrupted(wanted.title)
        if size > _MOST_BYTES:
            raise _NotHadError(f"sends more than {_megabytes(_MOST_BYTES)}")
        if now - looked >= _LEAST_WITHIN_S:
            if size - at_look < _LEAST_BYTES:
                raise _NotHadError(
                    f"too slow, {_megabytes(size - at_look)} in {now - looked:.0f} s; what came is kept"
                )
            looked, at_look = now, size
        if now - reported >= _REPORT_EVERY_S:
            reported = now
            say(f"{wanted.title}: {_megabytes(size)} of {whole}")


def _bytes_of(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB" if size < 10e6 else f"{size / 1e6:.0f} MB"


def _in_words(error: BaseException) -> str:
    said = _NUMBER.sub("", " ".join(str(error).split()))
    return (said or type(error).__name__)[:_SAID_CHARACTERS]
