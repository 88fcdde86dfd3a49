"""The published fault points, as the page shows them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gapbook.errors import RecordError
from gapbook.pages.losses.fault_points import FaultPoints
from gapbook.record.fault_points import PUBLISHED, read_fault_points


def _line(number: int, **changed: Any) -> str:
    told = {
        "point": number,
        "run": "postgres",
        "kind": "kill",
        "victim": "server",
        "aimed": "window",
        "struck": "window",
        "counts": True,
        "leaks": [],
        "lost": [],
        "wrong": [],
        "took_s": 2.5,
        "revision": "abc",
    }
    return json.dumps({**told, **changed})


@pytest.fixture(name="points")
def _points(tmp_path: Path) -> FaultPoints:
    path = tmp_path / "points.jsonl"
    lines = [
        _line(1),
        _line(
            2, kind="full", victim="data disk", struck="seed", lost=["trial <3>", "trial 4"], revision="def"
        ),
        _line(3, struck=None, counts=False),
        _line(4, leaks=["process 7"]),
        _line(4),
        '{"point": 5, "ru',
    ]
    path.write_text("\n".join(lines), encoding="utf-8")
    return FaultPoints(path)


def test_counts_hold_what_struck_and_each_point_once(points: FaultPoints) -> None:
    told = points.values()
    assert {name: told[name] for name in ("faults", "left_behind", "lost", "wrong", "late")} == {
        "faults": "3",
        "left_behind": "0",
        "lost": "1",
        "wrong": "0",
        "late": "1",
    }
    assert told["revisions"] == "2"


def test_tables_count_by_kind_and_by_phase(points: FaultPoints) -> None:
    number = '<td class="gb-num">{}</td>'
    kinds = points.kinds_table().html
    row = "".join(number.format(count) for count in (1, 0, 1, 0))
    assert f"<td>a disk that is full</td><td>data disk</td>{row}" in kinds
    assert f"<td>all</td><td></td>{''.join(number.format(count) for count in (3, 0, 1, 0))}" in kinds
    assert (
        f"<td>window</td>{''.join(number.format(count) for count in (2, 0, 0, 0))}"
        in points.phases_table().html
    )


def test_what_a_fault_found_stays_when_it_is_mended(points: FaultPoints) -> None:
    found = points.found_table().html
    assert "a disk that is full: data disk, in seed" in found
    assert "trial &lt;3&gt;; trial 4</td><td>not injected again" in found
    assert "process 7</td><td>well at commit abc" in found
    assert points.values()["found"] == "2"


def test_a_file_that_cannot_be_read_is_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="cannot be read"):
        read_fault_points(tmp_path)


def test_every_published_line_can_be_read() -> None:
    lines = PUBLISHED.read_text(encoding="utf-8").splitlines()
    assert {point.point for point in read_fault_points(PUBLISHED)} == {
        json.loads(line)["point"] for line in lines
    }
