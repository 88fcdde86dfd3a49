"""Clusters of hosts with networks of their own: one that measures a campaign's sessions, one that makes load."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from subprocess import Popen

from tests.hosts.hosts_apart import Host, hosts_apart

__all__ = ["CampaignHosts", "LoadingHosts", "hosts_with_disk", "says", "until"]

_PORT = 8786
_WITHIN_S = 240
_GAPBOOK = (sys.executable, "-m", "gapbook")
_ON_CORE = "import os, sys; os.sched_setaffinity(0, {int(sys.argv[1])}); os.execv(sys.argv[2], sys.argv[2:])"
_SKEWED = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/time.h>
#include <time.h>
int clock_gettime(clockid_t id, struct timespec *found) {
  static int (*really)(clockid_t, struct timespec *);
  if (!really) really = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
  int answer = really(id, found);
  if (!answer && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) found->tv_sec += AHEAD_S;
  return answer;
}
time_t time(time_t *found) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (found) *found = now.tv_sec;
  return now.tv_sec;
}
int gettimeofday(struct timeval *restrict found, void *restrict zone) {
  struct timespec now;
  (void)zone;
  clock_gettime(CLOCK_REALTIME, &now);
  found->tv_sec = now.tv_sec;
  found->tv_usec = now.tv_nsec / 1000;
  return 0;
}
"""
"""A clock that is off, for every program of a host: none asks the kernel behind the library's back."""
_WITH_OWN_ETC = """set -e
mount -t tmpfs none "$1"
cp -a /etc/. "$1"
echo "$2" > "$1/ld.so.preload"
mount --bind "$1" /etc
shift 2
exec "$@"
"""
"""Runs a program that loads a library first, as all do that it starts: in a folder /etc of its own."""


@contextmanager
def hosts_with_disk(count: int) -> Iterator[tuple[list[Host], Path]]:
    """So many hosts, and a folder on a disk that lasts."""
    with tempfile.TemporaryDirectory(prefix="test-of-gapbook-", dir="/var/tmp") as disk:
        Path(disk).chmod(0o755)
        with hosts_apart(count) as hosts:
            yield hosts, Path(disk)


def until(holds: Callable[[], bool]) -> None:
    """Wait for it; raises AssertionError where it never comes."""
    ends_s = time.monotonic() + _WITHIN_S
    while not holds():
        assert time.monotonic() < ends_s, "it never came"
        time.sleep(0.05)


def says(log: Path, pattern: str, times: int = 1) -> Callable[[], bool]:
    return lambda: len(re.findall(pattern, log.read_text(encoding="utf-8"))) >= times


class _Cluster:
    """A scheduler on the first host, and what runs on the others."""

    def __init__(self, hosts: list[Host], folder: Path, disk: Path) -> None:
        self.first, self.others = hosts[0], hosts[1:]
        self.address = f"tcp://{self.first.address}:{_PORT}"
        self.folder = folder
        self.disk = disk
        self.scheduler = self.start_scheduler()

    def start_scheduler(self) -> Popen[str]:
        log = self.folder / "scheduler.log"
        words = ("--host", self.first.address, "--port", str(_PORT), "--no-dashboard")
        started = self.first.start(sys.executable, "-m", "distributed.cli.dask_scheduler", *words, log=log)
        until(says(log, "Scheduler at"))
        return started

    def data_of(self, host: Host) -> Path:
        """Where servers and clients of a host keep what they write."""
        data = self.disk / f"data-of-{host.name}"
        data.mkdir(exist_ok=True)
        data.chmod(0o755)
        return data

    def require_no_folders(self, *hosts: Host) -> None:
        """On no such host a folder of a deployment, once who made it has heard that it is over."""
        for host in hosts:
            until(partial(_holds_nothing, self.data_of(host)))


class CampaignHosts(_Cluster):
    """Hosts that measure the sessions of a campaign."""

    def start_worker(self, host: Host, core: int | None = None) -> tuple[Popen[str], Path]:
        """``core`` is the only one that it may use, and so another kind of machine."""
        log = self.folder / f"{host.name}.log"
        narrowed = () if core is None else (sys.executable, "-c", _ON_CORE, str(core))
        words = (*narrowed, *_GAPBOOK, "worker", self.address)
        started = host.start(*words, log=log, environment={"GAPBOOK_DATA": str(self.data_of(host))})
        until(says(log, "waits for sessions"))
        return started, log

    def start_campaign(self, sessions: int) -> tuple[Popen[str], Path]:
        log = self.folder / "campaign.log"
        module = ("-m", "tests.hosts.campaign_on", self.address, str(sessions))
        return self.first.start(sys.executable, *module, log=log), log

    def require_nothing_left(self) -> None:
        """No server and no folder is left once each worker is told to end."""
        for host in self.others:
            for process in host.processes():
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGTERM)
        until(lambda: not any(host.processes() for host in self.others))
        self.require_no_folders(*self.others)


class LoadingHosts(_Cluster):
    """Hosts that make load, for a server on the first."""

    def start(self, number: int, ahead_s: int = 0) -> tuple[Popen[str], Path]:
        """A load host, whose clock is ``ahead_s`` ahead of that of all others."""
        host = self.others[number]
        log = self.folder / f"{host.name}.log"
        words: tuple[str, ...] = (*_GAPBOOK, "load-host", self.address)
        if ahead_s:
            words = (*self._skewed(host, ahead_s), *words)
        started = host.start(*words, log=log, environment={"GAPBOOK_DATA": str(self.data_of(host))})
        until(says(log, "waits for loads"))
        return started, log

    def _skewed(self, host: Host, ahead_s: int) -> tuple[str, ...]:
        library, etc = self.folder / "skewed.so", self.folder / f"etc-of-{host.name}"
        etc.mkdir()
        subprocess.run(
            ["cc", "-shared", "-fPIC", f"-DAHEAD_S={ahead_s}", "-x", "c", "-", "-o", str(library), "-ldl"],
            input=_SKEWED.encode(),
            check=True,
        )
        own = ("unshare", "--mount", "--propagation", "private", "sh", "-c", _WITH_OWN_ETC, "skewed")
        return (*own, str(etc), str(library))

    def measure(self, *, blocks: int, window_s: float, contestants: str) -> tuple[Popen[str], Path]:
        log = self.folder / "measured.log"
        words = ("-m", "tests.hosts.load_from", self.address, str(blocks), str(window_s), contestants)
        data = {"GAPBOOK_DATA": str(self.data_of(self.first))}
        return self.first.start(sys.executable, *words, log=log, environment=data), log

    def require_nothing_left(self) -> None:
        """On no host a client or a folder of a load, once who made it has heard that it is over."""
        for host in self.others:
            until(partial(_runs_at_most_one, host))
        self.require_no_folders(*self.others, self.first)


def _runs_at_most_one(host: Host) -> bool:
    return len(host.processes()) <= 1


def _holds_nothing(data: Path) -> bool:
    """Besides the folder of the worker itself."""
    return {path.name for path in data.iterdir()} <= {"gapbook-worker"}
