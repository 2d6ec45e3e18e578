"""Which candidates there are, and how their logits become an action (Algorithm 1, steps 3 to 6)."""

from __future__ import annotations

from dataclasses import dataclass

from engine.settings.spec import Group, setting


@dataclass(frozen=True)
class PolicySettings(Group):
    """Which candidates there are, and how their logits become an action (Algorithm 1, steps 3 to 6)."""

    candidates: int = setting(3, "actions the model proposes, |C|", 1, 1000)
    memory_candidates: str = setting(
        "all",
        "which actions of neighbours join the candidates: all, or those with a mean return above 0",
        choices=("all", "positive"),
    )
    beta: float = setting(
        1.0, "strength of the memory: z' = z + beta * A; the paper gives no value", 0.0, 1e3
    )
    beta_growth: float = setting(
        0.0,
        "what beta gains over the first beta_episodes episodes; .5 in the authors' code for games",
        0.0,
        1e3,
    )
    beta_episodes: int = setting(50, "episodes over which beta grows", 1, 1_000_000)
    normalisation: str = setting(
        "absolute",
        "advantages are divided by their largest absolute value, or by the largest one (positive, the authors' code)",
        choices=("absolute", "positive"),
    )
    epsilon: float = setting(1e-8, "keeps the normalisation of advantages from dividing by zero", 1e-12, 1e-2)
    epsilon_times: int = setting(1, "how often epsilon is added: once (App. E), or twice (Algorithm 1)", 1, 2)
    selection: str = setting(
        "sample",
        "how z' becomes an action: a sample of its softmax, or its maximum",
        choices=("sample", "greedy"),
    )
    unremembered: str = setting(
        "policy",
        "what is done where nothing is remembered: an action of the policy as always, or what the model called best",
        choices=("policy", "best_action"),
    )
