"""What a chapter may be told, as tables: the help of ``gapbook run``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gapbook.book.chapters import chapters, declared_parameters, own_parameters
from gapbook.parameters import Parameter, chapter_parameters
from gapbook.text_table import text_table

__all__ = ["parameters_help"]


def parameters_help(chapter: str | None) -> str:
    """The parameters of one chapter with the values that it has by itself; of all chapters, where that is none of
    them."""
    known = chapter_parameters()
    if chapter in chapters():
        return _of_one(str(chapter), known)
    named = {name: declared_parameters(name) for name in chapters()}
    everywhere = [name for name in known if all(name in declared for declared in named.values())]
    others = [name for name in known if name not in everywhere]
    return "\n".join(
        [
            "every chapter takes:",
            *_table(known, everywhere),
            "",
            "some chapters take:",
            *_table(known, others),
            "",
            *text_table(
                ("chapter", "takes besides"),
                [
                    [chapter, ", ".join(name for name in others if name in declared) or "–"]
                    for chapter, declared in named.items()
                ],
            ),
            "",
            "gapbook run CHAPTER --help: those of one chapter, with its own values",
        ]
    )


def _of_one(chapter: str, known: Mapping[str, Parameter]) -> str:
    own = own_parameters(chapter)
    rows = [
        [name, _written(own[name]), known[name].allowed, known[name].help] for name in known if name in own
    ]
    return "\n".join(
        [f"{chapter} takes:", *text_table(("parameter", "by itself", "allowed", "what it is"), rows)]
    )


def _table(known: Mapping[str, Parameter], names: Sequence[str]) -> list[str]:
    return text_table(
        ("parameter", "allowed", "what it is"),
        [[name, known[name].allowed, known[name].help] for name in names],
    )


def _written(value: object) -> str:
    """As it is written behind ``NAME=``."""
    if isinstance(value, list | tuple):
        return ",".join(map(_written, value))
    return str(value) or "nothing"
