"""A folder is free as soon as the command that had it is done with it, whoever it has started meanwhile."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

from gapbook.locks import alone_in, taking_turns


def test_a_process_that_was_forked_meanwhile_holds_no_folder(tmp_path: Path) -> None:
    forked = multiprocessing.get_context("fork")
    over = forked.Event()
    with taking_turns(tmp_path):
        child = forked.Process(target=over.wait, args=(60,))
        child.start()
        with alone_in(tmp_path) as free:
            assert not free
    try:
        with alone_in(tmp_path) as free:
            assert free
    finally:
        over.set()
        child.join()


def test_a_process_that_was_forked_meanwhile_frees_no_folder_of_another(tmp_path: Path) -> None:
    forked = multiprocessing.get_context("fork")
    turn = taking_turns(tmp_path)
    with turn:
        child = forked.Process(target=turn.__exit__, args=(None, None, None))
        child.start()
        child.join()
        with alone_in(tmp_path) as free:
            assert not free
