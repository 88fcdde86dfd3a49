"""What a client needs besides itself is asked for before anything starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from gapbook.errors import SetupError
from gapbook.load.client import Client, discover_clients


def test_a_program_that_is_missing_is_one_line() -> None:
    client = Client(
        folder=Path(),
        language="some",
        protocols=("http",),
        workloads=("*",),
        command=("python", "main.py"),
        programs=("no-such-program",),
    )
    with pytest.raises(SetupError, match="some client: no-such-program is not installed; run: make setup"):
        client.resolved_command()


def test_k6_is_such_a_program() -> None:
    (k6,) = (client for client in discover_clients() if client.language == "k6")
    assert k6.programs == ("k6",)
