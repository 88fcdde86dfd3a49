"""From standard input to standard output; the exit codes of the contract."""

from __future__ import annotations

import json
import subprocess
import sys

from gap_k6 import CONTRACT_VERSION
from gap_k6.config import read_configuration, read_draw_configuration, told_work
from gap_k6.failure import EXIT_CONFIGURATION, EXIT_INTEGRITY, ClientError, message_of
from gap_k6.load import run_load
from gap_k6.program import MARK, free_port, started
from gap_k6.progress import emit
from gap_k6.workload import known_workloads


def main() -> None:
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
    raise SystemExit(code)


def _run(options: list[str]) -> None:
    match options:
        case []:
            _load(sys.stdin.read())
        case ["--describe"]:
            _describe()
        case ["--draw"]:
            _draw(sys.stdin.read())
        case _:
            raise ClientError(
                EXIT_CONFIGURATION,
                f"arguments: {' '.join(options)} is refused; allowed: none, --describe or --draw",
            )


def _load(text: str) -> None:
    configuration, workload = read_configuration(text)
    observed = run_load(configuration, workload)
    # Imported after the load: it takes processor time that a load may want.
    from gap_k6.report import create_report  # noqa: PLC0415

    sys.stdout.write(json.dumps(create_report(configuration, workload, observed)) + "\n")


def _describe() -> None:
    from gap_k6.report import described  # noqa: PLC0415

    line = {
        "contract": CONTRACT_VERSION,
        **described(),
        "protocols": ["http"],
        "workloads": known_workloads(),
        "reports": "indices",
    }
    sys.stdout.write(json.dumps(line) + "\n")


def _draw(text: str) -> None:
    """Drawn by k6 itself, so that golden vectors hold in the engine that runs the load."""
    configuration, workload = read_draw_configuration(text)
    draw = configuration.draw
    told = {
        "mark": MARK,
        "workload": told_work(configuration.workload),
        "fields": workload.fields,
        "draw": {"connection": draw.connection, "first_index": draw.first_index, "count": draw.count},
    }
    with started("draw.js", told, free_port()) as process:
        _print_drawn(process, draw.count)


def _print_drawn(process: subprocess.Popen[str], count: int) -> None:
    assert process.stderr is not None
    drawn, other = 0, ""
    for line in process.stderr:
        if line.startswith(MARK):
            sys.stdout.write(line.removeprefix(MARK))
            drawn += 1
        else:
            other = line.strip() or other
    if process.wait() != 0 or drawn != count:
        raise ClientError(EXIT_INTEGRITY, f"k6 drew {drawn:,} of {count:,} operations: {other}")
