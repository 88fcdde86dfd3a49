"""A JSON object read key by key; whatever is wrong is refused with the key's whole name."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from gap_python.failure import EXIT_CONFIGURATION, ClientError


class Fields:
    """One object of the configuration."""

    def __init__(self, value: Any, path: str, keys: Sequence[str]) -> None:
        self._path = path
        allowed = ", ".join(keys)
        if not isinstance(value, dict):
            raise ClientError(
                EXIT_CONFIGURATION, f"{path or 'configuration'}: must be an object with the keys {allowed}"
            )
        self._values: dict[str, Any] = value
        for key in value:
            if key not in keys:
                raise ClientError(EXIT_CONFIGURATION, f"{self._name(key)}: unknown key; allowed: {allowed}")

    def inside(self, key: str, keys: Sequence[str]) -> Fields:
        """An object inside this one."""
        return Fields(self._values.get(key), self._name(key), keys)

    def has(self, key: str) -> bool:
        return key in self._values

    def integer(self, key: str, minimum: int, maximum: int, default: int | None = None) -> int:
        value = self._values.get(key, default)
        if type(value) is not int or not minimum <= value <= maximum:
            raise self.refused(key, f"an integer from {minimum} to {maximum}")
        return value

    def number(self, key: str, minimum: float, maximum: float) -> float:
        value = self._values.get(key)
        if isinstance(value, bool) or not isinstance(value, int | float) or not minimum <= value <= maximum:
            raise self.refused(key, f"a number from {minimum:g} to {maximum:g}")
        return float(value)

    def boolean(self, key: str) -> bool | None:
        """None where the key is missing."""
        value = self._values.get(key)
        if self.has(key) and type(value) is not bool:
            raise self.refused(key, "true or false")
        return value

    def text(
        self,
        key: str,
        allowed: str = "a non-empty string",
        accepts: Callable[[str], object] = bool,
        default: str | None = None,
    ) -> str:
        value = self._values.get(key, default)
        if not isinstance(value, str) or not accepts(value):
            raise self.refused(key, allowed)
        return value

    def refused(self, key: str, allowed: str) -> ClientError:
        given = f"{json.dumps(self._values[key])} is refused" if self.has(key) else "missing"
        return ClientError(EXIT_CONFIGURATION, f"{self._name(key)}: {given}; allowed: {allowed}")

    def _name(self, key: str) -> str:
        return f"{self._path}.{key}" if self._path else key
