"""A small campaign on the machines behind a scheduler: ``python -m tests.hosts.campaign_on ADDRESS SESSIONS``."""

from __future__ import annotations

import sys

from gapbook.book.campaign import Campaign
from gapbook.book.plans import PublishedPlan
from gapbook.errors import GapbookError
from gapbook.hosts.cluster import cluster

CHAPTER = "both-optimized"


def main() -> int:
    address, sessions = sys.argv[1], int(sys.argv[2])
    given = {
        "contestants": "postgres-rust",
        "alpha": [0.5],
        "accounts": 1000,
        "connections": 4,
        "blocks": sessions,
        "sessions": sessions,
        "attempts": 1,
        "kills": 0,
        "window_s": 0.5,
        "warmup_s": 0.2,
        "others_every": 1,
        "end_trials": 1,
    }
    plan = PublishedPlan.of(CHAPTER, given)
    try:
        with cluster(address, lambda line: print(line, flush=True)) as hosts:
            return len(Campaign([plan], lambda line: print(line, flush=True)).run_on(hosts))
    except GapbookError as error:
        print(error, flush=True)
        return 2


if __name__ == "__main__":
    sys.exit(main())
