"""The groups of settings, and all of them in one record."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.settings.spec import SettingsGroup, setting

SHARES = tuple(round(n / 20, 2) for n in range(21))
"""Stops of settings from 0 to 1."""


@dataclass(frozen=True)
class RetrievalSettings(SettingsGroup):
    """Retrieval of the neighbours of a state, which are remembered steps."""

    k: int = setting(
        10, "neighbours that are looked up for a state", 1, 1000,
        part="retrieval", symbol="k", followed=2, estimator="knn",
        stops=(1, 2, 3, 5, 8, 10, 15, 20, 30, 50, 100),
    )
    r: float = setting(
        0.95, "smallest Jaccard similarity of a neighbour", 0.0, 1.0,
        part="retrieval", symbol="r", followed=5, estimator="knn", stops=SHARES,
    )
    relax: float = setting(
        0.0, "decrease of r over the first relax_steps steps of an episode; .1 in the authors' code", 0.0, 1.0,
        part="retrieval",
    )
    relax_steps: int = setting(20, "steps over which r decreases by relax", 1, 1000, part="retrieval")
    retrieval: str = setting(
        "jaccard",
        "how neighbours are found: by Jaccard similarity (Algorithm 1); by embeddings of state and history, kept if "
        "their states' Jaccard similarity is r or more (hybrid, App. E); among the nearest embeddings by Jaccard "
        "similarity (recall, the authors' code); by embeddings alone (embedding, the ablation)",
        choices=("jaccard", "hybrid", "recall", "embedding"),
        part="retrieval",
    )
    recall_pool: int = setting(
        100, "nearest embeddings from which recall takes its neighbours, at least (the authors' code)", 1, 100_000,
        part="retrieval",
    )
    recall_times: int = setting(
        10, "nearest embeddings for each of the k neighbours that recall takes, at least", 1, 1000,
        part="retrieval",
    )
    history_weight: float = setting(
        0.0, "weight of the history's similarity; 0 is Algorithm 1, .25 the appendix", 0.0, 1.0,
        part="retrieval", symbol="w", estimator="knn", stops=SHARES,
    )
    keep_above: float = setting(
        0.0, "similarity from which more than k neighbours are kept; 0 for never, .98 in the authors' code", 0.0, 1.0,
        part="retrieval",
    )
    ties: str = setting(
        "newest",
        "order of equally similar neighbours: newest first, or highest return first",
        choices=("newest", "return"),
        part="retrieval",
    )
    task_threshold: float = setting(
        0.0, "similarity of states (on the web, of tasks) required before histories count", 0.0, 1.0,
        part="retrieval",
    )
    other_tasks: str = setting(
        "literal",
        "actions remembered from other tasks on the web: word for word (the paper), or with this task's words "
        "(lifted; estimator knn)",
        choices=("literal", "lifted"),
        part="retrieval",
    )


@dataclass(frozen=True)
class StateSettings(SettingsGroup):
    """How states and histories are made."""

    state: str = setting(
        "rules",
        "text of a state: nouns found by rules, a summary by the model (the paper), or the observation (raw, the "
        "authors' code)",
        choices=("rules", "llm", "raw"),
        unwritten={"llm": "rules"},
    )
    ngram: int = setting(1, "number of words per token of a raw state; 4 in the authors' code", 1, 8)
    history: str = setting(
        "rules",
        "what writes the history of the episode (on the web, of the page): rules, or the model; vision shows it "
        "screenshots, too",
        choices=("rules", "llm", "vision"),
        unwritten={"llm": "rules"},
    )
    history_every: int = setting(10, "steps between two histories that the model writes", 1, 1000)
    summary_temperature: float = setting(
        0.0,
        "temperature at which the model writes states and histories; .3 in the authors' code on the web",
        0.0,
        10.0,
    )
    summary_steps: int = setting(60, "last steps shown to a model that writes a history", 1, 10_000)
    page_query: str = setting(
        "kept",
        "the query of a page's URL: part of the state (kept), or not (dropped, the authors' code)",
        choices=("kept", "dropped"),
    )
    written_nouns: int = setting(100, "largest number of nouns in a state written by a model", 1, 1000)
    history_tokens: str = setting(
        "rules",
        "tokens of histories: those of the rules, or the words of the model's text",
        choices=("rules", "text"),
    )


@dataclass(frozen=True)
class ValueSettings(SettingsGroup):
    """How V and Q are estimated from memory."""

    estimator: str = setting(
        "knn",
        "estimator of V and Q: nearest neighbours (knn, the paper's), plans through memory (graph), or one of an "
        "installed package",
        part="retrieval", flag="--estimator",
    )
    gamma: float = setting(
        0.5, "discount factor of returns, per step", 0.0, 1.0,
        part="retrieval", symbol="γ", estimator="knn", stops=SHARES,
    )
    zero_rewards: str = setting(
        "zero",
        "value of a later reward of 0 in a return: 0 (Eq. 3), or the reward of the step itself (own, the authors' "
        "code)",
        choices=("zero", "own"),
        part="retrieval",
    )
    baseline: str = setting(
        "neighbours",
        "V(s): the mean return of the neighbours, or the mean of the candidates' Q if one is untried (candidates, the "
        "authors' code)",
        choices=("neighbours", "candidates"),
        part="values",
    )
    lam: float = setting(
        0.65, "probability of optimism for an untried action (exploration rate)", 0.0, 1.0,
        part="values", symbol="λ", followed=3, estimator="knn", stops=SHARES,
    )
    optimism: str = setting(
        "fixed",
        "probability of optimism for an untried action: lam, or less if tried actions are good (adaptive, the "
        "authors' code for games)",
        choices=("fixed", "adaptive"),
        part="values",
    )
    alpha: float = setting(
        5.0, "optimism bonus, divided by the number of neighbours: alpha / |N(s)| (UCB bonus)", 0.0, 1e6,
        part="values", symbol="α", followed=4, estimator="knn",
        stops=(0.0, 0.5, 1.0, 2.0, 3.0, 5.0, 8.0, 10.0, 20.0, 50.0),
    )
    prior_weight: float = setting(
        0.5, "weight of the model's logits in the graph estimator's choice among untried actions", 0.0, 10.0,
        part="retrieval", estimator="graph", stops=(0.0, 0.25, 0.5, 0.75, 1.0, 2.0, 5.0),
    )
    curiosity: float = setting(
        1.0, "value of discoveries for the graph estimator; at 0 it only repeats known actions", 0.0, 100.0,
        part="retrieval", estimator="graph", stops=(0.0, 0.1, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0),
    )
    settling: float = setting(
        0.0, "share of a run's episodes, at its end, over which curiosity decreases", 0.0, 1.0,
        part="retrieval", estimator="graph", stops=SHARES,
    )


@dataclass(frozen=True)
class PolicySettings(SettingsGroup):
    """Candidates, and how their logits become an action (Algorithm 1, steps 3 to 6)."""

    candidates: int = setting(3, "number of actions that the model proposes, |C|", 1, 1000)
    memory_candidates: str = setting(
        "all",
        "actions of neighbours that are added to the candidates: all, or those with a mean return above 0",
        choices=("all", "positive"),
        part="values",
    )
    beta: float = setting(
        1.0, "strength of the memory: z′ = z + β·Ã; the paper gives no value", 0.0, 1e3,
        part="policy", symbol="β", followed=1,
        stops=(0.0, 0.1, 0.25, 0.5, 0.75, 1.0, 1.2, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0),
    )
    beta_growth: float = setting(
        0.0, "increase of beta until beta_episodes episodes have ended; .5 in the authors' code for games", 0.0, 1e3,
        part="policy",
    )
    beta_episodes: int = setting(50, "episodes over which beta grows", 1, 1_000_000, part="policy")
    normalisation: str = setting(
        "absolute",
        "divisor of the advantages: their largest absolute value, or the largest value, remembered actions included "
        "(positive, the authors' code)",
        choices=("absolute", "positive"),
        part="policy",
    )
    epsilon: float = setting(
        1e-8, "added to the divisor of advantages so that it is not 0", 1e-12, 1e-2,
        part="policy", symbol="ε", stops=(1e-12, 1e-8, 1e-6, 1e-4, 1e-3, 1e-2),
    )
    epsilon_times: int = setting(
        1, "how often epsilon is added: once (App. E), or twice (Algorithm 1)", 1, 2,
        part="policy",
    )
    selection: str = setting(
        "sample",
        "how an action is chosen from z′: a sample of the softmax, the maximum (greedy), or the first maximum "
        "(first, the authors' code)",
        choices=("sample", "greedy", "first"),
        part="policy", stops=("sample", "greedy", "first"),
    )
    unremembered: str = setting(
        "policy",
        "action where nothing is remembered: chosen as usual, or the one that the model called best",
        choices=("policy", "best_action"),
        part="policy",
    )


@dataclass(frozen=True)
class ModelSettings(SettingsGroup):
    """How the model is asked, how logits are obtained from it, and what it may cost."""

    logits: str = setting(
        "auto", "how logits are obtained from the model", choices=("auto", "token", "string", "verbalized")
    )
    transform: str = setting(
        "log",
        "logit of a verbalized confidence c among k options: log(c k / 100), or c / 100",
        choices=("log", "linear"),
    )
    unsaid_confidence: str = setting(
        "mean",
        "value of a confidence that the model left out: the mean of the others, or 50",
        choices=("mean", "fifty"),
    )
    confidences: str = setting(
        "shares",
        "example of confidences in the prompt: equal shares of 100; 50 for each (fifty, the paper's for games); or "
        "80 for each, with the demand that they differ (differing, the authors' code for games)",
        choices=("shares", "fifty", "differing"),
    )
    index_options: int = setting(
        9, "largest number of options for one index token; some tokenizers split longer numbers", 2, 20
    )
    length_penalty: float = setting(
        0.75,
        "exponent a of log-likelihood / length^a for the reading string: 0 is the sum, 1 the mean",
        0.0,
        1.0,
    )
    softening: float = setting(
        1.9,
        "factor by which likelihoods are flattened besides temperature",
        0.1,
        100.0,
    )
    temperature: float = setting(0.8, "sampling temperature of the model", 0.01, 10.0)
    recent_steps: int = setting(20, "last steps in a prompt", 0, 1000)
    prompt_tokens: int = setting(
        12_000,
        "tokens of a prompt to a model behind an API, at most; the oldest text is left out first",
        500,
        10**7,
    )
    reply_tokens: int = setting(4096, "largest number of tokens of an answer", 16, 10**6)
    listed_actions: int = setting(
        120, "valid actions that a JSON schema lists, at most", 0, 10_000
    )
    listed_characters: int = setting(
        3500, "characters of the valid actions that a JSON schema lists, at most", 0, 10**6
    )
    attempts: int = setting(4, "attempts of a call to a model that fails for a temporary reason", 1, 100)
    mixture: float = setting(
        0.5, "weight of the first of two models joined by +; the second one has the rest", 0.0, 1.0
    )
    threads: int = setting(0, "threads of a local model; 0 for all cores but one", 0, 256)
    deadline_s: float = setting(
        120.0,
        "seconds that a decision may wait for its model",
        1.0,
        3600.0,
    )
    patience_minutes: float = setting(
        10.0,
        "minutes to retry a call if the model's server is overloaded or limits calls (429, 503)",
        0.0,
        1e5,
    )
    requests_per_minute: float = setting(
        0.0, "calls per minute to one model from all sessions together; 0 for no limit", 0.0, 1e5
    )
    budget_usd: float = setting(0.0, "US dollars that a session may spend on models; 0 for no limit", 0.0, 1e6)
    budget_tokens: int = setting(0, "model tokens that a session may use, input plus output; 0 for no limit", 0, 10**12)
    budget_minutes: float = setting(0.0, "minutes that a session may wait for models; 0 for no limit", 0.0, 1e6)


@dataclass(frozen=True)
class JudgingSettings(SettingsGroup):
    """How the steps of an episode are judged."""

    rewards: str = setting(
        "score",
        "what judges the steps of an episode: the score, the model (llm, the paper), or both, with priority to the "
        "score (hybrid) or to the model (llm_or_score, the authors' code)",
        choices=("score", "llm", "hybrid", "llm_or_score"),
        unwritten={"llm": "score", "llm_or_score": "score"}, flag="--rewards",
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


@dataclass(frozen=True)
class RunSettings(SettingsGroup):
    """Length of an episode, time for its decisions, and when a run counts as failed."""

    step_limit: int = setting(60, "largest number of steps of an episode", 1, 100_000, flag="--steps")
    valid_commands: int = setting(
        1000,
        "commands tried at most for the valid actions of a decision in a game; 0 for no limit",
        0,
        1_000_000,
    )
    max_missing: float = setting(
        0.1,
        "share of decisions without a usable answer of the model above which a run counts as failed",
        0.0,
        1.0,
    )
    max_failed: float = setting(
        0.1,
        "share of actions at which the environment failed above which a run counts as failed",
        0.0,
        1.0,
    )


# A dataclass has the fields of its last base first, so the group to show first is the last base.
@dataclass(frozen=True)
class Settings(
    RunSettings,
    LearningSettings,
    JudgingSettings,
    ModelSettings,
    PolicySettings,
    ValueSettings,
    StateSettings,
    RetrievalSettings,
):
    """All settings together.

    Names are unique over all groups, so a function can take all settings and declare which group it reads.
    """


def settings_from(values: Mapping[str, Any]) -> Settings:
    """Return settings with these values. Names of other versions are passed over; what is not named has its default.

    Raises:
        UsageError: A value is out of range.
    """
    names = {spec.name for spec in dataclasses.fields(Settings)}
    return Settings(**{name: value for name, value in values.items() if name in names})


GROUPS = (
    RetrievalSettings,
    StateSettings,
    ValueSettings,
    PolicySettings,
    ModelSettings,
    JudgingSettings,
    LearningSettings,
    RunSettings,
)
"""The groups in the order of display."""
