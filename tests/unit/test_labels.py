"""Labels: what share earns one, and that one bad trial does not."""

import json
from typing import Any

import pytest

from gapbook.method.labels import label_reading
from gapbook.record.labels import CLIENT_BOUND, NOT_SUSTAINED, label_shares, labels_of

_WARMUP_S, _WINDOW_S = 2.0, 10.0
_INSIDE = {"engine: journal_mode": "wal"}
"""Settings of a trial whose engine ran inside the client."""


def _gates(name: str, value: float | None) -> list[dict[str, Any]]:
    return [{"name": name, "passed": None if value is None else True, "value": value}]


def _row(**changed: Any) -> dict[str, Any]:
    return {
        "block": 0,
        "goodput_per_s": 100.0,
        "ceiling_per_s": 1000.0,
        "client_cpu_s": 1.0,
        "server_cpu_s": 5.0,
        "log_bytes": 1_000_000,
        "catch_up_log_bytes": 20_000,
        "catch_up_cpu_s": 0.01,
        "catch_up_s": 30.0,
        "durability": "none",
        "mean_in_flight": 50.0,
        "gates": _gates("depth", 0.0),
    } | changed


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        # However long a server waits: what is left to do counts, not the waiting.
        ({}, []),
        ({"goodput_per_s": 801.0}, [CLIENT_BOUND]),
        ({"ceiling_per_s": None, "goodput_per_s": 9e9}, []),
        ({"client_cpu_s": 9.5}, [CLIENT_BOUND]),
        ({"mean_in_flight": 0.87, "gates": _gates("own work", 0.13)}, [CLIENT_BOUND]),
        ({"mean_in_flight": 0.95, "gates": _gates("own work", 0.05)}, []),
        # As a stored run keeps its gates.
        ({"mean_in_flight": 0.87, "gates": json.dumps(_gates("own work", 0.13))}, [CLIENT_BOUND]),
        # The processor time of a client that holds its engine is the engine's too; its own work is its own.
        ({"client_cpu_s": 9.5, "settings": _INSIDE}, []),
        ({"client_cpu_s": 9.5, "settings": json.dumps(_INSIDE)}, []),
        ({"client_cpu_s": 9.5, "settings": {"tier: engine": "a setting of a server"}}, [CLIENT_BOUND]),
        ({"client_cpu_s": 9.5, "settings": _INSIDE, "gates": _gates("own work", 0.13)}, [CLIENT_BOUND]),
        # An open loop need have nothing out.
        ({"mean_in_flight": 0.2, "gates": _gates("depth", None)}, []),
        ({"catch_up_log_bytes": 150_000}, [NOT_SUSTAINED]),
        ({"catch_up_cpu_s": 0.7}, [NOT_SUSTAINED]),
        # A tenth and what the class lets lag: 2.4 of 12 s.
        ({"catch_up_log_bytes": 250_000, "durability": "delayed(2400 ms)"}, []),
        ({"catch_up_log_bytes": 350_000, "durability": "delayed(2400 ms)"}, [NOT_SUSTAINED]),
        ({"log_bytes": 0, "server_cpu_s": None, "catch_up_log_bytes": None, "catch_up_cpu_s": None}, []),
    ],
)
def test_what_earns_a_label(changed: dict[str, Any], expected: list[str]) -> None:
    assert labels_of(_row(**changed), _WARMUP_S, _WINDOW_S, client_threaded=False) == expected


def test_one_core_is_no_limit_of_a_client_on_several_threads_but_its_ceiling_is() -> None:
    assert labels_of(_row(client_cpu_s=14.0), _WARMUP_S, _WINDOW_S, client_threaded=True) == []
    fast = _row(client_cpu_s=14.0, goodput_per_s=801.0)
    assert labels_of(fast, _WARMUP_S, _WINDOW_S, client_threaded=True) == [CLIENT_BOUND]


def test_cpu_left_is_held_against_that_of_the_whole_load() -> None:
    assert label_shares(_row(catch_up_cpu_s=0.6), _WARMUP_S, _WINDOW_S)[NOT_SUSTAINED] == pytest.approx(0.1)


def _blocks(*cpu_s: float) -> list[dict[str, Any]]:
    return [_row(block=block, client_cpu_s=one) for block, one in enumerate(cpu_s)]


@pytest.mark.parametrize(
    ("cpu_s", "state", "suspected"),
    [
        ((9.5, 9.6, 9.7), "carried", True),
        # A mean above the limit whose interval holds it, and one below: neither is ruled out.
        ((9.5, 8.7, 9.6), "not ruled out", True),
        ((9.9, 5.0, 5.0), "not ruled out", False),
        ((5.1, 5.0, 4.9), "ruled out", False),
        # One block has no interval; its own share decides.
        ((9.9,), "not ruled out", True),
        ((5.0,), "ruled out", False),
        ((), "ruled out", False),
    ],
)
def test_a_label_stands_until_its_interval_rules_it_out(
    cpu_s: tuple[float, ...], state: str, suspected: bool
) -> None:
    reading = label_reading(_blocks(*cpu_s), CLIENT_BOUND, _WARMUP_S, _WINDOW_S)
    assert (reading.state, reading.suspected) == (state, suspected)


def test_trials_of_one_block_are_one_value() -> None:
    rows = [_row(block=0, client_cpu_s=9.5) for _ in range(5)]
    assert label_reading(rows, CLIENT_BOUND, _WARMUP_S, _WINDOW_S).state == "not ruled out"


def test_a_block_whose_ceiling_failed_rules_out_nothing_that_the_others_show() -> None:
    rows = [_row(block=block, goodput_per_s=900.0 + block, catch_up_cpu_s=0.9) for block in range(3)]
    failed = _row(block=3, goodput_per_s=900.0, ceiling_per_s=None)
    reading = label_reading([*rows, failed], CLIENT_BOUND, _WARMUP_S, _WINDOW_S)
    assert (reading.n, reading.state) == (3, "carried")
    # Another label needs no ceiling, and of a client without any the rest is read.
    assert label_reading([*rows, failed], NOT_SUSTAINED, _WARMUP_S, _WINDOW_S).n == 4
    without = [_row(block=block, ceiling_per_s=None, client_cpu_s=9.5 + block / 10) for block in range(3)]
    assert label_reading(without, CLIENT_BOUND, _WARMUP_S, _WINDOW_S).state == "carried"
