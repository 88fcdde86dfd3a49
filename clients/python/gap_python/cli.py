"""From standard input to standard output; the exit codes of the contract."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import sys

from gap_python import CONTRACT_VERSION
from gap_python.config import parse_config, parse_draw_config
from gap_python.failure import EXIT_CONFIGURATION, EXIT_INTEGRITY, ClientError, message_of
from gap_python.identity import DESCRIPTION
from gap_python.load import Load
from gap_python.progress import EventHandler, emit
from gap_python.protocols import protocol_names
from gap_python.report import create_report
from gap_python.workload import workload_names

_DRAWN_AT_A_TIME = 10_000


def main() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    logging.basicConfig(level=logging.WARNING, handlers=[EventHandler()])
    try:
        _run(sys.argv[1:])
        sys.stdout.flush()
        code = 0
    except ClientError as error:
        emit("error", message=str(error))
        code = error.exit_code
    except Exception as error:
        emit("error", message=f"{type(error).__name__}: {message_of(error)}")
        code = EXIT_INTEGRITY
    # Connections that a dead server left half-open have nothing to say at the end.
    os._exit(code)


def _run(options: list[str]) -> None:
    match options:
        case []:
            asyncio.run(_load(sys.stdin.read()))
        case ["--describe"]:
            able = {"protocols": protocol_names(), "workloads": workload_names(), "reports": "indices"}
            sys.stdout.write(json.dumps({"contract": CONTRACT_VERSION, **DESCRIPTION, **able}) + "\n")
        case ["--draw"]:
            _draw(sys.stdin.read())
        case _:
            raise ClientError(
                EXIT_CONFIGURATION,
                f"arguments: {' '.join(options)} is refused; allowed: none, --describe or --draw",
            )


async def _load(text: str) -> None:
    load = Load(parse_config(text))
    await load.run()
    sys.stdout.write(json.dumps(create_report(load)) + "\n")


def _draw(text: str) -> None:
    draw = parse_draw_config(text)
    end = draw.first_index + draw.count
    for first in range(draw.first_index, end, _DRAWN_AT_A_TIME):
        operations = draw.workload.draw(draw.connection, first, min(_DRAWN_AT_A_TIME, end - first))
        rows = (
            " ".join(map(str, (index, kind, *fields)))
            for index, (kind, fields) in enumerate(operations, first)
        )
        sys.stdout.write("\n".join(rows) + "\n")
