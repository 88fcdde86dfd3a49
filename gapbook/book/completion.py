"""What the shell is told when a reader presses Tab: chapters, parameters, runs.

It reads names of files and texts of notebooks alone: whoever presses Tab does not wait for a library.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable

from gapbook.book.chapters import chapters, declared_parameters
from gapbook.book.plans import planned_chapters
from gapbook.parameters import chapter_parameters
from gapbook.paths import run_roots

__all__ = [
    "answer_the_shell",
    "completed_by",
    "names_of_chapters",
    "names_of_parameters",
    "names_of_plans",
    "names_of_runs",
]

_ASKED = "_ARGCOMPLETE"
"""The variable by which the shell asks."""
_RUNS = "*/*/manifest.json"

Completer = Callable[..., Iterable[str]]


def answer_the_shell(parser: argparse.ArgumentParser) -> None:
    """Where the shell asks what a word could be, answer it and end; else nothing."""
    if _ASKED in os.environ:
        import argcomplete  # noqa: PLC0415 (of use to the shell alone)

        argcomplete.autocomplete(parser)


def completed_by(completer: Completer, action: argparse.Action) -> None:
    """Let an argument be completed by these words."""
    vars(action)["completer"] = completer


def names_of_chapters(**_: object) -> Iterable[str]:
    return chapters()


def names_of_plans(**_: object) -> Iterable[str]:
    return planned_chapters()


def names_of_parameters(parsed_args: argparse.Namespace, **_: object) -> Iterable[str]:
    """Each with the sign behind which its value is written; those of the chapter that stands before."""
    chapter = getattr(parsed_args, "chapter", None)
    known = declared_parameters(chapter) if chapter in chapters() else chapter_parameters()
    return [f"{name}=" for name in sorted(known)]


def names_of_runs(prefix: str, **_: object) -> Iterable[str]:
    """Chapters, ids of stored runs, and whatever files there are."""
    from argcomplete.completers import FilesCompleter  # noqa: PLC0415 (of use to the shell alone)

    stored = [path.parent.name for root in run_roots() for path in root.glob(_RUNS)]
    return [*chapters(), *sorted(stored), *FilesCompleter()(prefix)]
