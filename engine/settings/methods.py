"""How methods learn between episodes: what they ask a model to write, what they keep, what they put into the prompt."""

from __future__ import annotations

from dataclasses import dataclass

from engine.settings.spec import SettingsGroup, setting


@dataclass(frozen=True)
class LearningSettings(SettingsGroup):
    """How methods learn between episodes."""

    learning_temperature: float = setting(
        0.7,
        "temperature of what a method lets the model write; .7 in EvoTest (Reflexion 0, MemRL .3, ReasoningBank and "
        "AWM 1)",
        0.0,
        10.0,
    )
    learning_tokens: int = setting(
        8000, "tokens of a prompt that lets a method learn, at most; the oldest steps are left out first", 500, 10**7
    )
    told_characters: int = setting(
        500, "characters of each answer of the environment in a transcript, at most (the authors' AWM)", 20, 100_000
    )
    lesson_tokens: int = setting(
        256, "tokens of one text that a method keeps, at most; 256 in Reflexion", 16, 10_000
    )
    memory_tokens: int = setting(
        6000,
        "tokens of what a method wrote in the prompt, at most; transcripts have present_tokens",
        50,
        10**7,
    )
    present_tokens: int = setting(
        4000,
        "tokens of a prompt that the transcripts of the agent memory leave free; they fill the rest of prompt_tokens",
        200,
        10**7,
    )
    reflections: int = setting(3, "latest reflections in the prompt (Reflexion's window)", 0, 1000)
    lessons_an_episode: int = setting(
        3, "workflows or strategies that one episode adds, at most; 3 in ReasoningBank", 1, 100
    )
    workflows: int = setting(10, "workflows in the prompt, the most relevant ones; 10 in AWM", 0, 1000)
    workflow_file: str = setting(
        "",
        "an export of memory whose workflows awm uses, learning none itself (AWM offline)",
    )
    webrl_characters: int = setting(
        15872, "characters of rounds and page in WebRL's prompt, at most; 16384 - 512 in its training", 1000, 10**7
    )
    replayed: str = setting("", "the recording, or the folder of a session, whose actions the agent human takes")
    key_states: int = setting(
        8, "states that an episode is found by: its first one, and those where the score changed", 1, 1000
    )
    strategy_records: int = setting(
        1, "most similar records whose strategies are in the prompt; 1 in ReasoningBank", 0, 1000
    )
    experience_similarity: float = setting(
        0.5, "least similarity of an experience; .5 in MemRL (cosine there, Jaccard here)", 0.0, 1.0
    )
    experience_pool: int = setting(5, "most similar experiences that Q chooses from; k1 = 5 in MemRL", 1, 1000)
    experiences: int = setting(3, "experiences in the prompt; k2 = 3 in MemRL", 0, 1000)
    q_rate: float = setting(0.3, "a in Q <- (1 - a) Q + a r; .3 in MemRL", 0.0, 1.0)
    q_weight: float = setting(0.5, "weight of Q against similarity where experiences are chosen; .5 in MemRL", 0.0, 1.0)
    q_start: float = setting(0.0, "Q of an experience that was never used; 0 in MemRL", -1.0, 1.0)
    ucb: float = setting(1.0, "c, the weight of what was tried little where EvoTest chooses a parent", 0.0, 100.0)
    ucb_decay: float = setting(0.8, "how that weight falls with each generation; .8 in EvoTest", 0.0, 1.0)
    examples: int = setting(
        3, "actions that gained points in similar states, in EvoTest's first configuration; 3 there", 0, 100
    )
    most_examples: int = setting(10, "most of them that EvoTest may choose", 0, 100)
    coldest: float = setting(
        0.25, "least temperature that EvoTest may choose; it divides the model's logits", 0.01, 1.0
    )
    hottest: float = setting(2.0, "largest temperature that EvoTest may choose", 1.0, 100.0)
    routines: int = setting(8, "routines of a configuration of EvoTest, at most", 0, 100)
    stuck_steps: int = setting(
        10, "steps without points at an episode's end that EvoTest keeps as a failure; 10 there", 1, 10_000
    )
    failures: int = setting(3, "latest failures that EvoTest's evolver is shown; 3 there", 0, 1000)
