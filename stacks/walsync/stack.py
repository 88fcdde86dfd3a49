"""walsync: compiled from its crate, one process for all databases that it is named."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from gapbook.deploy import replicated
from gapbook.deploy.bucket import Bucket
from gapbook.deploy.server import Server, ServerChoice, sha256_of
from gapbook.errors import StackError


class Stack(replicated.CrateReplicator):
    """See :class:`gapbook.deploy.replicated.ReplicatedStack`."""

    @classmethod
    def locate(cls, choice: ServerChoice) -> Server:
        """Its binary says no version: that of our own is the one that was installed."""
        binary = cls._chosen_binary(choice, cls._compiled())
        version = "of a version that it does not say" if choice.binary else str(cls.native().version)
        return Server(str(binary), version, sha256_of(binary))

    def watch_command(self, databases: Sequence[Path], bucket: Bucket, folder: Path) -> list[str | Path]:
        del folder
        return [self.server().path, "watch", *databases, "--bucket", bucket.bucket, "--endpoint", bucket.url]

    def restore_command(self, database: Path, output: Path, bucket: Bucket, folder: Path) -> list[str | Path]:
        del folder
        where = ["--bucket", bucket.bucket, "--endpoint", bucket.url]
        return [self.server().path, "restore", database.stem, "--output", output, *where]

    def says_all_synced(self, database: Path, bucket: Bucket) -> bool | None:
        """It stores how far into the log it has come, after each upload. Raises StackError for what is none of that."""
        log = database.with_name(f"{database.name}-wal")
        log_bytes = log.stat().st_size if log.exists() else 0
        state = bucket.stored(f"{database.stem}/state.json")
        if state is None:
            return log_bytes == 0
        try:
            return int(json.loads(state)["wal_offset"]) >= log_bytes
        except (ValueError, KeyError, TypeError) as error:
            raise StackError(
                f"walsync: {database.stem}/state.json names no place in the log ({error!r})"
            ) from error
