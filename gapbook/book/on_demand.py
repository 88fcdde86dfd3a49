"""The systems that a chapter names and the plain setup does not install."""

from __future__ import annotations

from gapbook.book.chapters import words_of_code
from gapbook.deploy.on_demand import systems_on_demand

__all__ = ["install_on_demand"]


def install_on_demand(chapter: str) -> None:
    """Install, with all that the chapter needs besides, where one of them is missing. Raises GapbookError."""
    named = words_of_code(chapter)
    if not named & systems_on_demand():
        return

    from gapbook.deploy import setup  # noqa: PLC0415 (loads every stack, for which no other chapter need wait)

    if setup.absent_on_demand(named):
        setup.set_up(named=named)
