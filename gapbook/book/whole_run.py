"""The last run of every test, none left to another day, that somebody committed."""

from __future__ import annotations

import msgspec

from gapbook.paths import CHECKOUT

__all__ = ["LAST_WHOLE_RUN", "WholeRun", "last_whole_run"]

LAST_WHOLE_RUN = CHECKOUT / "tests" / "last-whole-run.json"


class WholeRun(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When it was, of which commit, how it ended, and what each suite took."""

    date: str
    commit: str
    passed: bool
    minutes: dict[str, float]


def last_whole_run() -> str:
    """A line for people."""
    try:
        run = msgspec.json.decode(LAST_WHOLE_RUN.read_bytes(), type=WholeRun)
    except FileNotFoundError:
        return "all tests: no run of every case is on record (make test-all)"
    except msgspec.DecodeError as error:
        return f"all tests: {LAST_WHOLE_RUN.name} cannot be read ({error}); make test-all writes it anew"
    ended = "passed" if run.passed else "FAILED"
    minutes = sum(run.minutes.values())
    return f"all tests: {ended} on {run.date}, commit {run.commit[:9]}, {minutes:.0f} min (make test-all)"
