"""Bootstrap intervals of means. The same values give the same interval in every run."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import numpy.typing as npt

RESAMPLES = 10_000
"""Number of resamples of an interval."""
BOOTSTRAP_SEED = 20260125
"""Seed of the resamples. Every interval starts from it."""
CONFIDENCE = 0.95
"""Share of intervals that should contain the true mean."""

LEAST_UNITS = 3
"""Units below which no interval is given: that of two values would be the two values."""

Numbers = npt.NDArray[np.float64]


def interval(values: Any) -> tuple[float, float] | None:
    """Return the percentile bootstrap interval of a mean.

    Args:
        values: One finite number per unit, for instance per seed.

    Returns:
        The lower and the upper end; None with fewer than LEAST_UNITS values.
    """
    found = np.asarray(values, dtype=np.float64)
    if found.ndim != 1:
        raise ValueError(f"an interval needs a list of numbers, not an array of {found.ndim} dimensions")
    if len(found) < LEAST_UNITS:
        return None
    low, high = _ends(found[:, None])
    return float(low[0]), float(high[0])


def band(curves: Any) -> tuple[Numbers, Numbers] | None:
    """Return the percentile bootstrap interval of a mean curve, point by point.

    Args:
        curves: One row per unit, one column per point of the curve.

    Returns:
        The lower and the upper ends, one number per point; None with fewer than LEAST_UNITS rows.
    """
    found = np.asarray(curves, dtype=np.float64)
    if found.ndim != 2:
        raise ValueError(f"a band needs rows of numbers, not an array of {found.ndim} dimensions")
    return None if len(found) < LEAST_UNITS else _ends(found)


def _ends(values: Numbers) -> tuple[Numbers, Numbers]:
    """Return the ends of the intervals of the columns' means."""
    means = _weights(len(values)) @ values
    # Rounding must not put an end outside the values, so that equal values have an interval of no width.
    means = np.clip(means, values.min(axis=0), values.max(axis=0))
    outside = (1 - CONFIDENCE) / 2
    low, high = np.quantile(means, [outside, 1 - outside], axis=0)
    return low, high


@functools.lru_cache(maxsize=8)
def _weights(units: int) -> Numbers:
    """Return the weights of the units in every resample: a row per resample, a column per unit. Rows sum to 1."""
    rng = np.random.default_rng(BOOTSTRAP_SEED)
    drawn = rng.integers(0, units, size=(RESAMPLES, units))
    places = drawn + units * np.arange(RESAMPLES)[:, None]
    counts = np.bincount(places.ravel(), minlength=RESAMPLES * units)
    weights: Numbers = counts.reshape(RESAMPLES, units) / units
    weights.flags.writeable = False
    return weights
