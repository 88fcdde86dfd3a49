"""Labels: what a valid number must be read with. They refuse nothing, and change nothing that is counted.

How near a trial is to each is a share; of a contestant a label is said by :mod:`gapbook.method.labels`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from gapbook.record.describe import ENGINE_SETTING
from gapbook.record.gates import LIMITS, OWN_WORK
from gapbook.record.stored_list import listed, named

__all__ = [
    "CEILING_FRAC",
    "CLIENT_BOUND",
    "CORE_FRAC",
    "LIMIT_FRAC",
    "NOT_SUSTAINED",
    "label_shares",
    "labels_of",
]

CLIENT_BOUND, NOT_SUSTAINED = "client-bound", "not sustained"
CEILING_FRAC, CORE_FRAC = 0.80, 0.90
LIMIT_FRAC: Mapping[str, float] = {CLIENT_BOUND: 1.0, NOT_SUSTAINED: 0.10}
_DELAY = re.compile(r"^delayed\((\d+(?:\.\d+)?) ms\)$")


def label_shares(
    row: Mapping[str, Any], warmup_s: float, window_s: float, *, client_threaded: bool = False
) -> dict[str, float]:
    """How near a trial is to each label, as a share to be held against :data:`LIMIT_FRAC`.

    *Client-bound*: the client's rate against 80 % of its ceiling, the CPU of its thread against 90 % of a core,
    or, where it sends one request at a time, the time with none out against 10 % of the window, whichever is
    nearest; where the load came from several hosts, that of the host which is nearest to its own. One core is no limit
    of a client that makes its load on several threads (``client_threaded``), and where the engine is inside the client,
    the CPU is the engine's too. *Not sustained*: of the log or of the server's CPU, the part of what the load took
    (warm-up included) that came after the client had ended (:mod:`gapbook.trial.backlog`); waiting for an idle server is
    no work. Log that the proven durability class lets lag is not counted.
    """
    has_one_core = not (client_threaded or _is_engine_inside(row))
    return {
        CLIENT_BOUND: _client_share(row, window_s, has_one_core=has_one_core),
        NOT_SUSTAINED: _backlog_share(row, warmup_s + window_s, window_s),
    }


def _client_share(row: Mapping[str, Any], window_s: float, *, has_one_core: bool) -> float:
    clients = [
        (part["acknowledged_in_window"] / window_s, part["ceiling_per_s"], part["cpu_s"])
        for part in listed(row.get("from_hosts"))
    ] or [(row["goodput_per_s"], row.get("ceiling_per_s"), row["client_cpu_s"])]
    shares = [
        max(
            rate_per_s / (CEILING_FRAC * ceiling_per_s) if ceiling_per_s else 0.0,
            cpu_s / (CORE_FRAC * window_s) if has_one_core else 0.0,
        )
        for rate_per_s, ceiling_per_s, cpu_s in clients
    ]
    return float(max(*shares, _own_work_frac(row) / LIMITS.depth_frac))


def _is_engine_inside(row: Mapping[str, Any]) -> bool:
    """Whether the engine ran inside the client, which then told the engine's settings."""
    return any(name.startswith(ENGINE_SETTING) for name in named(row.get("settings")))


def _own_work_frac(row: Mapping[str, Any]) -> float:
    """The share of the window in which a client that sends one request at a time had none out; 0 for others."""
    return next((float(gate["value"]) for gate in listed(row["gates"]) if gate["name"] == OWN_WORK), 0.0)


def _backlog_share(row: Mapping[str, Any], loaded_s: float, window_s: float) -> float:
    log_bytes, left_bytes = row.get("log_bytes") or 0, row.get("catch_up_log_bytes") or 0
    log_share = left_bytes / log_bytes - _delay_s(row) / loaded_s if log_bytes > 0 else 0.0
    load_cpu_s = (row.get("server_cpu_s") or 0.0) * loaded_s / window_s
    cpu_share = (row.get("catch_up_cpu_s") or 0.0) / load_cpu_s if load_cpu_s > 0 else 0.0
    return max(0.0, log_share, cpu_share)


def _delay_s(row: Mapping[str, Any]) -> float:
    """What the durability class that was proven lets the log lag; 0 for one that says no time."""
    named = _DELAY.match(str(row.get("durability") or ""))
    return float(named[1]) / 1000 if named else 0.0


def labels_of(
    row: Mapping[str, Any], warmup_s: float, window_s: float, *, client_threaded: bool
) -> list[str]:
    """The labels of one trial, for its record: those whose share is above the limit."""
    shares = label_shares(row, warmup_s, window_s, client_threaded=client_threaded)
    return [name for name, limit in LIMIT_FRAC.items() if shares[name] > limit]
