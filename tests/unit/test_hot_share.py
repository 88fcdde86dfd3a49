"""The share of transfers that touch the hottest account, against enumeration and against what is drawn."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from gapbook.claims.arithmetic import compute, transfers_touching
from gapbook.method.findings import Findings
from gapbook.model.work import REDRAWS, AliasTable, hot_share
from gapbook.pages.exhibits.contention import redraw_table
from gapbook.trial.workloads import find_workload
from tests.unit import stored_runs as runs


def _enumerated(accounts: int, alpha: float, redraw: str, hottest: int) -> float:
    weights = [float((rank + 1) ** -alpha) for rank in range(accounts)]
    picks = [weight / sum(weights) for weight in weights]
    pairs = {
        (a, b): picks[a] * picks[b] / (1 if redraw == "both" else 1 - picks[a])
        for a, b in product(range(accounts), repeat=2)
        if a != b
    }
    return sum(weight for pair, weight in pairs.items() if min(pair) < hottest) / sum(pairs.values())


@pytest.mark.parametrize("redraw", REDRAWS)
@pytest.mark.parametrize("accounts", [2, 3, 10, 40])
@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.5, 3.0])
def test_share_is_that_of_all_pairs_enumerated(accounts: int, alpha: float, redraw: str) -> None:
    # The table holds its thresholds in 32 bits.
    assert hot_share(AliasTable.zipf(accounts, alpha), redraw) == pytest.approx(
        _enumerated(accounts, alpha, redraw, 1), rel=1e-6
    )
    assert transfers_touching(2, alpha, accounts, redraw=redraw) == pytest.approx(
        100 * _enumerated(accounts, alpha, redraw, 2)
    )


@pytest.mark.parametrize("redraw", REDRAWS)
@pytest.mark.parametrize("alpha", [0.0, 1.0, 2.0])
def test_share_is_that_of_the_transfers_that_clients_draw(alpha: float, redraw: str) -> None:
    table, count = AliasTable.zipf(20, alpha), 100_000
    indices = np.arange(count, dtype=np.uint64)
    workload = find_workload("transfer", {"accounts": 20, "alpha": alpha, "redraw": redraw})
    drawn = workload.draw(4432, 3, indices)["transfer"]
    share = hot_share(table, redraw)
    seen = float(((drawn["from"] == 0) | (drawn["to"] == 0)).to_numpy().mean())
    assert abs(seen - share) < 4.5 * (share * (1 - share) / count) ** 0.5


def test_formulas_on_published_figures_keep_the_source_as_the_published_benchmark_does() -> None:
    formula = compute("transfers_touching(1, 1.5, 5)", {})
    assert formula.result == pytest.approx(100 * _enumerated(5, 1.5, "destination", 1))


def test_both_redraws_and_the_law_itself_stand_beside_each_other(tmp_path: Path) -> None:
    text = redraw_table(Findings(runs.store(tmp_path, runs.whole(2)), runs.CHAPTER)).html
    row = next(line for line in text.split("<tr>") if ">1.5<" in line)
    shares = [float(share) for share in re.findall(r">([\d.]+) %<", row)]
    weights = [(rank + 1) ** -1.5 for rank in range(100)]
    law = 100 * weights[0] / sum(weights)
    expected = [100 * _enumerated(100, 1.5, redraw, 1) for redraw in ("both", "destination")]
    assert shares == pytest.approx([*expected, expected[0] / 2, law], rel=0.005)
    assert "both drawn again (this run)" in text
