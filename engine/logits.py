"""Turns what a model says about actions into logits z(s, a), and samples candidate sets from logits.

Arrays are one-dimensional float64 with one entry per action. A logit of 0 is always neutral: it is the value that
Algorithm 1 gives to actions that only memory knows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

LEAST_CONFIDENCE = 0.5
"""Used instead of a confidence of 0, because log 0 is not finite: half of 1, the smallest usual confidence."""


def from_logprobs(logprobs: ArrayLike, temperature: float) -> Array:
    """Return z = logprob / temperature, shifted so that the mean over all actions is 0.

    The shift does not change the policy. It makes 0, the logit of actions that only memory knows, the mean.

    Args:
        logprobs: Log-likelihoods of all valid actions, nats, shape (n,).
        temperature: Sampling temperature of the model, above 0.

    Returns:
        Shape (n,).

    Raises:
        ValueError: A log-likelihood is not finite.
    """
    values = np.asarray(logprobs, dtype=np.float64)
    if not np.isfinite(values).all():
        raise ValueError("log-probabilities must be finite numbers")
    return (values - values.mean()) / temperature if len(values) else values


def from_confidences(confidences: Sequence[float | None], transform: str, unsaid: str = "mean") -> Array:
    """Return the logits of verbalized confidences (Sec. 5, verbalized logit), shape (n,).

    With "log", z is the logarithm of the ratio of a confidence to the mean. If the k confidences sum to 100, this is
    log(c k / 100). An option with the mean confidence gets 0, whatever the sum is. With "linear", z = c / 100.

    Args:
        confidences: One for each option, clipped to [0, 100].
        transform: "log" or "linear".
        unsaid: Value of a confidence that is missing or not finite: "mean" of the others, or "fifty".
    """
    known = [min(max(c, 0.0), 100.0) for c in confidences if c is not None and math.isfinite(c)]
    mean = (
        50.0
        if unsaid == "fifty"
        else (sum(known) / len(known) if known else 100.0 / max(1, len(confidences)))
    )
    values = np.asarray(
        [mean if c is None or not math.isfinite(c) else min(max(c, 0.0), 100.0) for c in confidences],
        dtype=np.float64,
    )
    if transform == "linear":
        return values / 100.0
    values = np.maximum(values, LEAST_CONFIDENCE)
    return np.asarray(np.log(values / values.mean()), dtype=np.float64) if len(values) else values


def from_index_logprobs(logprobs: Sequence[float | None], floor: float, temperature: float) -> Array:
    """Return the logits of index tokens (Sec. 5, token-level logit), shape (n,). A uniform share has logit 0.

    Args:
        logprobs: Log-probability of each index token, nats; None if the model did not give it.
        floor: Value to use for None: the smallest log-probability that the model gave.
        temperature: Sampling temperature of the model, above 0.

    Raises:
        ValueError: A log-probability is not finite.
    """
    values = np.asarray([floor if p is None else p for p in logprobs], dtype=np.float64)
    if not np.isfinite(values).all():
        raise ValueError("log-probabilities must be finite numbers")
    if not len(values):
        return values
    top = values.max()
    shares = values - (top + np.log(np.exp(values - top).sum()))
    return np.asarray((shares + np.log(len(values))) / temperature, dtype=np.float64)


def gumbel_top_k(z: ArrayLike, k: int, rng: np.random.Generator) -> list[int]:
    """Draw k distinct indices from softmax(z), one after another without replacement.

    Taking the k largest logits after adding Gumbel noise has this distribution (Kool et al., 2019). It corresponds to
    asking the model k times for another action.

    Args:
        z: Logits, shape (n,).
        k: Number of indices.
        rng: Source of random numbers.

    Returns:
        The indices in the order of drawing; all n if n <= k.
    """
    values = np.asarray(z, dtype=np.float64)
    noisy = values + rng.gumbel(size=len(values))
    return [int(i) for i in np.argsort(-noisy, kind="stable")[:k]]
