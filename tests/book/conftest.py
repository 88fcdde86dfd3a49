"""One real run for all tests of the session, the book built of it, and a browser to open it in.

Tests of what is measured here run in one process, tests of the published book in another, and each other file as a
whole: so nothing is measured or built twice, and neither waits for the other.
"""

from __future__ import annotations

import functools
import http.server
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, sync_playwright

from gapbook.locks import taking_turns
from gapbook.paths import build_directory, tool_path
from gapbook.record.run import latest_published, published_folder
from tests.book.book_site import CHAPTER, Open, Site, Visit, build, gapbook, measure

_BROWSERS = (
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
)
"""The same engine in each; without the windows of a desktop it takes a third of the processor time."""
_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


_OF_EACH_KIND = (
    "drizzle-rpc",
    "procedure-rpc",
    "procedure-rpc-rust",
    "postgres-rust",
    "postgres-rust-deep",
    "postgres-waits-deep",
    "postgres-batch",
    "spacetimedb-rust",
    "spacetimedb-rust-deep",
    "spacetimedb-2-rust-deep",
    "spacetimedb-2-waits-deep",
)


_FOLDER = Path(__file__).parent
_MEASURED_HERE = ("own", "refused")


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Iterator[None]:
    """Which tests share a process, where several run them."""
    for item in items:
        if _FOLDER in item.path.parents:
            item.add_marker(pytest.mark.xdist_group(_group_of(item)))
    yield


def _group_of(item: pytest.Item) -> str:
    callspec = getattr(item, "callspec", None)
    needed = {*getattr(item, "fixturenames", ())}
    if callspec is not None and "site" in callspec.params:
        needed.add(f"{callspec.params['site']}_site")
    if needed & {f"{kind}_site" for kind in _MEASURED_HERE}:
        return "measured here"
    return "published" if "published_site" in needed else item.path.stem


@pytest.fixture(scope="session")
def own_site(published_site: Site, tmp_path_factory: pytest.TempPathFactory) -> Site:
    """A short run of a contestant of each kind; on a busy machine many of its trials are refused. Its book has the
    other pages as they were executed for the published one."""
    del published_site
    return build(
        measure("alpha=0.5", f"contestants={','.join(_OF_EACH_KIND)}"),
        tmp_path_factory.mktemp("own") / "site",
    )


@pytest.fixture(scope="session")
def refused_site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """A run whose every trial is refused: the tests themselves keep the machine busy meanwhile."""
    with _busy_machine():
        # With one connection: each has a process of Postgres, which all share the machine with the busy ones.
        run = measure(
            "alpha=0.5", "blocks=1", "connections=1", "contestants=postgres-rust-deep,spacetimedb-rust-deep"
        )
    assert not run.trials["valid"].any(), "the quiet-machine gate accepted a busy machine"
    return build(run, tmp_path_factory.mktemp("refused") / "site")


@contextmanager
def _busy_machine() -> Iterator[None]:
    """A program for each processor that is busy from the first line on until the last of it: of a processor that it
    shares with a server and a client, it takes more than the tenth that others may.

    Linux shares a processor out by session (sched(7), autogroup), and each process of Postgres has one of its own.
    """
    python = tool_path("python")
    assert python is not None
    # They end with this process too, however it ends: nobody else holds the other end of what they read.
    program = (
        "import os, sys, threading\n"
        "threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0))).start()\n"
        "print('busy', flush=True)\n"
        "while True: pass"
    )
    busy = [
        subprocess.Popen(
            [str(python), "-c", program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        for _ in os.sched_getaffinity(0)
    ]
    try:
        for process in busy:
            assert process.stdout is not None
            assert process.stdout.readline() == b"busy\n"
        yield
    finally:
        for process in busy:
            process.kill()
            process.communicate()


@pytest.fixture(scope="session")
def published_site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    if not any(published_folder(CHAPTER).glob("*/manifest.json")):
        pytest.skip(f"{CHAPTER} has no published run")
    # Of processes that share a session, the first builds it for all.
    own = tmp_path_factory.getbasetemp()
    shared = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "published"
    with taking_turns(shared):
        folder = shared / "site"
        if not folder.exists():
            done = gapbook("book", offline=True)
            assert done.returncode == 0, done.stdout + done.stderr
            copied = shutil.copytree(build_directory() / "published" / "_build" / "html", shared / "copy")
            copied.rename(folder)
    return Site(folder, latest_published(CHAPTER))


@pytest.fixture(scope="session", params=[*_MEASURED_HERE, "published"])
def site(request: pytest.FixtureRequest) -> Site:
    """Each kind of book there is; what holds for a page holds for all of them."""
    found: Site = request.getfixturevalue(f"{request.param}_site")
    return found


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    program = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if program is None:
        pytest.fail("no Chromium on PATH; install it: apt-get install chromium-headless-shell, or chromium")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=_ARGUMENTS)
        yield started
        started.close()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        del format, args


@contextmanager
def served(folder: Path) -> Iterator[str]:
    handler = functools.partial(_Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@dataclass(frozen=True)
class _Way:
    """How pages of a site are opened; what is the same from one page to the next stays open."""

    folder: Path
    width: int
    dark: bool
    scripts: bool
    from_file: bool


@pytest.fixture
def visit(browser: Browser) -> Iterator[Open]:
    """``visit(site, path)`` opens a page of a site and closes the one before it; options: width, dark, scripts,
    from_file."""
    open_now = ExitStack()
    last: list[tuple[_Way, str, BrowserContext]] = []

    def context_for(way: _Way) -> tuple[str, BrowserContext]:
        if last and last[0][0] == way:
            _, origin, context = last[0]
            for page in context.pages:
                page.close()
            return origin, context
        last.clear()
        open_now.close()
        origin = way.folder.as_uri() if way.from_file else open_now.enter_context(served(way.folder))
        context = browser.new_context(
            viewport={"width": way.width, "height": 800},
            color_scheme="dark" if way.dark else "light",
            java_script_enabled=way.scripts,
        )
        open_now.callback(context.close)
        if not way.from_file:
            context.grant_permissions(["clipboard-read", "clipboard-write"], origin=origin)
        last.append((way, origin, context))
        return origin, context

    def open_page(
        site: Site,
        path: str = f"notebooks/{CHAPTER}.html",
        *,
        width: int = 1280,
        dark: bool = False,
        scripts: bool = True,
        from_file: bool = False,
    ) -> Visit:
        origin, context = context_for(_Way(site.folder, width, dark, scripts, from_file))
        page = context.new_page()
        # Only a page that never comes is to be ended: no test is about speed.
        page.set_default_timeout(60_000)
        found = Visit(page)

        def failed(request: Any) -> None:
            # Without scripts the browser cancels what the page would have preloaded for them.
            if scripts or request.resource_type != "script":
                found.errors.append(f"failed: {request.url}")

        def requested(request: Any) -> None:
            if not request.url.startswith((origin, "data:")):
                found.outside.append(request.url)

        def answered(response: Any) -> None:
            if response.status >= 400:
                found.errors.append(f"{response.status}: {response.url}")

        def said(message: ConsoleMessage) -> None:
            if message.type in {"error", "warning"}:
                found.errors.append(f"{message.type}: {message.text}")

        page.on("pageerror", lambda error: found.errors.append(f"script: {error}"))
        page.on("console", said)
        page.on("requestfailed", failed)
        page.on("request", requested)
        page.on("response", answered)
        page.goto(f"{origin}/{path}", wait_until="load")
        if scripts:
            # What scripts ask for once the page is there; without them nothing is asked for later.
            page.wait_for_load_state("networkidle")
        return found

    with open_now:
        yield open_page
