"""Where a server runs: as a process of this machine, or in a container, and in what kind of one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gapbook.errors import ParameterError, cut

__all__ = ["ELSEWHERE", "NATIVE", "Placement"]

ELSEWHERE = "elsewhere"
"""Where a server ran that the reader named on another machine, of which nothing else is known."""

_NATIVE, _DOCKER = "native", "docker"
_OPTIONS = {
    "host-network": "it listens on the host's own network; else a bridge, with its port forwarded to loopback",
    "layer": "its data lies in the container's own layer; else in a volume",
    "own-image": "an image of ours holds the program that runs natively; else the image of its makers",
}


@dataclass(frozen=True)
class Placement:
    """``native``, or ``docker`` with what is not as usual: ``docker+host-network+own-image``."""

    in_container: bool = False
    host_network: bool = False
    layer: bool = False
    own_image: bool = False

    ALLOWED: ClassVar[str] = (
        f"{_NATIVE}, or {_DOCKER} with any of {', '.join(f'+{name}' for name in _OPTIONS)}"
    )

    @classmethod
    def parse(cls, text: str) -> Placement:
        """Raises ParameterError for what names no place."""
        kind, *options = text.strip().split("+")
        known = set(options) <= _OPTIONS.keys() and len(set(options)) == len(options)
        if not known or kind not in {_NATIVE, _DOCKER} or (kind == _NATIVE and options):
            raise ParameterError(f"backend: {cut(repr(text))} is no place to run; allowed: {cls.ALLOWED}")
        chosen = {name.replace("-", "_"): name in options for name in _OPTIONS}
        return cls(kind == _DOCKER, **chosen)

    def __str__(self) -> str:
        chosen = [name for name in _OPTIONS if getattr(self, name.replace("-", "_"))]
        return "+".join([_DOCKER if self.in_container else _NATIVE, *chosen])


NATIVE = Placement()
