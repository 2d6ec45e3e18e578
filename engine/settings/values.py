"""How V and Q are estimated from memory."""

from __future__ import annotations

from dataclasses import dataclass

from engine.settings.spec import SettingsGroup, setting


@dataclass(frozen=True)
class ValueSettings(SettingsGroup):
    """How V and Q are estimated from memory."""

    estimator: str = setting(
        "knn",
        "estimator of V and Q: nearest neighbours (knn, the paper's), plans through memory (graph), or one of an "
        "installed package",
    )
    gamma: float = setting(0.5, "discount factor of returns, per step", 0.0, 1.0)
    zero_rewards: str = setting(
        "zero",
        "value of a later reward of 0 in a return: 0 (Eq. 3), or the reward of the step itself (own, the authors' "
        "code)",
        choices=("zero", "own"),
    )
    baseline: str = setting(
        "neighbours",
        "V(s): the mean return of the neighbours, or the mean of the candidates' Q if one is untried (candidates, the "
        "authors' code)",
        choices=("neighbours", "candidates"),
    )
    lam: float = setting(
        0.65, "probability of optimism for an untried action (exploration rate)", 0.0, 1.0
    )
    optimism: str = setting(
        "fixed",
        "probability of optimism for an untried action: lam, or less if tried actions are good (adaptive, the "
        "authors' code for games)",
        choices=("fixed", "adaptive"),
    )
    alpha: float = setting(
        5.0, "optimism bonus, divided by the number of neighbours: alpha / |N(s)| (UCB bonus)", 0.0, 1e6
    )
    prior_weight: float = setting(
        0.5,
        "weight of the model's logits in the graph estimator's choice among untried actions",
        0.0,
        10.0,
    )
    curiosity: float = setting(
        1.0, "value of discoveries for the graph estimator; at 0 it only repeats known actions", 0.0, 100.0
    )
    settling: float = setting(
        0.0,
        "share of a run's episodes, at its end, over which curiosity decreases",
        0.0,
        1.0,
    )
