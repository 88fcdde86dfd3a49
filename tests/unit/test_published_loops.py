"""What pages tell of published tables without a run."""

from __future__ import annotations

import re

from gapbook.claims.closed_loop import Row, published_rows
from gapbook.model.plant import Knobs
from gapbook.pages.published.loops import explanations_table, loops_table

_USERS = (20, 50, 100, 200, 500)


def _cells(html: str) -> list[list[str]]:
    rows = re.findall(r"<tr>(.*?)</tr>", html)
    return [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in rows if "<td" in row]


def test_every_published_row_is_told_with_little_s_law() -> None:
    systems = {name: published_rows("convex", name.lower(), _USERS) for name in ("Convex", "SpacetimeDB")}
    cells = _cells(loops_table(systems, duration_s=30).html)
    assert len(cells) == 10
    told = {(row[1], row[0]): row for row in cells}
    assert told["SpacetimeDB", "500"][4] == "525.6"
    assert told["SpacetimeDB", "500"][-1] == "no"
    assert told["SpacetimeDB", "20"][5] == "−5.1 %"
    assert {row[-1] for row in cells if row != told["SpacetimeDB", "500"]} == {"yes"}


def test_time_outside_requests_is_told_only_where_there_can_be_some() -> None:
    cells = _cells(loops_table({"x": [Row(20, 9042, 2.1), Row(500, 225, 2311)]}, duration_s=30).html)
    assert [row[7] for row in cells] == ["0.06 to 0.16 ms", "–"]


def test_machines_that_explain_the_rows_alike_differ_with_fewer_users() -> None:
    rows = published_rows("convex", "convex", _USERS)
    machines = {"serial": Knobs(service_us=4380), "sixteen": Knobs(service_us=16 * 4380, lanes=16)}
    *cells, distances = _cells(explanations_table(rows, machines, fewer_users=[1, 8]).html)
    by_users = {row[0]: row[1:] for row in cells}
    assert by_users["1"] == ["–", "228/s", "14/s"]
    assert by_users["8"] == ["–", "228/s", "114/s"]
    assert all(by_users[str(users)][1:] == ["228/s", "228/s"] for users in _USERS)
    assert distances[2] == distances[3]
