"""One value from several runs: a random-effects mean, and what the next run would find.

Runs differ by more than their own intervals say, for each is of one machine and one hour. The variance between runs is
estimated by restricted maximum likelihood (Viechtbauer 2005, doi 10.3102/10769986030003261), the interval of the mean is
that of Hartung and Knapp (2001, doi 10.1002/sim.1009), never narrower than the one that takes the estimated variances
as known (Röver and others 2015, doi 10.1186/s12874-015-0091-1), and the prediction interval is that of Higgins and
others (2009, doi 10.1111/j.1467-985X.2008.00552.x) with one degree of freedom less than there are runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from gapbook.method.student import quantile_of_t

__all__ = ["LEAST_TO_PREDICT", "Pooled", "expected", "expected_next", "pooled"]

LEAST_TO_PREDICT = 3
"""How many runs it takes to say what the next would find."""
_LEAST_VARIANCE = 1e-12
"""Of values that agree to the last digit: a variance of none would give them all the weight."""
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Pooled:
    """The mean of several estimates, the half-widths of its 95 % interval and of the 95 % interval for the next one,
    the variance between them, and the standard error that the mean would have if there were none; all on the scale
    of the estimates."""

    mean: float
    half: float
    prediction_half: float
    variance_between: float
    error_within: float


def pooled(estimates: Sequence[float], standard_errors: Sequence[float]) -> Pooled:
    """Pool estimates of one quantity, each with its standard error; raises ValueError for fewer than two."""
    values, variances = (
        np.asarray(estimates, dtype=float),
        np.square(np.asarray(standard_errors, dtype=float)),
    )
    if len(values) < 2 or len(values) != len(variances):
        raise ValueError(f"{len(values)} estimates with {len(variances)} standard errors cannot be pooled")
    variances = np.maximum(variances, _LEAST_VARIANCE)
    between = _variance_between(values, variances)
    weights = 1 / (variances + between)
    mean = float(np.average(values, weights=weights))
    freedom = len(values) - 1
    known = 1 / weights.sum()
    found = float(weights @ np.square(values - mean)) / freedom * known
    error = float(np.sqrt(max(found, known)))
    quantile = quantile_of_t(freedom)
    return Pooled(
        mean,
        quantile * error,
        quantile * float(np.hypot(error, np.sqrt(between))),
        between,
        float(1 / np.sqrt((1 / variances).sum())),
    )


def expected(
    estimates: Sequence[float], standard_errors: Sequence[float], blocks: Sequence[int]
) -> tuple[float, float]:
    """Between what the next run is expected to lie: the 95 % prediction interval from three runs on; of two, their range,
    widened at both ends by the error that the noise within them leaves in their mean; of one, its own interval.

    ``blocks`` is of how many each estimate is. Raises ValueError for none.
    """
    if not estimates:
        raise ValueError("no estimate, nothing to expect")
    if len(estimates) == 1:
        half = quantile_of_t(blocks[0] - 1) * standard_errors[0]
        return estimates[0] - half, estimates[0] + half
    return expected_next(pooled(estimates, standard_errors), estimates, blocks)


def expected_next(found: Pooled, estimates: Sequence[float], blocks: Sequence[int]) -> tuple[float, float]:
    """The same of two or more runs that were pooled already."""
    if len(estimates) < LEAST_TO_PREDICT:
        half = quantile_of_t(sum(blocks) - len(blocks)) * found.error_within
        return min(estimates) - half, max(estimates) + half
    return found.mean - found.prediction_half, found.mean + found.prediction_half


def _variance_between(values: Floats, variances: Floats) -> float:
    """The variance between runs at which the restricted likelihood is greatest."""

    def loss(between: float) -> float:
        weights = 1 / (variances + between)
        residuals = values - np.average(values, weights=weights)
        return float(np.log(weights.sum()) - np.log(weights).sum() + weights @ np.square(residuals))

    widest = 10 * float(values.var(ddof=1)) + float(variances.max())
    found = scipy.optimize.minimize_scalar(
        loss, bounds=(0.0, widest), method="bounded", options={"xatol": 1e-9 * widest}
    )
    return float(found.x) if loss(float(found.x)) < loss(0.0) else 0.0
