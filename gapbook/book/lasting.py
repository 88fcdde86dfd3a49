"""Addresses that last: none is lost, none leads to something else, and what is withdrawn says what stands in its place."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from gapbook.errors import GapbookError
from gapbook.method.stated import Withdrawn

__all__ = ["Addresses", "written_anew"]

Known = TypeVar("Known")

_OFFERED = 3


@dataclass(frozen=True)
class Addresses:
    """A file of addresses: its name in a message, the command that writes it anew, and what an address is of (``number``)."""

    file: str
    write: str
    kind: str

    def require_lasting(
        self,
        now: Mapping[str, Known],
        before: Mapping[str, Known],
        withdrawn: Mapping[str, Withdrawn],
        *,
        another: Callable[[Known, Known], str],
        keep: str = "",
    ) -> None:
        """Raise GapbookError where an address of before is gone and not withdrawn, is now that of another, or was
        withdrawn and is given again, and where what replaced a withdrawn one is not there.

        ``another`` says what an address led to before where that is not what it leads to now, and nothing where it is;
        ``keep`` what can be done to keep an address.
        """
        if gone := sorted(before.keys() - now.keys() - withdrawn.keys()):
            raise self.error(
                f"{', '.join(gone)}: no page prints it any more; an address lasts: {keep}name it under withdrawn, with "
                "why and replaced_by"
            )
        if again := sorted(now.keys() & withdrawn.keys()):
            raise self.error(f"{', '.join(again)}: was withdrawn; give the new {self.kind} another name")
        for identifier, one in now.items():
            if identifier in before and (led := another(before[identifier], one)):
                raise self.error(
                    f"{identifier}: leads to another {self.kind} than before ({led}); give the new one another name, and "
                    "name the old one under withdrawn"
                )
        if lost := {one.replaced_by for one in withdrawn.values() if one.replaced_by} - now.keys():
            raise self.error(f"withdrawn: replaced_by {', '.join(sorted(lost))}: no such {self.kind}")

    def require_same(self, now: Mapping[str, Known], known: Mapping[str, Known]) -> None:
        """Raise GapbookError where the file does not say what a build has."""
        if differ := [one for one in now if now[one] != known.get(one)] + sorted(known.keys() - now.keys()):
            raise self.error(
                f"not of these pages ({', '.join(differ[:_OFFERED])}{' and more' if len(differ) > _OFFERED else ''}); write "
                f"it anew and commit it: {self.write}"
            )

    def error(self, what: str) -> GapbookError:
        """That the file is not as it must be."""
        return GapbookError(f"book/{self.file}: {what}")


def written_anew(write: Callable[[Mapping[str, Path]], None]) -> int:
    """A command that writes a file of addresses of what the published book's pages print; returns its exit code."""
    # Imported here: a build imports this module.
    from gapbook.book.build import execute_published  # noqa: PLC0415
    from gapbook.book.timings import Timings  # noqa: PLC0415

    try:
        write(execute_published(Timings()))
    except GapbookError as error:
        print(error, file=sys.stderr)
        return 2
    return 0
