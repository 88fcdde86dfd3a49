"""A small run whose load comes from the hosts behind a scheduler, with what it hears told in lines:
``python -m tests.hosts.load_from ADDRESS BLOCKS WINDOW_S CONTESTANTS``."""

from __future__ import annotations

import sys
import time
from typing import Any

import pytest

from gapbook.errors import GapbookError
from gapbook.load.clock_offset import ClockOffset
from gapbook.record.durability import Durability
from gapbook.trial.campaign import measurement_of
from gapbook.trial.contestant import Contestant
from gapbook.trial.load_hosts import following
from gapbook.trial.load_hosts.engaged import EngagedHost
from gapbook.trial.load_hosts.fleet import load_hosts_at
from gapbook.trial.load_hosts.following import Following
from gapbook.trial.scenario import Scenario
from tests.bank import alphas, bank

CHAPTER = "load-from-hosts"
CONNECTIONS = 5
_CONTESTANTS = (
    Contestant("postgres", "postgres", "procedure", "direct", "rust", 4),
    Contestant("spacetimedb", "spacetimedb", "reducer", "direct", "rust", 4),
)


def main() -> int:
    address, blocks, window_s, names = sys.argv[1:]
    scenario = Scenario(
        chapter=CHAPTER,
        contestants=_CONTESTANTS,
        workload=bank(1000),
        treatment=alphas(0.5),
        connections=CONNECTIONS,
        window_s=float(window_s),
        warmup_s=0.3,
        durability=Durability("delayed", 500.0),
        seed=7,
    ).select(names.split(","))
    try:
        with pytest.MonkeyPatch.context() as patch, load_hosts_at(address, _say) as fleet:
            _tell(patch)
            measurement_of(scenario, blocks=int(blocks), choices={}, say=_say, maker=fleet).run("live")
    except GapbookError as error:
        _say(str(error))
        return 2
    return 0


def _say(line: str) -> None:
    print(line, flush=True)


def _tell(patch: pytest.MonkeyPatch) -> None:
    """Say what each host's clock is found to be, and when each host says that its window began; and wait shortly."""
    patch.setattr("gapbook.load.null_server.CEILING_WINDOW_S", 0.2)
    patch.setattr(following, "SILENT_S", 3.0)
    clock, pass_on = EngagedHost.clock, Following._pass_on

    def telling_clock(self: EngagedHost) -> ClockOffset:
        found = clock(self)
        _say(f"clock of {self.name}: {found.offset_s:+.4f} s within {found.bound_s:.6f} s")
        return found

    def telling_words(self: Following, place: int, said: Any) -> None:
        if said.event == "window_start":
            _say(
                f"window of {self._hosts[place].name} began {time.monotonic() - self._start_s:.3f} s after the start"
            )
        pass_on(self, place, said)

    patch.setattr(EngagedHost, "clock", telling_clock)
    patch.setattr(Following, "_pass_on", telling_words)


if __name__ == "__main__":
    sys.exit(main())
