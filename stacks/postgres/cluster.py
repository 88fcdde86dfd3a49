"""A fresh cluster of our own as a process of this machine."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from gapbook.deploy.deployment import Deployment

__all__ = ["make_cluster"]


def make_cluster(
    deployment: Deployment,
    binary: Path,
    data: Path,
    *,
    password_file: Path,
    password: str,
    owner: str | int,
    user: str | None,
    settings: Mapping[str, str],
    callers: str | None = None,
) -> None:
    """Run initdb of the server's version, as ``user`` where it is not to be ours, and write down its settings.

    ``callers`` is the role that may log in from other hosts too, with its password, to the database of its name.
    """
    data.mkdir(mode=0o700)
    password_file.write_text(password, encoding="utf-8")
    for path in (password_file.parent, data, password_file):
        shutil.chown(path, owner)
    deployment.run(
        [
            binary.parent / "initdb",
            f"--pgdata={data}",
            f"--pwfile={password_file}",
            "--username=postgres",
            "--auth=scram-sha-256",
            "--encoding=UTF8",
            "--no-locale",
            "--no-sync",
            # An interrupted one leaves shared memory, which is found by this folder's inode.
            "--no-clean",
        ],
        name="postgres-initdb",
        user=user,
    )
    password_file.unlink()
    with (data / "postgresql.conf").open("a", encoding="utf-8") as configuration:
        for key, value in settings.items():
            configuration.write(f"{key} = '{value}'\n")
    if callers is not None:
        with (data / "pg_hba.conf").open("a", encoding="utf-8") as admitted:
            admitted.write(f"host {callers} {callers} all scram-sha-256\n")
