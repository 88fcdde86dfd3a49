"""The bank of the tests: accounts that a stack is seeded with, and what it holds of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gapbook.deploy.stack import Stack
from gapbook.model.workload import Workload
from gapbook.record.durability import Durability
from gapbook.trial.contestant import Contestant
from gapbook.trial.scenario import Scenario, WorkloadSettings
from gapbook.trial.treatment import Treatment
from gapbook.trial.workloads import find_workload

__all__ = ["alphas", "balances_of", "bank", "bank_workload", "one_contestant", "seed_bank"]


def bank(accounts: int = 1000) -> WorkloadSettings:
    """What a scenario says of transfers among so many accounts."""
    return WorkloadSettings("transfer", {"accounts": accounts})


def alphas(*values: float) -> Treatment:
    """Zipf exponents as the treatment of a scenario."""
    return Treatment.of("alpha", "transfer", values)


def one_contestant(contestant: Contestant, durability: Durability, *, accounts: int, seed: int) -> Scenario:
    """A scenario of one contestant that declares a class: a hot bank and a second's window."""
    return Scenario(
        chapter="loss",
        contestants=(contestant,),
        workload=bank(accounts),
        treatment=alphas(1.5),
        connections=8,
        window_s=1.0,
        warmup_s=0.2,
        durability=durability,
        seed=seed,
    )


def bank_workload(accounts: int, initial_balance: int, **parameters: Any) -> Workload:
    """Transfers among so many accounts, all of which hold as much at first."""
    return find_workload("transfer", {"accounts": accounts, "initial_balance": initial_balance, **parameters})


def seed_bank(stack: Stack, accounts: int, initial_balance: int) -> None:
    """Reset a stack to exactly these accounts."""
    stack.seed(bank_workload(accounts, initial_balance))


def balances_of(stack: Stack) -> NDArray[np.int64]:
    """Every account's balance, indexed by account: there is no other account, and none is missing."""
    accounts = stack.state()["accounts"].sort("id")
    assert np.array_equal(accounts["id"].to_numpy(), np.arange(accounts.height))
    return accounts["balance"].to_numpy()
