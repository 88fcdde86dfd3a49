"""Write the golden vectors that every client is held to: alias tables and the first operations."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from gapbook.model.work import REDRAW_BOTH, AliasTable, draw_transfers

HERE = Path(__file__).parent
OPERATIONS = 1000
CASES = (
    {"alpha": 0.0, "accounts": 1000, "seed": 42, "connection": 0, "first_index": 0},
    {"alpha": 0.5, "accounts": 1000, "seed": 42, "connection": 7, "first_index": 0},
    {"alpha": 1.5, "accounts": 1000, "seed": 2**53 - 1, "connection": 49, "first_index": 2**32 - 500},
    {"alpha": 20.0, "accounts": 2, "seed": 0, "connection": 1, "first_index": 0},
    {"alpha": 1.5, "accounts": 1000, "seed": 42, "connection": 3, "first_index": 0, "redraw": "destination"},
    {"alpha": 20.0, "accounts": 2, "seed": 0, "connection": 1, "first_index": 0, "redraw": "destination"},
)
AMOUNT_MAX = 1000


def main() -> None:
    for stale in (*HERE.glob("alias-*.bin"), *HERE.glob("alpha-*.json")):
        stale.unlink()
    for case in CASES:
        table = AliasTable.zipf(int(case["accounts"]), float(case["alpha"]))
        path, sha256 = table.write(HERE)
        first = int(case["first_index"])
        drawn = draw_transfers(
            table,
            seed=int(case["seed"]),
            connection=int(case["connection"]),
            indices=np.arange(first, first + OPERATIONS, dtype=np.uint64),
            amount_max=AMOUNT_MAX,
            redraw=str(case.get("redraw", REDRAW_BOTH)),
        )
        columns = (drawn.source.tolist(), drawn.destination.tolist(), drawn.amount.tolist())
        vector = {
            **case,
            "amount_max": AMOUNT_MAX,
            "alias_table": path.name,
            "alias_table_sha256": sha256,
            "operations": list(zip(*columns, strict=True)),
        }
        suffix = f"-redraw-{case['redraw']}" if "redraw" in case else ""
        name = f"alpha-{case['alpha']}{suffix}.json"
        (HERE / name).write_text(json.dumps(vector, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
