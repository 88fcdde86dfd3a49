"""Removes the containers, volumes and networks of one server, and nothing else.

    python remove_containers.py OWNER unix:///var/run/docker.sock

Run by whoever of run, warden and next start still lives, as often as needed. It looks twice: what was being
created when its owner died comes late.
"""

from __future__ import annotations

import re
import sys
import time
from functools import partial
from typing import Any

import docker
import docker.errors
import requests

__all__ = ["LABEL", "remove"]

LABEL = "gapbook.owner"
_COMES_WITHIN_S = 1.0
_ANSWERS_WITHIN_S = 15


def remove(engine: Any, owner: str) -> None:
    """Remove all that carries the owner's label; what somebody else removes meanwhile is gone as well.

    What cannot be removed spares nothing else; the first such error is raised at the end.
    """
    wanted = {"label": f"{LABEL}={owner}"}
    kinds: tuple[tuple[Any, dict[str, bool]], ...] = (
        (partial(engine.containers.list, all=True, ignore_removed=True), {"v": True, "force": True}),
        (engine.volumes.list, {"force": True}),
        (engine.networks.list, {}),
    )
    errors = [
        error
        for there_are, how in kinds
        for found in there_are(filters=wanted)
        if (error := _removed(found, how)) is not None
    ]
    if errors:
        raise errors[0]


def _removed(found: Any, how: dict[str, bool]) -> docker.errors.APIError | None:
    """Remove one thing, unless it is gone; the error of what cannot be removed."""
    try:
        found.remove(**how)
    except docker.errors.APIError as error:
        in_progress = error.status_code == 409 and "in progress" in str(error)
        return None if error.status_code == 404 or in_progress else error
    return None


def main() -> str | None:
    """The reason of a failure in one line, which becomes the exit code 1; None once all is gone."""
    owner, address = sys.argv[1:]
    if not re.fullmatch(r"[0-9a-f]{16}", owner):
        return f"{owner!r} is no label of ours"
    try:
        engine = docker.DockerClient(base_url=address, timeout=_ANSWERS_WITHIN_S)
        remove(engine, owner)
        time.sleep(_COMES_WITHIN_S)
        remove(engine, owner)
    except (docker.errors.DockerException, requests.RequestException) as error:
        return " ".join(str(error).split()) or type(error).__name__
    return None


if __name__ == "__main__":
    sys.exit(main())
