"""The schema that holds a client's configuration, report and description (clients/contract.schema.json)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any

from gapbook.paths import CHECKOUT
from gapbook.record.schema import one_line

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import ValidationError

__all__ = ["CONTRACT_VERSION", "schema_problem"]

CONTRACT_VERSION = 2
_SCHEMA = CHECKOUT / "clients" / "contract.schema.json"
_MOST_ERRORS = 20


def schema_problem(definition: str, instance: Any) -> str | None:
    """What a ``configuration``, ``report`` or ``description`` has that the schema does not allow, in one line."""
    # Imported here and below: it compiles a grammar of addresses, for longer than all else here takes to load.
    from jsonschema.exceptions import best_match  # noqa: PLC0415

    errors: Iterator[ValidationError] = _validator(definition).iter_errors(instance)
    worst = best_match(islice(errors, _MOST_ERRORS))
    if worst is None:
        return None
    place = str(worst.json_path).removeprefix("$").lstrip(".")
    return one_line(f"{place}: {worst.message}" if place else worst.message)


@cache
def _validator(definition: str) -> Draft202012Validator:
    from jsonschema import Draft202012Validator  # noqa: PLC0415

    schema = json.loads(_SCHEMA.read_text(encoding="utf-8"))
    return Draft202012Validator({"$ref": f"#/$defs/{definition}", "$defs": schema["$defs"]})
