"""walrust: compiled from its crate, one process for all databases that it is named."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gapbook.deploy import replicated
from gapbook.deploy.bucket import Bucket
from gapbook.deploy.server import Server, ServerChoice, said_version, sha256_of


class Stack(replicated.CrateReplicator):
    """See :class:`gapbook.deploy.replicated.ReplicatedStack`."""

    @classmethod
    def locate(cls, choice: ServerChoice) -> Server:
        binary = cls._chosen_binary(choice, cls._compiled())
        said = said_version("walrust", binary, r"\Awalrust (\d+\.\d+\.\d+\S*)\s*\Z")
        return Server(str(binary), said, sha256_of(binary))

    def watch_command(self, databases: Sequence[Path], bucket: Bucket, folder: Path) -> list[str | Path]:
        """At its defaults, but for the port of its metrics, which a second process could not have."""
        del folder
        where = ["--bucket", f"s3://{bucket.bucket}", "--endpoint", bucket.url]
        return [self.server().path, "watch", *databases, *where, "--no-metrics"]

    def restore_command(self, database: Path, output: Path, bucket: Bucket, folder: Path) -> list[str | Path]:
        del folder
        where = ["--bucket", f"s3://{bucket.bucket}", "--endpoint", bucket.url]
        return [self.server().path, "restore", database.stem, "--output", output, *where]
