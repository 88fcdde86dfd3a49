"""The register of claims for a command that wants it at once: judged anew only where something changed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress

import msgspec

from gapbook.book.kept_pages import hash_of_what_pages_depend_on
from gapbook.claims.entries import Entry, RegisterFile, entries
from gapbook.declared.reading import Declared
from gapbook.paths import build_directory

__all__ = ["register"]


class _Kept(Declared, frozen=True, kw_only=True):
    """``key`` is of all that verdicts depend on."""

    key: str
    register: RegisterFile


def register() -> Sequence[Entry]:
    """Every claim with its verdict; the first time after a change this takes seconds, for runs are read."""
    kept, key = build_directory() / "register" / "kept.json", hash_of_what_pages_depend_on()
    if kept.is_file():
        # One of another version of this program has another shape, and another key anyway.
        with suppress(msgspec.DecodeError):
            known = msgspec.json.decode(kept.read_bytes(), type=_Kept)
            if known.key == key:
                return known.register.claims
    found = RegisterFile(claims=tuple(entries()))
    # Who may not write here has the same answer, and waits for it each time.
    with suppress(OSError):
        kept.parent.mkdir(parents=True, exist_ok=True)
        renewed = kept.with_name(f"{kept.name}.{os.getpid()}")
        renewed.write_bytes(msgspec.json.encode(_Kept(key=key, register=found)))
        renewed.replace(kept)
    return found.claims
