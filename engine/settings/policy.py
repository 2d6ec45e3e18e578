"""Candidates, and how their logits become an action (Algorithm 1, steps 3 to 6)."""

from __future__ import annotations

from dataclasses import dataclass

from engine.settings.spec import SettingsGroup, setting


@dataclass(frozen=True)
class PolicySettings(SettingsGroup):
    """Candidates, and how their logits become an action (Algorithm 1, steps 3 to 6)."""

    candidates: int = setting(3, "number of actions that the model proposes, |C|", 1, 1000)
    memory_candidates: str = setting(
        "all",
        "actions of neighbours that are added to the candidates: all, or those with a mean return above 0",
        choices=("all", "positive"),
    )
    beta: float = setting(
        1.0, "strength of the memory: z′ = z + β·Ã; the paper gives no value", 0.0, 1e3
    )
    beta_growth: float = setting(
        0.0,
        "increase of beta until beta_episodes episodes have ended; .5 in the authors' code for games",
        0.0,
        1e3,
    )
    beta_episodes: int = setting(50, "episodes over which beta grows", 1, 1_000_000)
    normalisation: str = setting(
        "absolute",
        "divisor of the advantages: their largest absolute value, or the largest value, remembered actions included "
        "(positive, the authors' code)",
        choices=("absolute", "positive"),
    )
    epsilon: float = setting(1e-8, "added to the divisor of advantages so that it is not 0", 1e-12, 1e-2)
    epsilon_times: int = setting(1, "how often epsilon is added: once (App. E), or twice (Algorithm 1)", 1, 2)
    selection: str = setting(
        "sample",
        "how an action is chosen from z′: a sample of the softmax, the maximum (greedy), or the first maximum "
        "(first, the authors' code)",
        choices=("sample", "greedy", "first"),
    )
    unremembered: str = setting(
        "policy",
        "action where nothing is remembered: chosen as usual, or the one that the model called best",
        choices=("policy", "best_action"),
    )
