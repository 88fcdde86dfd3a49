"""One trial of a replicator: its storage and its processes, from the first copy to the last restore."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from gapbook.deploy.bucket import Bucket
from gapbook.deploy.deployment import Deployment
from gapbook.deploy.observed import Observed, told
from gapbook.deploy.restored import Attempt, Restorer
from gapbook.deploy.stack import Ahead, Observation
from gapbook.deploy.together import Together
from gapbook.errors import StackError
from gapbook.model.event import Event
from gapbook.record.own_metric import OwnMetric

__all__ = ["Command", "Commands", "Replication"]

Command: TypeAlias = Sequence[str | Path]
_FIRST_COPY_WITHIN_S = 60.0
_SETTLED_AFTER_S = 10.0
"""When a replicator that says it has stored everything is believed to bring back no more."""
_IDLE_S = 2.0
_TIMED_RESTORES = 3


@dataclass(frozen=True)
class Commands:
    """How a replicator is started and how it restores; each is also given the bucket.

    ``watch`` has the databases of one process and its place among the processes, ``restore`` a database and where
    its copy is to lie. ``says_all_synced`` tells whether the replicator itself says that it has stored all that its
    database has, None where it says nothing that could be read.
    """

    watch: Callable[[Sequence[Path], int, Bucket], Command]
    restore: Callable[[Path, Path, Bucket], Command]
    says_all_synced: Callable[[Path, Bucket], bool | None]


class Replication:
    """What a trial has started beside its databases. What it tests is said in
    :mod:`gapbook.deploy.replicated`; every verb raises StackError, in one line, when the replicator or its storage
    is gone by anything but a strike of ours."""

    def __init__(
        self,
        deployment: Deployment,
        name: str,
        databases: Sequence[Path],
        commands: Commands,
        tables: Mapping[str, Sequence[str]],
        ahead: Ahead,
    ) -> None:
        self.databases = databases
        self.commands = commands
        self.wanted = ahead.access.replication
        self.replicators = Together(deployment, name)
        self.bucket = Bucket(deployment, self.wanted.round_trip_ms)
        self._observed = Observed(self.wanted, ahead, self.replicators)
        self._restorer = Restorer(
            deployment,
            lambda database, output: commands.restore(database, output, self.bucket),
            self.bucket.environment,
            tables,
        )

    def begin(self) -> None:
        """Start the storage and the replicator, wait for a whole copy, and read the memory of nothing to do."""
        self.bucket.open()
        self._start()
        first = self._restorer.until_whole(self.databases, _FIRST_COPY_WITHIN_S)
        self._require_sound()
        self._require_whole(first)
        if self.wanted.ballast_mb is not None:
            self._observed.restored_s = [self._timed_restore() for _ in range(_TIMED_RESTORES)]
        time.sleep(_IDLE_S)
        self._observed.idle = self.replicators.memory()

    def _start(self) -> None:
        each = self.wanted.processes == "each"
        groups = [[one] for one in self.databases] if each else [self.databases]
        for place, group in enumerate(groups):
            self.replicators.start(self.commands.watch(group, place, self.bucket), self.bucket.environment)

    def _timed_restore(self) -> float:
        """The time of one restore, which counts only when its copy is whole."""
        began_s = time.monotonic()
        copy = self._restorer.restore(self.databases[0])
        self._require_whole(Attempt((copy,), began_s))
        return copy.took_s

    def _require_whole(self, found: Attempt) -> None:
        if not found.whole:
            raise StackError(f"{self.replicators.name}: no whole copy before the first write: {found.why}")

    def _require_sound(self) -> None:
        self.replicators.require_running()
        self.bucket.require_there()

    def on_event(self, event: Event) -> None:
        """Hear the progress of the client, and strike when it is time."""
        due = self._observed.on_event(event)
        restarts = self._observed.strike == "restart"
        if due == "strike":
            (self.replicators.kill if restarts else self.bucket.go_away)()
        elif due == "relent":
            (self._start if restarts else self.bucket.come_back)()

    def observe(self) -> Observation:
        """What came back of all that was written, what was read meanwhile, and what is wrong with copies that are
        not whole.

        Copies that are not whole are restored again for ``patience_s`` (a minute, unless the access level says
        another time), or until the replicator itself says that it has stored everything.
        """
        # First, for a replicator that a short window left killed does not run, and that is not why.
        if not self._observed.strike_is_over:
            raise StackError(
                f"{self.replicators.name}: the load ended before its {self._observed.strike} was over; "
                "measure it in a window of at least 6 s"
            )
        self._require_sound()
        log_bytes = max(_size(path.with_name(f"{path.name}-wal")) for path in self.databases)
        patience_s = self.wanted.patience_s
        found = self._restorer.until_whole(self.databases, patience_s, self._settled)
        self._require_sound()
        metrics = {
            **self._observed.metrics(),
            **_of_copies(found, self._observed.ended_s),
            **told("log", log_bytes / 1e6, "MB"),
            **self._told_synced(),
        }
        return Observation(metrics, found.remarks)

    def _said_synced(self) -> Iterator[bool | None]:
        return (self.commands.says_all_synced(path, self.bucket) for path in self.databases)

    def _settled(self) -> bool:
        waited_s = time.monotonic() - self._observed.ended_s
        return waited_s >= _SETTLED_AFTER_S and all(self._said_synced())

    def _told_synced(self) -> dict[str, OwnMetric]:
        said = list(self._said_synced())
        if None in said:
            return {}
        return told("said to be synced", statistics.fmean(map(bool, said)), "of databases", "higher")

    def end(self) -> None:
        """End what was started; what was stored is removed."""
        self.replicators.end()
        self.bucket.close()


def _of_copies(found: Attempt, ended_s: float) -> dict[str, OwnMetric]:
    """What came back, and how long after the last commit all of one database could be had."""
    metrics = {
        **told("rows lost", sum(copy.lost for copy in found.copies), "rows"),
        **told("rows made up", sum(copy.unexpected for copy in found.copies), "rows"),
        **told("copies unusable", sum(not copy.usable for copy in found.copies), "databases"),
        **told(
            "restored whole", statistics.fmean(copy.whole for copy in found.copies), "of databases", "higher"
        ),
    }
    mended = [copy.mended_lost for copy in found.copies if copy.mended_lost is not None]
    if unsound := sum(not copy.usable for copy in found.copies):
        metrics |= told("copies sound after REINDEX", len(mended), "databases", "higher")
    if unsound and mended:
        metrics |= told("rows lost after REINDEX", sum(mended), "rows")
    if found.whole and len(found.copies) == 1:
        metrics |= told("restorable after", max(found.began_s - ended_s, 1e-3), "s")
    return metrics


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
