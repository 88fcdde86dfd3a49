"""Templates of requests: ``{field}`` stands for a field of the operation, ``{{`` for a brace."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gap_k6.failure import refused

_MARK = re.compile(r"\{\{|\{([a-z][a-z0-9_-]*)\}|\{")


def parts_of(template: str, fields: Sequence[str], where: str) -> list[str]:
    """Literal text, then the name of a field, and so on in turn; it begins and ends with literal text.

    Raises ClientError, of the configuration, for a field that the operation does not have and for a lone ``{``.
    """
    parts, literal, at = [], "", 0
    for mark in _MARK.finditer(template):
        literal += template[at : mark.start()]
        at = mark.end()
        if mark[0] == "{{":
            literal += "{"
            continue
        if mark[1] not in fields:
            raise refused(
                where,
                f"{template[mark.start() : mark.start() + 40]!r} names no field; allowed: "
                f"{', '.join('{' + field + '}' for field in fields)}, and {{{{ for a brace",
            )
        parts += [literal, mark[1]]
        literal = ""
    return [*parts, literal + template[at:]]
