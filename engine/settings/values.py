"""How V and Q are estimated from what is remembered."""

from __future__ import annotations

from dataclasses import dataclass

from engine.settings.spec import Group, setting


@dataclass(frozen=True)
class ValueSettings(Group):
    """How V and Q are estimated from what is remembered."""

    estimator: str = setting(
        "knn",
        "where V and Q come from: nearest neighbours (knn, the paper's), plans through memory (graph), or an "
        "estimator of an installed package, by its name",
    )
    gamma: float = setting(0.5, "discount factor of returns, per step", 0.0, 1.0)
    zero_rewards: str = setting(
        "zero",
        "what a later reward of 0 counts as in a return: 0 (Eq. 3), or the reward of the step itself (own, the "
        "authors' code)",
        choices=("zero", "own"),
    )
    baseline: str = setting(
        "neighbours",
        "V(s): the mean return of the neighbours, or the mean of the candidates' Q where one of them is untried "
        "(candidates, the authors' code)",
        choices=("neighbours", "candidates"),
    )
    lam: float = setting(
        0.65, "probability of optimism for an action never tried here (exploration rate)", 0.0, 1.0
    )
    optimism: str = setting(
        "fixed",
        "probability of optimism for an untried action: lam, or less the better the tried ones are (adaptive, the "
        "authors' code for games)",
        choices=("fixed", "adaptive"),
    )
    alpha: float = setting(
        5.0, "optimism bonus, shared by the neighbours: alpha / |N(s)| (UCB bonus)", 0.0, 1e6
    )
    prior_weight: float = setting(
        0.5,
        "how much the model's logits tell the graph estimator which untried actions promise more",
        0.0,
        10.0,
    )
    curiosity: float = setting(
        1.0, "what discoveries are worth to the graph estimator; 0 repeats what is known", 0.0, 100.0
    )
    settling: float = setting(
        0.0,
        "share of a run's episodes, at its end, over which curiosity fades: there is less and less left to use "
        "discoveries for",
        0.0,
        1.0,
    )
