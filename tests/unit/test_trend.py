"""The test of trend: where the bins of a window lie, and how often it cries wolf."""

import numpy as np
import pytest

from gapbook.record.series import bins_inside
from gapbook.trial.gates import steady
from gapbook.trial.trend import trend


@pytest.mark.parametrize(
    ("warmup_s", "window_s", "expected"),
    [
        (1.0, 2.0, slice(10, 30)),
        (0.3, 0.6, slice(3, 9)),
        (0.25, 1.0, slice(3, 12)),
        (3.0, 10.0, slice(30, 130)),
    ],
)
def test_only_whole_bins_lie_inside(warmup_s: float, window_s: float, expected: slice) -> None:
    assert bins_inside(warmup_s, window_s) == expected


def test_the_change_is_that_over_the_whole_series_and_one_stall_does_not_move_it() -> None:
    ramp = np.linspace(80.0, 120.0, 40)
    assert trend(ramp).change_frac == pytest.approx(0.41, abs=0.01)
    stalled = ramp.copy()
    stalled[37] = 0.0
    assert trend(stalled).change_frac == pytest.approx(trend(ramp).change_frac, rel=0.1)
    assert trend(stalled).p_value < 1e-4


def test_no_change_is_no_trend() -> None:
    assert (trend(np.full(20, 7.0)).change_frac, trend(np.full(20, 7.0)).p_value) == (0.0, 1.0)


@pytest.mark.parametrize("memory", [0.0, 0.6])
def test_waves_are_seldom_refused(memory: float) -> None:
    """Five percent of noise from bin to bin, of which a part is remembered, over two seconds."""
    rng = np.random.default_rng(20_260_224)
    refused = 0
    for _ in range(200):
        noise = rng.normal(0, 0.05, 70)
        wave = np.zeros(70)
        for place in range(1, 70):
            wave[place] = memory * wave[place - 1] + noise[place]
        counts = np.round(1000 * np.exp(wave[50:])).astype(int).tolist()
        refused += steady(counts, 0.0, 2.0).passed is False
    assert refused <= 0.04 * 200
