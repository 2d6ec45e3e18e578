"""Discounted returns of many episodes at once, in two definitions.

    G_t  = sum over u >= t of gamma^(u-t) r_u                            (Eq. 3)
    G'_t = sum over u >= t of gamma^(u-t) (r_u if r_u != 0 else r_t)     (the authors' code)

In G', a later reward of 0 counts as the step's own reward r_t. It is computed as G'_t = G_t + r_t D_t, where D_t is
the return if the reward is 1 at each step with reward 0, and 0 at the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from engine.jitrl import discounted_returns

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]


def own_returns(rewards: ArrayLike, gamma: float) -> Floats:
    """Return G'_t of every step of one episode.

    Args:
        rewards: Shape (steps,).
        gamma: Discount.

    Returns:
        Shape (steps,).
    """
    r = np.asarray(rewards, dtype=np.float64)
    return discounted_returns(r, gamma) + r * discounted_returns(r == 0, gamma)


def returns_of_episodes(
    rewards: Floats, starts: NDArray[np.int64], gamma: float, *, own: bool = False
) -> Floats:
    """Return the return of every step of many episodes.

    Args:
        rewards: Rewards of all episodes, one after another; shape (steps,).
        starts: Index of each episode's first step, and the number of steps at the end; shape (episodes + 1,).
        gamma: Discount.
        own: Compute G'_t instead of G_t.

    Returns:
        Shape (steps,).
    """
    g = _discounted(rewards.copy(), starts, gamma)
    if own:
        g += rewards * _discounted((rewards == 0).astype(np.float64), starts, gamma)
    return g


def _discounted(g: Floats, starts: NDArray[np.int64], gamma: float) -> Floats:
    """Turn rewards into returns in place: G_t = r_t + gamma G_{t+1}, from the last step back, all episodes at once."""
    lengths = np.diff(starts)
    order = np.argsort(-lengths, kind="stable")
    last, lengths = starts[1:][order] - 1, lengths[order]
    for back in range(1, int(lengths.max(initial=0))):
        at = last[: int(np.searchsorted(-lengths, -back, side="left"))] - back
        g[at] += gamma * g[at + 1]
    return g
