"""From what a model says about actions to logits z(s, a), and from logits to a candidate set.

Arrays are one-dimensional float64 and run parallel to the actions. A logit of 0 is neutral throughout:
the value Algorithm 1 gives to actions that only memory knows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

LEAST_CONFIDENCE = 0.5
"""Half of the smallest confidence that can be said: stands for 0, whose logarithm is no number."""


def from_logprobs(logprobs: ArrayLike, temperature: float) -> Array:
    """Return z = logprob / temperature, shifted so that the mean over all actions is 0.

    The shift changes no policy; it gives the logits the origin that memory-only actions are set to.

    Args:
        logprobs: Log-likelihoods of all valid actions, nats, shape (n,).
        temperature: Sampling temperature of the model, above 0.

    Raises:
        ValueError: Something is not finite.
    """
    values = np.asarray(logprobs, dtype=np.float64)
    if not np.isfinite(values).all():
        raise ValueError("log-probabilities must be finite numbers")
    return (values - values.mean()) / temperature if len(values) else values


def from_confidences(confidences: Sequence[float | None], transform: str, unsaid: str = "mean") -> Array:
    """Return the logits of verbalized confidences (Sec. 5, verbalized logit).

    With "log", z is the logarithm of a confidence's ratio to the mean: log(c k / 100) where the k of them
    sum to 100 as they should, and 0 for an option that gets its uniform share whatever they sum to. With
    "linear", z = c / 100.

    Args:
        confidences: One for each option; brought into [0, 100].
        transform: "log" or "linear".
        unsaid: What a confidence that is missing or no number counts as: "mean" of the others, or "fifty".
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
    """Return the logits of index tokens (Sec. 5, token-level logit): 0 for the uniform share.

    Args:
        logprobs: Of each index token, nats; None for those that were not among the ones told.
        floor: Stands for those: the smallest log-probability that was told.
        temperature: Sampling temperature of the model, above 0.
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
    """Draw k distinct indices from softmax(z), one after the other without replacement.

    Adding Gumbel noise to the logits and taking the k largest does just that (Kool et al., 2019), and it
    is what asking the model k times for a different action means.

    Returns:
        The indices in the order they are drawn; all of them if there are no more than k.
    """
    values = np.asarray(z, dtype=np.float64)
    noisy = values + rng.gumbel(size=len(values))
    return [int(i) for i in np.argsort(-noisy, kind="stable")[:k]]
