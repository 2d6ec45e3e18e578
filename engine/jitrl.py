"""Algorithm 1: Just-In-Time Reinforcement Learning as pure functions over numpy arrays.

Read this file first. Symbols and equation numbers follow the paper. A state s has neighbours N(s): remembered steps
(s_i, a_i, G_i). They give a baseline V(s) and action values Q(s, a). The normalised advantage A = Q - V is added to
the logits of the frozen model: z′ = z + β·Ã. No weight changes.

Unless said otherwise, arrays are one-dimensional float64 with one entry per candidate in C. Functions do not draw
random numbers; draws from [0, 1) are arguments. So the same draws give the same choice, with memory or without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

KNOWN, OPTIMISTIC, NEUTRAL, PRIOR = "known", "optimistic", "neutral", "prior"


@dataclass(frozen=True, slots=True)
class Values:
    """Estimated values.

    Attributes:
        v: V(s).
        q: Q(s, a), shape (c,).
        n: |N(s, a)|, the number of neighbours with each candidate's action, shape (c,).
        how: How each Q was determined: `KNOWN`, `OPTIMISTIC`, `NEUTRAL` or `PRIOR`.
    """

    v: float
    q: Array
    n: NDArray[np.int64]
    how: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LogitUpdate:
    """Result of steps 5 and 6: A, normalised A, z′, and the policies before and after; each of shape (c,)."""

    advantage: Array
    advantage_normalised: Array
    z_prime: Array
    prior: Array
    posterior: Array


def discounted_returns(rewards: ArrayLike, gamma: float) -> Array:
    """Return G_t = sum over u >= t of gamma^(u-t) r_u for every step t (Eq. 3; step 7); shape (steps,)."""
    r = _finite(rewards, "rewards")
    g = np.empty_like(r)
    following = 0.0
    for t in range(len(r) - 1, -1, -1):
        following = r[t] + gamma * following
        g[t] = following
    return g


def own_returns(rewards: ArrayLike, gamma: float) -> Array:
    """Return G'_t = sum over u >= t of gamma^(u-t) (r_u if r_u != 0 else r_t) for every step t; shape (steps,).

    So the authors' code defines returns: a later reward of 0 counts as the step's own reward r_t. It is computed as
    G_t + r_t D_t, where D_t is the return if the reward is 1 at each step with reward 0, and 0 at the others.
    """
    r = _finite(rewards, "rewards")
    return discounted_returns(r, gamma) + r * discounted_returns(r == 0, gamma)


def growing_beta(beta: float, growth: float, episodes: int, episode: int) -> float:
    """Return beta in an episode of a run. It grows by `growth` in equal parts with the `episodes` first episodes ended.

    The paper's beta is constant (growth 0). The authors' code lets it grow from 1 in the first episode of a game to 1.5
    in the 51st.

    Args:
        beta: Initial value.
        growth: Total growth.
        episodes: Number of episodes over which it grows.
        episode: Number of the episode in its run, from 1.
    """
    return beta + growth * min((episode - 1) / episodes, 1.0)


def candidate_set(proposed: Sequence[str], remembered: Sequence[str], valid: Sequence[str]) -> list[str]:
    """Return C: the model's candidates, then the neighbours' actions that are valid now (step 3).

    The order is kept and duplicates are dropped. If `valid` is empty, the valid actions are unknown and all
    neighbours' actions are used.
    """
    allowed = set(valid) if valid else None
    union = dict.fromkeys(proposed)
    union.update(dict.fromkeys(a for a in remembered if allowed is None or a in allowed))
    return list(union)


def mean_returns(actions: Sequence[str], returns: ArrayLike) -> dict[str, float]:
    """Return the mean return of each action that neighbours took (Eq. 5), in the order of the first of each.

    Args:
        actions: a_i, shape (n,).
        returns: G_i, shape (n,).
    """
    g = _finite(returns, "returns")
    return {a: float(g[[b == a for b in actions]].mean()) for a in dict.fromkeys(actions)}


def estimate_values(
    candidates: Sequence[str],
    neighbour_actions: Sequence[str],
    neighbour_returns: ArrayLike,
    draws: ArrayLike,
    *,
    lam: float,
    alpha: float,
    baseline: str = "neighbours",
) -> Values:
    """Return V and Q from the neighbourhood N(s) (steps 2 and 4; Eqs. 4 to 6).

    With an empty neighbourhood V and Q are 0, so the prior alone decides.

    Args:
        candidates: C, shape (c,).
        neighbour_actions: a_i, shape (n,).
        neighbour_returns: G_i, shape (n,).
        draws: rand() for each candidate, in [0, 1), shape (c,). Only those of unseen actions are used.
        lam: Probability of optimism for an unseen action.
        alpha: Bonus of an optimistic action, divided by the number of neighbours.
        baseline: "neighbours": V is the mean of all returns (Eq. 4). "candidates": if a candidate is unseen, V is the
            mean of Q over the neighbours' actions and the candidates, as in the authors' code.
    """
    g = _finite(neighbour_returns, "returns")
    rand = _finite(draws, "draws")
    q = np.zeros(len(candidates))
    n = np.zeros(len(candidates), dtype=np.int64)
    if len(g) == 0:
        return Values(0.0, q, n, (PRIOR,) * len(candidates))
    v = float(g.mean())
    how = []
    for i, action in enumerate(candidates):
        subset = g[[a == action for a in neighbour_actions]]
        n[i] = len(subset)
        if len(subset) > 0:
            q[i] = subset.mean()
            how.append(KNOWN)
        elif rand[i] < lam:
            q[i] = v + alpha / len(g)
            how.append(OPTIMISTIC)
        else:
            q[i] = 0.0
            how.append(NEUTRAL)
    if baseline == "candidates" and any(each != KNOWN for each in how):
        means = mean_returns(neighbour_actions, g)
        v = float(np.mean(list({**means, **dict(zip(candidates, map(float, q), strict=True))}.values())))
    return Values(v, q, n, tuple(how))


def adaptive_optimism(
    neighbour_actions: Sequence[str], neighbour_returns: ArrayLike, exponent: float
) -> float:
    """Return the probability of optimism that the authors' code uses for games instead of lambda.

    It is 1 / (1 + c), limited to [.05, .8]. Here c is the highest confidence among the actions that at least two
    neighbours took; without such an action the result is .8. The confidence in an action is
    (mean / (1 + std / mean))^exponent * max(n / 4, 1) if its mean return is above 0, else 0.

    Args:
        neighbour_actions: a_i, shape (n,).
        neighbour_returns: G_i, shape (n,).
        exponent: The exploration rate of the authors' code, .65.
    """
    g = _finite(neighbour_returns, "returns")
    confidences = []
    for action in dict.fromkeys(neighbour_actions):
        subset = g[[a == action for a in neighbour_actions]]
        if len(subset) < 2:
            continue
        mean = float(subset.mean())
        steady = mean / (1.0 + float(subset.std()) / mean) if mean > 0 else 0.0
        confidences.append(steady**exponent * max(len(subset) / 4.0, 1.0))
    return min(0.8, max(0.05, 1.0 / (1.0 + max(confidences)))) if confidences else 0.8


def advantages(values: Values) -> Array:
    """Return A(s, a) = Q(s, a) - V(s) (step 5; Eq. 7); all 0 if nothing is remembered."""
    if all(how == PRIOR for how in values.how):
        return np.zeros(len(values.q))
    return values.q - values.v


def normalise(advantage: ArrayLike, epsilon: float, by: str = "absolute", others: ArrayLike = ()) -> Array:
    """Return A / (max |A| + epsilon), which is within (-1, 1) (App. E, advantage normalisation).

    Args:
        advantage: A, shape (c,).
        epsilon: Small number that avoids division by 0.
        by: "absolute" as above. "positive" divides by the largest A of the candidates and of the `others`, as the
            authors' code does; negative values may then be below -1. If none is positive, the largest |A| divides.
        others: A of the neighbours' actions that are no candidates, shape (o,). Only "positive" looks at them.
    """
    a = _finite(advantage, "advantages")
    every = np.concatenate((a, _finite(others, "advantages"))) if by == "positive" else a
    largest = float(every.max(initial=0.0)) if by == "positive" else 0.0
    scale = (largest if largest > 0 else float(np.abs(every).max(initial=0.0))) + epsilon
    return a / scale if scale > 0 else a


def update_logits(z: ArrayLike, advantage: ArrayLike, beta: float) -> Array:
    """Return z′ = z + β·Ã (step 6; Eq. 10), the maximiser of E[A] - KL(pi' || pi) / beta."""
    return _finite(z, "logits") + beta * _finite(advantage, "advantages")


def softmax(z: ArrayLike) -> Array:
    """Return the policy of logits z, shape (c,). A constant added to all logits does not change it."""
    logits = _finite(z, "logits")
    weights = np.exp(logits - logits.max(initial=-np.inf)) if len(logits) else logits
    return weights / weights.sum() if len(logits) else weights


def policy_update(
    z: ArrayLike,
    values: Values,
    *,
    beta: float,
    epsilon: float,
    normalisation: str = "absolute",
    others: ArrayLike = (),
) -> LogitUpdate:
    """Perform steps 5 and 6.

    Args:
        others: Q of the neighbours' actions that are no candidates, shape (o,); see `normalise`.
    """
    a = advantages(values)
    a_normalised = normalise(a, epsilon, normalisation, _finite(others, "values") - values.v)
    z_prime = update_logits(z, a_normalised, beta)
    return LogitUpdate(a, a_normalised, z_prime, softmax(z), softmax(z_prime))


def sample(policy: ArrayLike, draw: float) -> int:
    """Sample an action: return the index that `draw` selects; a ~ policy if the draw is uniform in [0, 1).

    Raises:
        ValueError: The policy is empty.
    """
    cumulative = np.cumsum(_finite(policy, "policy"))
    if len(cumulative) == 0:
        raise ValueError("there is nothing to choose from")
    return int(np.searchsorted(cumulative, draw * cumulative[-1], side="right"))


def _finite(values: ArrayLike, name: str) -> Array:
    array = np.asarray(values, dtype=np.float64)
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite numbers")
    return array
