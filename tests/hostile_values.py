"""Contents that nobody's program wrote: a value of a JSON object is taken away, or replaced by another type, by a number
out of range or by text that would be markup; always in the same order."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

__all__ = ["MARKUP", "Harm", "holder", "hostile_contents", "putting"]

_SEED = 20_261_122
MARKUP = "<script>alert(1)</script>\"'{x}&"
_VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 10**30, 1.5, "", "text", MARKUP, "x" * 5_000, "a\nb\u2028c", [], [None], {}, {"a": 1},
)  # fmt: skip

Harm = Callable[[Path, dict[str, Any]], None]
"""What is done to a folder of files and to the content of one of them."""


def hostile_contents(
    content: dict[str, Any], count: int, leave: tuple[Any, ...] = ("run_id",)
) -> list[tuple[str, Harm]]:
    """So many of them, each with a name; the value at ``leave`` stays."""
    order = random.Random(_SEED)
    places = [path for path in _places(content) if path != leave]
    made: list[tuple[str, Harm]] = []
    while len(made) < count:
        path = order.choice(places)
        named = ".".join(map(str, path))
        if order.random() < 0.2:
            made.append((f"{named} taken away", _taking(path)))
        else:
            value = order.choice(_VALUES)
            made.append((f"{named} = {value!r:.20}", putting(path, value)))
    return made


def _places(within: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place of an object; of lists, the first two."""
    keys = list(within) if isinstance(within, dict) else list(range(min(2, len(within))))
    for key in keys:
        yield (*path, key)
        if isinstance(within[key], dict | list):
            yield from _places(within[key], (*path, key))


def holder(content: Any, path: tuple[Any, ...]) -> Any:
    """What holds the value at a place."""
    for key in path[:-1]:
        content = content[key]
    return content


def putting(path: tuple[Any, ...], value: Any) -> Harm:
    """Another value at a place."""
    return lambda _folder, content: holder(content, path).__setitem__(path[-1], value)


def _taking(path: tuple[Any, ...]) -> Harm:
    return lambda _folder, content: holder(content, path).__delitem__(path[-1])
