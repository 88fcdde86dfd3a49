"""An S3 server on this machine, over a folder of the deployment: what a replicator copies to."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from functools import cache

from gapbook.deploy.delay import delay_proxy
from gapbook.deploy.deployment import Deployment
from gapbook.deploy.endpoint import Endpoint
from gapbook.deploy.installed import go_install, installed_binary
from gapbook.deploy.process import free_port
from gapbook.deploy.server import Server, sha256_of
from gapbook.deploy.together import Together
from gapbook.errors import SetupError, StackError

__all__ = ["Bucket", "bucket_server", "install_bucket_server"]

_PROGRAM, _VERSION = "versitygw", "1.8.0"
_MODULE = "github.com/versity/versitygw/cmd/versitygw"
_EXPECTED_S = 90.0
_REGION = "us-east-1"
_READY_WITHIN_S = 20.0


def install_bucket_server() -> None:
    """Compile the server into the cache, unless it is there."""
    go_install(_PROGRAM, _MODULE, _VERSION, expected_s=_EXPECTED_S)


@cache
def bucket_server() -> Server:
    """The server that would run; raises SetupError naming the command that installs it."""
    binary = installed_binary(_PROGRAM, _VERSION)
    if not binary.is_file():
        raise SetupError(
            f"S3 server: {binary} is missing; run: gapbook setup CHAPTER, for a chapter that names a system which "
            "copies to it"
        )
    return Server(str(binary), _VERSION, sha256_of(binary))


class Bucket(Together):
    """One bucket behind a server of its own, and behind a relay where a round trip is added.

    Its processes are counted together; :meth:`go_away` and :meth:`come_back` are an outage of the storage, in
    which connections are refused and nothing that was stored is gone.
    """

    bucket = "copies"

    def __init__(self, deployment: Deployment, round_trip_ms: float | None = None) -> None:
        super().__init__(deployment, "s3-server")
        self._round_trip_ms = round_trip_ms
        number = secrets.token_hex(4)
        self._folder = deployment.directory / f"storage-{number}"
        # Metadata in files: extended attributes are not to be had on every file system. The server takes a folder
        # whose name begins with that of the storage for one inside it.
        self._metadata = deployment.directory / f"metadata-{number}"
        self._port = self._reached_at = free_port()
        self._keys = (secrets.token_hex(10), secrets.token_hex(20))
        self._made: int | None = None
        self._open = contextlib.ExitStack()

    def open(self) -> None:
        """Start serving an empty bucket; raises StackError."""
        try:
            (self._folder / self.bucket).mkdir(parents=True)
            # Held open, so that a folder made anew, as the server makes one, never has the same number.
            self._made = os.open(self._folder / self.bucket, os.O_RDONLY | os.O_DIRECTORY)
        except OSError as error:
            raise StackError(f"{self.name}: {self._folder} cannot be made ({error.strerror})") from error
        self._open.callback(os.close, self._made)
        self._serve()
        if self._round_trip_ms is not None:
            behind: Endpoint = {"host": "127.0.0.1", "port": self._port}
            proxied = delay_proxy(self.deployment, behind, self._round_trip_ms)
            relay, endpoint = self._open.enter_context(proxied)
            self.count(relay)
            self._reached_at = endpoint["port"]

    def _serve(self) -> None:
        access, secret = self._keys
        self._metadata.mkdir(exist_ok=True)
        command = [bucket_server().path, "--port", f"127.0.0.1:{self._port}", "--region", _REGION, "--quiet"]
        process = self.start(
            [*command, "posix", "--sidecar", self._metadata, self._folder],
            {"ROOT_ACCESS_KEY": access, "ROOT_SECRET_KEY": secret},
        )
        self.deployment.wait_until_listening(process, self._port, _READY_WITHIN_S)

    def close(self) -> None:
        """End the server and remove all that was stored."""
        self._open.close()
        self.end()
        for folder in (self._folder, self._metadata):
            shutil.rmtree(folder, ignore_errors=True)

    def go_away(self) -> None:
        """From now on nobody can connect; what was stored stays."""
        self.kill()

    def come_back(self) -> None:
        """Serve again, at the same address, what was stored before; raises StackError."""
        self._serve()

    def require_there(self) -> None:
        """Raise StackError when the server has ended, or its bucket is gone or not the one that was made."""
        self.require_running()
        made = None if self._made is None else os.fstat(self._made)
        with contextlib.suppress(FileNotFoundError):
            if made and os.path.samestat(made, (self._folder / self.bucket).stat()):
                return
        raise StackError(f"{self.name}: the bucket {self.bucket} is gone from its folder")

    @property
    def url(self) -> str:
        """Where replicators reach it."""
        return f"http://127.0.0.1:{self._reached_at}"

    @property
    def environment(self) -> dict[str, str]:
        """What programs with an S3 client of the usual kind read: keys, region, and that there is no proxy."""
        access, secret = self._keys
        return {
            "AWS_ACCESS_KEY_ID": access,
            "AWS_SECRET_ACCESS_KEY": secret,
            "AWS_REGION": _REGION,
            "AWS_EC2_METADATA_DISABLED": "true",
            "NO_PROXY": "127.0.0.1",
            "no_proxy": "127.0.0.1",
        }

    def stored(self, key: str) -> bytes | None:
        """An object as it lies in the server's folder; None where there is none."""
        try:
            return (self._folder / self.bucket / key).read_bytes()
        except OSError:
            return None
