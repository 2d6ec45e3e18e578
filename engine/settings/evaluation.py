"""How the steps of an episode are judged."""

from __future__ import annotations

from dataclasses import dataclass

from engine.settings.spec import SettingsGroup, setting


@dataclass(frozen=True)
class JudgingSettings(SettingsGroup):
    """How the steps of an episode are judged."""

    rewards: str = setting(
        "score",
        "what judges the steps of an episode: the score, the model (llm, the paper), or both, with priority to the "
        "score (hybrid) or to the model (llm_or_score, the authors' code)",
        choices=("score", "llm", "hybrid", "llm_or_score"),
    )
    reward_scale: float = setting(
        20.0, "largest step reward that the model may give in games; 10 in the authors' code", 0.1, 1e6
    )
    judging_temperature: float = setting(
        0.0,
        "temperature at which the model judges; .8 in the authors' code for games, .3 on the web",
        0.0,
        10.0,
    )
    judged_steps: int = setting(
        15, "steps that a model judges in one call; it writes about 80 words for each", 1, 1000
    )
    judged_steps_here: int = setting(
        10, "steps that a model in this process judges in one call; it writes about 20 words for each", 1, 1000
    )
    judged_context: int = setting(60, "steps shown to a model around those that it judges", 1, 10_000)
    judging_tries: int = setting(
        4, "largest number of calls for the same steps, if each brings some scores", 1, 100
    )
    death_penalty: float = setting(-10.0, "reward added to the step that ended the game with a loss", -1e6, 0.0)
    idle_penalty: float = setting(-0.5, "reward added to a step that did not change the world", -1e6, 0.0)
    fuzzy: str = setting(
        "off",
        "what compares answers on the web by meaning (fuzzy_match): nothing, or the model",
        choices=("off", "model"),
    )
