"""The share of transfers that touch the hottest account, against enumeration and against what is drawn."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from gapbook.plant import hot_share
from gapbook.work import AliasTable, draw_transfers


@pytest.mark.parametrize("accounts", [2, 3, 10, 40])
@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.5, 3.0])
def test_share_is_that_of_all_pairs_enumerated(accounts: int, alpha: float) -> None:
    weights = [1 / (rank + 1) ** alpha for rank in range(accounts)]
    pairs = {(a, b): weights[a] * weights[b] for a, b in product(range(accounts), repeat=2) if a != b}
    touching = sum(weight for pair, weight in pairs.items() if 0 in pair)
    # The table holds its thresholds in 32 bits.
    assert hot_share(AliasTable.zipf(accounts, alpha)) == pytest.approx(
        touching / sum(pairs.values()), rel=1e-6
    )


@pytest.mark.parametrize("alpha", [0.0, 1.0, 2.0])
def test_share_is_that_of_the_transfers_that_clients_draw(alpha: float) -> None:
    table, count = AliasTable.zipf(20, alpha), 100_000
    drawn = draw_transfers(
        table, seed=4432, connection=3, indices=np.arange(count, dtype=np.uint64), amount_max=10
    )
    share = hot_share(table)
    seen = float(((drawn.source == 0) | (drawn.destination == 0)).mean())
    assert abs(seen - share) < 4.5 * (share * (1 - share) / count) ** 0.5
