"""What narrows a comparison is found where it was planted, and not where it was not."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from gapbook.method.precision import AaTrial, adjusted, apart_in_twenty, neighbouring, shorter_windows, spread

_BLOCKS, _REPEATS = 12, 4
_NOISE = 0.05


def trials(
    *, machine: float = 0.0, drift: float = 0.0, within: float = 0.0, blocks: int = _BLOCKS, seed: int = 1
) -> Sequence[AaTrial]:
    """Trials whose log goodput falls with the machine's slowness, which the probe reads, wanders with time by
    ``drift`` a trial, and whose first half second has more noise of its own by ``within``."""
    random = np.random.default_rng(seed)
    made, at, place = [], 0.0, 0
    for block in range(blocks):
        for cell in ("one", "other") * _REPEATS:
            slow, place = random.normal() * machine, place + 1
            at += random.normal() * drift
            log_rate = 8 - slow + at + random.normal() * _NOISE
            short = log_rate + random.normal() * within
            made.append(
                AaTrial(
                    cell,
                    session=block // 6,
                    block=block,
                    started_s=10.0 * place,
                    took_s=10.0,
                    rates_per_s={6.0: math.exp(log_rate), 0.5: math.exp(short)},
                    covariates={"probe": math.exp(slow), "coin": math.exp(random.normal())},
                )
            )
    return made


def test_the_spread_is_that_of_the_noise() -> None:
    assert spread(trials(blocks=100)) == pytest.approx(_NOISE, rel=0.1)
    assert spread([]) is None


def test_one_pair_of_trials_in_twenty_is_so_far_apart() -> None:
    one, other = np.random.default_rng(1).normal(0, _NOISE, (2, 100_000))
    farther = np.exp(np.abs(one - other)) > apart_in_twenty(_NOISE)
    assert farther.mean() == pytest.approx(0.05, abs=0.005)


def test_a_reading_that_explains_the_noise_narrows() -> None:
    found = adjusted(trials(machine=0.15), ["probe"])
    assert found is not None
    assert found.high < 0.6
    both = adjusted(trials(machine=0.15), ["probe", "coin"])
    assert both is not None
    assert both.high < 0.6


def test_a_reading_that_says_nothing_does_not() -> None:
    for seed in range(5):
        found = adjusted(trials(seed=seed), ["coin"])
        assert found is not None
        assert found.estimate > 0.98
        assert found.high >= 1


def test_neighbours_differ_less_only_where_the_machine_drifts() -> None:
    drifting, steady = neighbouring(trials(drift=0.05), 20.0), neighbouring(trials(), 20.0)
    assert drifting is not None
    assert drifting.high < 1
    assert steady is not None
    assert steady.low < 1 < steady.high


def test_short_windows_pay_where_the_noise_is_between_trials() -> None:
    """Half a second instead of six, beside four that a trial takes anyway: 4.5 s for 10."""
    found = shorter_windows(trials(), 0.5)
    assert found is not None
    assert found.estimate == pytest.approx(math.sqrt(0.45))
    noisy = shorter_windows(trials(within=0.2), 0.5)
    assert noisy is not None
    assert noisy.low > 1


def test_what_cannot_be_told_is_none() -> None:
    assert adjusted(trials(blocks=1), ["coin"]) is None
    assert adjusted([], ["coin"]) is None
    assert neighbouring(trials(blocks=1), 20.0) is None
    assert shorter_windows([], 0.5) is None
    assert adjusted(trials(machine=0.0), ["probe"]) is None
