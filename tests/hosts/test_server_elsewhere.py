"""A server on another host, named by a variable: what of it is measured, and what is said not to be known."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gapbook.deploy.stack import stack_class
from gapbook.method.findings import Findings
from gapbook.method.same import setup_of
from gapbook.pages.provenance import method_words
from gapbook.paths import CHECKOUT
from gapbook.record.run import find_run
from tests.hosts.clusters_apart import until
from tests.hosts.hosts_apart import Host, hosts_apart, why_none

_NEEDS_HOSTS = pytest.mark.skipif(why_none() is not None, reason=str(why_none()))
_CHAPTER = "contention"
_SECRET = "secret-of-the-reader"
_MEASURED = "2.8.3"


def _serve(host: Host, system: str, version: str, log: Path) -> str:
    """A server on the host; the URL of somebody who may log in there."""
    host.start(
        sys.executable,
        "-m",
        "tests.hosts.serving",
        system,
        version,
        host.address,
        log=log,
        environment={"PYTHONPATH": str(CHECKOUT)},
    )

    def urls() -> list[str]:
        return [line for line in log.read_text(encoding="utf-8").splitlines() if f"@{host.address}:" in line]

    until(lambda: bool(urls()))
    return urls()[-1]


def _run(host: Host, *parameters: str, log: Path, environment: dict[str, str]) -> tuple[int, str]:
    once = ("alpha=0.5", "attempts=1", "blocks=1", "window_s=1", "warmup_s=0.3", "kills=0")
    words = [word for one in (*once, *parameters) for word in ("-p", one)]
    process = host.start(
        sys.executable,
        "-m",
        "gapbook",
        "run",
        _CHAPTER,
        "--no-page",
        *words,
        log=log,
        environment=environment,
    )
    return process.wait(180), log.read_text(encoding="utf-8")


@_NEEDS_HOSTS
@pytest.mark.parametrize(
    ("system", "version", "contestant"),
    [("postgres", "", "procedure-rust"), ("spacetimedb", _MEASURED, "spacetimedb-2-rust")],
)
def test_a_server_on_another_host_is_measured_and_what_cannot_be_read_is_not_assessed(
    system: str, version: str, contestant: str, tmp_path: Path, runs_folder: Path
) -> None:
    runs_folder.mkdir()
    if version and not stack_class(system).is_here(version):
        pytest.skip(f"no {system} {version} here")
    with hosts_apart(2) as (here, there):
        url = _serve(there, system, version, tmp_path / "server")
        named = f"servers={system}{f'@{version}' if version else ''}=env:GAPBOOK_THEIRS"
        code, said = _run(
            here,
            named,
            f"contestants={contestant}",
            log=tmp_path / "run",
            environment={"GAPBOOK_THEIRS": url, "GAPBOOK_RUNS": str(runs_folder)},
        )
    # The server is another process of this machine here, which the gate of the client's machine sees.
    assert code == 0 or "quiet machine" in said, said
    (folder,) = (runs_folder / _CHAPTER).iterdir()
    written = b"".join(path.read_bytes() for path in folder.iterdir()) + said.encode()
    password = url.partition("@")[0].rpartition(":")[2]
    assert password.encode() not in written
    assert there.address not in (folder / "manifest.json").read_text(encoding="utf-8")
    run = find_run(_CHAPTER, folder.name)
    (server,) = run.manifest.systems.values()
    assert (server.backend, server.sha256) == ("elsewhere", "")
    (trial,) = run.trials.iter_rows(named=True)
    assert trial["acknowledged"] == trial["committed"] > 0
    assert trial["server_cpu_s"] is None
    assert trial["other_cpu_s"] is not None
    gates = {gate["name"]: gate["passed"] for gate in json.loads(trial["gates"])}
    assert gates["reconciled"] is True
    assert gates["steal"] is not True
    assert gates["quiet machine"] is not True
    # Postgres says its settings over the network; SpacetimeDB does not say what a commit waits for.
    assert gates["settings"] is (True if system == "postgres" else None)
    assert (trial["durability"] is None) is (system == "spacetimedb")
    (recorded,) = run.scenario.contestants
    assert ("server", "elsewhere") in setup_of(run, recorded)
    assert "on another machine, of which nothing is recorded" in method_words(Findings(run, _CHAPTER))


def test_a_server_elsewhere_is_named_by_a_variable_alone(tmp_path: Path) -> None:
    def refused(named: str, **variables: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "gapbook", "run", _CHAPTER, "-p", f"servers={named}"],
            capture_output=True,
            text=True,
            check=False,
            encoding="utf-8",
            env={**os.environ, "GAPBOOK_RUNS": str(tmp_path), **variables},
        )
        assert done.returncode == 2
        (line,) = done.stderr.splitlines()
        assert _SECRET not in line
        return line

    url = f"postgresql://reader:{_SECRET}@192.0.2.1:5432/bank"
    assert "192.0.2.1 is not this machine" in refused(f"postgres={url}")
    assert "GAPBOOK_THEIRS is not set" in refused("postgres=env:GAPBOOK_THEIRS")
    assert "allowed: env:GAPBOOK_ and a name" in refused("postgres=env:HOME")
    two = f"postgresql://reader:{_SECRET}@192.0.2.1,192.0.2.2:5432/bank"
    assert "with one host" in refused("postgres=env:GAPBOOK_THEIRS", GAPBOOK_THEIRS=two)
    hidden = f"{url}?hostaddr=192.0.2.9"
    assert "hostaddr in the URL" in refused("postgres=env:GAPBOOK_THEIRS", GAPBOOK_THEIRS=hidden)
    tls = f"https://reader:{_SECRET}@192.0.2.1:443"
    assert "name http://HOST:PORT" in refused(
        f"spacetimedb@{_MEASURED}=env:GAPBOOK_THEIRS", GAPBOOK_THEIRS=tls
    )
