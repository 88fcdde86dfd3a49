"""What the tests of the book share: a run measured, a book built of it, a page opened."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import Page

from gapbook.book.chapters import chapters, overviews
from gapbook.book.document_pages import titles_of_documents
from gapbook.pages.proof.every_trial import trials_of
from gapbook.paths import tool_path
from gapbook.record.run import Run, load_run
from tests.drawn import drawn

__all__ = ["CHAPTER", "Open", "Site", "Visit", "build", "gapbook", "measure"]

CHAPTER = "both-optimized"
_PAGES_OF_TRIALS = 3
_PAGES_THAT_COUNT = 3
_PAGES_OF_DOCUMENTS = 2
_SHORT = (
    "blocks=2",
    "sessions=1",
    "window_s=0.5",
    "warmup_s=0.2",
    "accounts=1000",
    "attempts=1",
    "kills=0",
)


@dataclass(frozen=True)
class Site:
    """A built book, and the run that its chapter shows."""

    folder: Path
    run: Run

    @property
    def pages(self) -> list[str]:
        """The pages to look at: of the published book all, of a reader's own those that his run is on, and each day
        others of those that only count runs; its other chapters are those of the published book, word for word."""
        every = self.run.published
        shown = chapters() if every else [CHAPTER]
        # Those of trials are made alike by one function: each day others.
        proved = [trials_of(name) for name in drawn(shown, _PAGES_OF_TRIALS)]
        counting = overviews() if every else drawn(overviews(), _PAGES_THAT_COUNT)
        # So are those of documents.
        judged = drawn(list(titles_of_documents()), _PAGES_OF_DOCUMENTS) if every else []
        names = (*shown, *proved, *counting, *judged)
        pages = ["book/method.html", "book/every-trial.html", *(f"notebooks/{name}.html" for name in names)]
        return [page for page in pages if (self.folder / page).is_file()]


@dataclass
class Visit:
    """An open page and everything that went wrong or went out while it loaded."""

    page: Page
    errors: list[str] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)


Open = Callable[..., Any]


def gapbook(*words: str, offline: bool = False) -> subprocess.CompletedProcess[str]:
    """The command as a reader runs it; ``offline`` in a network namespace that has no network at all."""
    program = tool_path("gapbook")
    assert program is not None
    prefix = ["unshare", "-n", "-r"] if offline and _can_unshare() else []
    return subprocess.run(
        [*prefix, str(program), *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=3600,
        encoding="utf-8",
    )


@functools.cache
def _can_unshare() -> bool:
    program = shutil.which("unshare")
    return bool(program) and subprocess.run([str(program), "-n", "-r", "true"], check=False).returncode == 0


def _assignments(values: Sequence[str]) -> list[str]:
    return [word for value in values for word in ("-p", value)]


def measure(*values: str) -> Run:
    """A live run; fails the test with what was printed when it does not end well.

    One most of whose trials were refused has ended well: on a busy machine there is no other.
    """
    folder = Path(os.environ["GAPBOOK_RUNS"]) / CHAPTER
    before = set(folder.glob("*"))
    done = gapbook("run", CHAPTER, "--no-page", *_assignments([*_SHORT, *values]))
    assert done.returncode in {0, 3}, done.stdout + done.stderr
    (made,) = set(folder.glob("*")) - before
    return load_run(made)


def build(run: Run, into: Path) -> Site:
    """The reader's book of a run, built without a network and copied away from the next build."""
    done = gapbook("run", CHAPTER, "-p", f"source={run.run_id}", offline=True)
    assert done.returncode == 0, done.stdout + done.stderr
    page = re.search(r"^page: (.*)$", done.stdout, re.MULTILINE)
    assert page is not None, done.stdout
    shutil.copytree(Path(page[1]).parent.parent, into)
    return Site(into, run)
