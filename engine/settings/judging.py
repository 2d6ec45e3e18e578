"""Who judges the steps of an episode, and on which scale."""

from __future__ import annotations

from dataclasses import dataclass

from engine.settings.spec import Group, setting


@dataclass(frozen=True)
class JudgingSettings(Group):
    """Who judges the steps of an episode, and on which scale."""

    rewards: str = setting(
        "score",
        "who judges the steps of an episode: the environment's score; the model (llm, the paper); both, the "
        "environment having the last word (hybrid); or the model, and the score where it said 0 (llm_or_score, the "
        "authors' code)",
        choices=("score", "llm", "hybrid", "llm_or_score"),
    )
    reward_scale: float = setting(
        20.0, "largest step reward that the model may give in games; 10 in the authors' code", 0.1, 1e6
    )
    judged_steps: int = setting(
        15, "steps that a model judges in one call; each takes some eighty words", 1, 1000
    )
    judged_steps_here: int = setting(
        10, "steps that a model of this process judges in one call; it writes a quarter as much", 1, 1000
    )
    judged_context: int = setting(60, "steps that a model is shown around those it judges", 1, 10_000)
    judging_tries: int = setting(
        4, "calls for the same steps at most, as long as each brings some scores", 1, 100
    )
    death_penalty: float = setting(-10.0, "reward added to the step that ended the game badly", -1e6, 0.0)
    idle_penalty: float = setting(-0.5, "reward added to a step that did not change the world", -1e6, 0.0)
    fuzzy: str = setting(
        "off",
        "who compares answers on the web that only meaning can tell (fuzzy_match): nobody, or the model",
        choices=("off", "model"),
    )
