"""Whether an interval holds the truth is not decided by the last binary digit."""

from __future__ import annotations

import re

from gapbook.method.findings import Findings
from gapbook.pages.exhibits.calibration import truth_table
from gapbook.record.run import latest_published


def test_an_interval_without_width_holds_the_rate_that_all_its_trials_counted() -> None:
    found = Findings(latest_published("calibration"), "calibration")
    names = ("slower-300", "service-200-far-1")
    exact, off = (found.scenario.find(name) for name in names)
    assert exact is not None
    assert off is not None
    interval = found.goodput(exact.name, found.treatments[0])
    assert interval is not None
    assert interval.high / interval.low - 1 < 1e-9
    shown = re.findall(r"<td[^>]*>([^<]*)</td>", truth_table(found, [exact, off]))
    assert shown[3:5] == ["0 %", "yes"]
    assert re.fullmatch(r"-1\.\d %", shown[8])
    assert shown[9] == "no"
